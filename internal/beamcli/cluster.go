package beamcli

import (
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/options/gcpopts" // for its flags
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/hooks/perf"

	"github.com/neardup/neardup/runners/dataflow"
	"github.com/neardup/neardup/runners/jobserver"
)

// given reports whether one of Beam's options is on the command line.
func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// take sets to from one of Beam's options, if it is given.
func take[T any](to *T, name string, value *T) {
	if given(name) {
		*to = *value
	}
}

// Cluster returns o with Beam's options, where they are given, as the way in which a job server runs a job. Init must
// have parsed them.
func Cluster(o jobserver.Options) (jobserver.Options, error) {
	if given("async") || given("execute_async") {
		return o, errors.New("beam option --async: neardup waits for its job to end so that it can check the " +
			"output; drop --async")
	}
	if given("environment_type") {
		o.Environment = jobserver.Environment{Kind: strings.ToLower(*jobopts.EnvironmentType)}
	}
	take(&o.Environment.Config, "environment_config", jobopts.EnvironmentConfig)
	take(&o.Address, "endpoint", jobopts.Endpoint)
	take(&o.Worker, "worker_binary", jobopts.WorkerBinary)
	take(&o.Parallelism, "parallelism", jobopts.Parallelism)
	take(&o.Name, "job_name", jobopts.JobName)
	o.Experiments = jobopts.GetExperiments()
	o.RetainContainers = *jobopts.RetainDockerContainers
	o.ResourceHints = jobopts.GetPipelineResourceHints()
	return o, nil
}

// Dataflow returns o with Beam's options, where they are given, as the way in which Dataflow runs a job. Init must have
// parsed them.
func Dataflow(o dataflow.Options) (dataflow.Options, error) {
	if given("environment_type") || given("environment_config") {
		return o, errors.New("beam option --environment_type: Dataflow runs containers; " +
			"use --dataflow-option sdk-container-image=IMAGE")
	}
	take(&o.Worker, "worker_binary", jobopts.WorkerBinary)
	take(&o.Name, "job_name", jobopts.JobName)
	o.ResourceHints = jobopts.GetPipelineResourceHints()
	o.ImageOverrides = jobopts.GetSdkImageOverrides()
	var wrong error
	flag.Visit(func(f *flag.Flag) {
		known, err := o.Pass(f.Name, f.Value.String())
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("beam option %w", err))
		}
		if !known && f.Name == "cpu_profiling" {
			perf.EnableProfCaptureHook("gcs_profile_writer", f.Value.String())
		} else if !known {
			beam.PipelineOptions.Set(f.Name, f.Value.String()) // like the SDK's runner
		}
	})
	return o, wrong
}

// Takes reports whether Beam has an option of this name, other than those of its workers, and whether the option needs
// a value on a command line. Options of the SDK's runners exist if the binary imports the runners.
func Takes(name string) (known, value bool) {
	f := flag.Lookup(name)
	if f == nil || strings.Contains(f.Usage, "worker mode") || strings.Contains(name, ".") { // flags of tests have a dot
		return false, false
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return true, !ok || !b.IsBoolFlag()
}
