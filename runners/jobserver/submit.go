package jobserver

import (
	"context"
	"fmt"

	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/runnerlib"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// submit hands the server a job and the files it needs, and returns the job's id.
func (s *Server) submit(ctx context.Context, model *pipepb.Pipeline) (id string, err error) {
	o := &s.options
	parallelism := o.Parallelism
	if parallelism == 0 {
		parallelism = -1 // Beam's word for what the cluster is set to
	}
	prepared, staging, token, err := runnerlib.Prepare(ctx, s.client, model, &runnerlib.JobOptions{
		Name: o.Name, Experiments: o.Experiments, RetainDocker: o.RetainContainers, Parallelism: parallelism,
	})
	if err != nil {
		return "", fmt.Errorf("the job server at %s refused the job: %w", o.Address, err)
	}
	if err := s.stage(ctx, prepared, staging, token); err != nil {
		return "", fmt.Errorf("the worker binary could not be sent to %s, where the job server wants it: %w", staging, err)
	}
	id, err = runnerlib.Submit(ctx, s.client, prepared, token)
	if err != nil {
		return "", fmt.Errorf("the job server at %s did not start the job: %w", o.Address, err)
	}
	return id, nil
}

// stage sends the files that the job depends on. The server asks for them, also if there are none.
func (s *Server) stage(ctx context.Context, prepared, address, token string) error {
	conn, err := dial(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	return runnerlib.StageViaPortableAPI(grpcx.WriteWorkerID(ctx, prepared), conn, s.options.Worker, token)
}
