package jobserver

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/hooks"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/runnerlib"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// pipelineOptions are the options sent to the server with a job. The SDK's own type lacks the displayed name and the
// last two, which are not flags of Beam.
type pipelineOptions struct {
	Options          runtime.RawOptions `json:"beam:option:go_options:v1"`
	Name             string             `json:"beam:option:app_name:v1"`
	JobName          string             `json:"beam:option:job_name:v1"` // shown in the web UI
	Experiments      []string           `json:"beam:option:experiments:v1"`
	RetainContainers bool               `json:"beam:option:retain_docker_containers:v1"`
	Parallelism      int                `json:"beam:option:parallelism:v1"`
	// Without it, a worker ends with each stage, and the next stage stages and starts it again.
	EnvironmentCache int64 `json:"beam:option:environment_cache_millis:v1"`
	// Elements are encoded bytes, which nobody changes, so Flink need not copy them between operators.
	FasterCopy bool `json:"beam:option:faster_copy:v1"`
}

// idleWorker is how long a worker waits for another stage before it ends, in milliseconds.
const idleWorker = 10_000

// startup is how long the server may take to start a job once it has all files.
const startup = 2 * time.Minute

// submit sends a job and the files it needs to the server, and returns the job's id.
func (s *Server) submit(ctx context.Context, model *pipepb.Pipeline, part string) (id string, err error) {
	address := s.options.Address
	request, err := s.request(model, part)
	if err != nil {
		return "", err
	}
	prepared, err := s.client.Prepare(ctx, request)
	if err != nil {
		return "", fmt.Errorf("the job server at %s refused the job: %w", address, err)
	}
	staging := prepared.GetArtifactStagingEndpoint().GetUrl()
	if err := s.stage(ctx, prepared, staging); err != nil {
		return "", fmt.Errorf("the worker binary could not be sent to %s, where the job server wants it: %w", staging, err)
	}
	// If ctx ends now, the server may still start the job; wait will then cancel it.
	starting, done := context.WithTimeout(context.WithoutCancel(ctx), startup)
	defer done()
	job, err := s.client.Run(starting, &jobpb.RunJobRequest{
		PreparationId: prepared.GetPreparationId(), RetrievalToken: prepared.GetStagingSessionToken(),
	})
	if err != nil {
		return "", fmt.Errorf("the job server at %s did not start the job: %w", address, err)
	}
	return job.GetJobId(), nil
}

// request returns the first request for a job.
func (s *Server) request(model *pipepb.Pipeline, part string) (*jobpb.PrepareJobRequest, error) {
	o := &s.options
	name := o.Name
	if part != "" {
		name += "-" + part
	}
	hooks.SerializeHooksToOptions()
	beam.PipelineOptions.LoadOptionsFromFlags(nil)
	parallelism := o.Parallelism
	if parallelism == 0 {
		parallelism = -1 // Beam's value for the cluster's setting
	}
	options, err := tools.OptionsToProto(pipelineOptions{
		Options: beam.PipelineOptions.Export(), Name: o.Name, JobName: name, RetainContainers: o.RetainContainers,
		Experiments: append([]string{"beam_fn_api"}, o.Experiments...), Parallelism: parallelism,
		EnvironmentCache: idleWorker, FasterCopy: true,
	})
	if err != nil {
		return nil, fmt.Errorf("pipeline options: %w", err)
	}
	for name, value := range s.runner {
		options.Fields[optionURN(name)] = value
	}
	return &jobpb.PrepareJobRequest{Pipeline: model, PipelineOptions: options, JobName: name}, nil
}

// stage sends the files on which the job depends. The server asks for them, even if there are none.
func (s *Server) stage(ctx context.Context, prepared *jobpb.PrepareJobResponse, address string) error {
	conn, err := dial(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx = grpcx.WriteWorkerID(ctx, prepared.GetPreparationId())
	return runnerlib.StageViaPortableAPI(ctx, conn, s.options.Worker, prepared.GetStagingSessionToken())
}
