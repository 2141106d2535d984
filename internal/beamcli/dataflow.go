package beamcli

import (
	"errors"
	"flag"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/gcpopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/neardup/neardup/runners/dataflow"
)

// Dataflow returns how Dataflow is to run a job: as Beam's options say, and as o does where they are not given. Init
// must have parsed them.
func Dataflow(o dataflow.Options) (dataflow.Options, error) {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if given["environment_type"] || given["environment_config"] {
		return o, errors.New("beam option --environment_type: Dataflow runs containers; " +
			"give --dataflow-option sdk-container-image=IMAGE")
	}
	if given["project"] {
		o.Project = *gcpopts.Project
	}
	if given["region"] {
		o.Region = *gcpopts.Region
	}
	if given["worker_binary"] {
		o.Worker = *jobopts.WorkerBinary
	}
	if given["job_name"] {
		o.Name = *jobopts.JobName
	}
	o.Detach = o.Detach || *jobopts.Async
	o.Experiments = jobopts.GetExperiments()
	o.ResourceHints = jobopts.GetPipelineResourceHints()
	return o, nil
}
