package beamcli

import (
	"errors"
	"flag"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/neardup/neardup/runners/jobserver"
)

// Cluster returns how a job server is to run a job: as Beam's options say, and as o does where they
// are not given. Init must have parsed them.
func Cluster(o jobserver.Options) (jobserver.Options, error) {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case given["async"], given["execute_async"]:
		return o, errors.New("beam option --async: neardup waits for the end of its job, to check it; leave it out")
	case given["environment_type"]:
		o.Environment = jobserver.Environment{Kind: strings.ToLower(*jobopts.EnvironmentType),
			Config: *jobopts.EnvironmentConfig}
	case given["environment_config"]:
		o.Environment.Config = *jobopts.EnvironmentConfig
	}
	if given["endpoint"] {
		o.Address = *jobopts.Endpoint
	}
	if given["worker_binary"] {
		o.Worker = *jobopts.WorkerBinary
	}
	if given["parallelism"] {
		o.Parallelism = *jobopts.Parallelism
	}
	if given["job_name"] {
		o.Name = *jobopts.JobName
	}
	o.Experiments = jobopts.GetExperiments()
	o.RetainContainers = *jobopts.RetainDockerContainers
	o.ResourceHints = jobopts.GetPipelineResourceHints()
	return o, nil
}
