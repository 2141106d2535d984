package jobserver

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/metricsx"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"
)

// fake is a job server that runs nothing: it accepts a job, and reports what its script says.
type fake struct {
	jobpb.UnimplementedJobServiceServer
	jobpb.UnimplementedArtifactStagingServiceServer
	script []*jobpb.JobMessagesResponse

	address   string
	cancelled chan struct{}

	mu     sync.Mutex
	asked  *jobpb.PrepareJobRequest
	staged [][]byte
}

// serve starts a fake with a script.
func serve(t *testing.T, script ...*jobpb.JobMessagesResponse) *fake {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{script: script, address: listener.Addr().String(), cancelled: make(chan struct{})}
	server := grpc.NewServer()
	jobpb.RegisterJobServiceServer(server, f)
	jobpb.RegisterArtifactStagingServiceServer(server, f)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return f
}

func state(s jobpb.JobState_Enum) *jobpb.JobMessagesResponse {
	return &jobpb.JobMessagesResponse{Response: &jobpb.JobMessagesResponse_StateResponse{StateResponse: &jobpb.JobStateEvent{State: s}}}
}

func message(importance jobpb.JobMessage_MessageImportance, text string) *jobpb.JobMessagesResponse {
	return &jobpb.JobMessagesResponse{Response: &jobpb.JobMessagesResponse_MessageResponse{
		MessageResponse: &jobpb.JobMessage{Importance: importance, MessageText: text},
	}}
}

func failed(text string) *jobpb.JobMessagesResponse {
	return message(jobpb.JobMessage_JOB_MESSAGE_ERROR, text)
}

func (f *fake) GetJobs(context.Context, *jobpb.GetJobsRequest) (*jobpb.GetJobsResponse, error) {
	return &jobpb.GetJobsResponse{}, nil
}

func (f *fake) DescribePipelineOptions(context.Context, *jobpb.DescribePipelineOptionsRequest) (*jobpb.DescribePipelineOptionsResponse, error) {
	return &jobpb.DescribePipelineOptionsResponse{Options: []*jobpb.PipelineOptionDescriptor{
		{Name: "execution_mode_for_batch", Type: jobpb.PipelineOptionType_STRING},
		{Name: "number_of_execution_retries", Type: jobpb.PipelineOptionType_INTEGER},
		{Name: "load", Type: jobpb.PipelineOptionType_NUMBER},
		{Name: "objectReuse", Type: jobpb.PipelineOptionType_BOOLEAN},
		{Name: "files", Type: jobpb.PipelineOptionType_ARRAY},
		{Name: "object", Type: jobpb.PipelineOptionType_OBJECT},
	}}, nil
}

func (f *fake) Prepare(_ context.Context, r *jobpb.PrepareJobRequest) (*jobpb.PrepareJobResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = r
	return &jobpb.PrepareJobResponse{
		PreparationId: "prepared", StagingSessionToken: "token",
		ArtifactStagingEndpoint: &pipepb.ApiServiceDescriptor{Url: f.address},
	}, nil
}

// ReverseArtifactRetrievalService requests every file that the job's environments depend on.
func (f *fake) ReverseArtifactRetrievalService(stream jobpb.ArtifactStagingService_ReverseArtifactRetrievalServiceServer) error {
	if _, err := stream.Recv(); err != nil { // the token
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.asked.GetPipeline().GetComponents().GetEnvironments() {
		for _, file := range e.GetDependencies() {
			err := stream.Send(&jobpb.ArtifactRequestWrapper{Request: &jobpb.ArtifactRequestWrapper_GetArtifact{
				GetArtifact: &jobpb.GetArtifactRequest{Artifact: file},
			}})
			if err != nil {
				return err
			}
			var content bytes.Buffer
			for last := false; !last; {
				r, err := stream.Recv()
				if err != nil {
					return err
				}
				content.Write(r.GetGetArtifactResponse().GetData())
				last = r.GetIsLast()
			}
			f.staged = append(f.staged, content.Bytes())
		}
	}
	return nil
}

func (f *fake) Run(context.Context, *jobpb.RunJobRequest) (*jobpb.RunJobResponse, error) {
	return &jobpb.RunJobResponse{JobId: "job-1"}, nil
}

// GetMessageStream sends the script and, unless that ends the job, waits until the job is cancelled.
func (f *fake) GetMessageStream(_ *jobpb.JobMessagesRequest, stream jobpb.JobService_GetMessageStreamServer) error {
	for _, m := range f.script {
		if m == nil {
			<-f.cancelled
			continue
		}
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

func (f *fake) Cancel(context.Context, *jobpb.CancelJobRequest) (*jobpb.CancelJobResponse, error) {
	close(f.cancelled)
	return &jobpb.CancelJobResponse{}, nil
}

func (f *fake) GetJobMetrics(context.Context, *jobpb.GetJobMetricsRequest) (*jobpb.GetJobMetricsResponse, error) {
	value, err := metricsx.Int64Counter(41)
	if err != nil {
		return nil, err
	}
	return &jobpb.GetJobMetricsResponse{Metrics: &jobpb.MetricResults{Committed: []*pipepb.MonitoringInfo{{
		Urn: metricsx.UrnToString(metricsx.UrnUserSumInt64), Type: metricsx.UrnToType(metricsx.UrnUserSumInt64), Payload: value,
		Labels: map[string]string{"PTRANSFORM": "e1", "NAMESPACE": "test", "NAME": "seen"},
	}}}}, nil
}

// environment returns the environment that the server was given.
func (f *fake) environment() *pipepb.Environment {
	return f.asked.GetPipeline().GetComponents().GetEnvironments()["go"]
}
