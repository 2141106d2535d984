// Package jobserver runs Beam pipelines on a cluster through a Beam job server such as Flink's or Spark's.
//
// It does what the SDK's universal runner does, and more: it probes the server instead of dialling it for two minutes
// in silence, reports the job's id and progress, cancels the job when the context ends, and returns the error of the
// DoFn that failed, without the stacks of the servers in between. docs/flink.md explains its use.
package jobserver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness/init" // a staged binary is the worker
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/resource"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/neardup/neardup/runners/remote"
)

// Options say how a job server is to run a pipeline.
type Options struct {
	Address     string // of the job server, host:port
	Name        string // of the job
	Environment Environment
	Worker      string // the binary to stage; unused with the environment loopback
	Parallelism int    // of the job; 0: the cluster's setting

	// Runner holds options of the runner by name, such as execution_mode_for_batch. The server must know them.
	Runner map[string]string
	// REST is the address of Flink's REST interface, host:port or a URL, for what a job server does not report; "": port
	// 8081 of the job server's machine, if Flink answers there.
	REST string

	Experiments      []string
	RetainContainers bool
	ResourceHints    resource.Hints

	// Warn, if set, is called with settings of the cluster that may not suffice for the job.
	Warn func(string)
	// Submitted, if set, is called with the job's id.
	Submitted func(job string)
	// Progress, if set, is called about twice a second by one goroutine, and once more when the job has ended.
	Progress func(Progress)
}

// Progress is the progress of a job.
type Progress struct {
	Elapsed time.Duration
	State   string // in the server's terms, such as RUNNING
	// Tasks is how many of the job's Of tasks have ended, according to Flink's REST interface; both are 0 without it.
	Tasks, Of int
	Ended     bool // this is the last report, after success or failure
}

// Server is a job server that has answered.
type Server struct {
	options Options
	conn    *grpc.ClientConn
	client  jobpb.JobServiceClient
	runner  map[string]*structpb.Value // options of the runner
	rest    *rest                      // nil if it does not answer
}

// How long a server may take to accept a connection, and to answer for the first time. A server that has just started
// on a busy machine is slow.
const (
	acceptPatience = 5 * time.Second
	answerPatience = 30 * time.Second
)

// Connect returns the job server that the options name, once it has answered.
func Connect(ctx context.Context, o Options) (*Server, error) {
	if _, _, err := net.SplitHostPort(o.Address); err != nil {
		return nil, fmt.Errorf("job server %q: %w; give HOST:PORT", o.Address, err)
	}
	if _, err := o.Environment.model(ctx); err != nil {
		return nil, err
	}
	conn, err := dial(o.Address)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, conn: conn, client: jobpb.NewJobServiceClient(conn)}
	if err := s.probe(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("no job server answers at %s: %w; start it (docs/flink.md), or correct the "+
			"address", o.Address, err), conn.Close())
	}
	for _, check := range []func(context.Context) error{s.checkOptions, s.checkCluster} {
		if err := check(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return s, nil
}

// probe returns why the server cannot be reached, or nil.
func (s *Server) probe(ctx context.Context) error {
	dialer := net.Dialer{Timeout: acceptPatience}
	conn, err := dialer.DialContext(ctx, "tcp", s.options.Address)
	var system *os.SyscallError
	var unknown *net.DNSError
	switch { // the errors inside name no system call
	case errors.As(err, &system):
		return system.Err
	case errors.As(err, &unknown):
		return errors.New(unknown.Err)
	case err != nil:
		return err
	}
	if err := conn.Close(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	if _, err := s.client.GetJobs(ctx, &jobpb.GetJobsRequest{}); err != nil {
		return errors.New(status.Convert(err).Message())
	}
	return nil
}

func dial(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
}

// Execute runs a pipeline and returns when it has ended. When ctx ends, it cancels the job. part, if not "", is
// appended to the job's name: the pipeline is then a part of the job that the options name.
func (s *Server) Execute(ctx context.Context, p *beam.Pipeline, part string) (_ *remote.Result, err error) {
	if !beam.Initialized() {
		return nil, errors.New("job server: beam.Init must be called first")
	}
	edges, _, err := p.Build()
	if err != nil {
		return nil, err
	}
	// A loopback worker ends with the job, not with ctx: otherwise the job would seem to fail instead of being cancelled.
	environment, stop, err := s.options.Environment.start(context.WithoutCancel(ctx), s.options.Worker)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	model, err := graphx.Marshal(edges, &graphx.Options{
		Environment: environment, PipelineResourceHints: s.options.ResourceHints,
	})
	if err != nil {
		return nil, err
	}
	readNames(model)
	id, err := s.submit(ctx, model, part)
	if err != nil {
		return nil, err
	}
	j := &job{server: s, id: id, model: model, begun: time.Now()}
	return j.wait(ctx)
}

// readNames makes the names of steps in a web UI readable: the name of a generic DoFn ends with a remainder of its type
// argument, as in sink.Table.pairs/records.Pair].
func readNames(model *pipepb.Pipeline) {
	taken := map[string]bool{}
	for _, t := range model.GetComponents().GetTransforms() {
		taken[t.GetUniqueName()] = true
	}
	for _, t := range model.GetComponents().GetTransforms() {
		step, last := path.Split(t.GetUniqueName())
		if name := step + "rows"; strings.HasSuffix(last, "]") && !taken[name] {
			t.UniqueName = name
			taken[name] = true
		}
	}
}
