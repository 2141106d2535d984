// Package jobserver runs Beam pipelines on a cluster, by way of a Beam job server such as Flink's or
// Spark's.
//
// It does what the SDK's universal runner does, and what that leaves out: it probes the server
// instead of dialling it for two minutes in silence, tells the job's id and how far it is, cancels
// the job when the context ends, and returns the error of the DoFn that failed, without the stacks
// of the servers it came through. docs/flink.md tells how it is used.
package jobserver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"path"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness/init" // a staged binary is the worker
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/resource"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
)

// Options are how a job server is to run a pipeline.
type Options struct {
	Address     string // of the job server, host:port
	Name        string // of the job
	Environment Environment
	Worker      string // the binary that is staged; none is for the environment loopback
	Parallelism int    // of the job; 0 means what the cluster is set to

	// Runner are options of the runner by name, as in execution_mode_for_batch. The server must know them.
	Runner map[string]string
	// REST is the address of Flink's REST interface, host:port or a URL, which tells what a job server does not; "": at
	// port 8081 of the job server's machine, if Flink answers there.
	REST string

	Experiments      []string
	RetainContainers bool
	ResourceHints    resource.Hints

	// Warn, if set, is called with what of the cluster may not do for the job.
	Warn func(string)
	// Submitted, if set, is called with the job's id.
	Submitted func(job string)
	// Progress, if set, is called about twice a second, by one goroutine, and when the job has ended.
	Progress func(Progress)
}

// Progress is how far a job is.
type Progress struct {
	Elapsed time.Duration
	State   string // as the server calls it: RUNNING
	// Tasks are how many tasks of the job have ended, of Of, as Flink's REST interface tells; 0 of 0 where it does not.
	Tasks, Of int
	Ended     bool // this is the last report, be it of success or failure
}

// Result is what a job returns.
type Result struct {
	job     string
	metrics metrics.Results
}

// Metrics are the counters and distributions of DoFns.
func (r *Result) Metrics() metrics.Results { return r.metrics }

// JobID is the job's name on the cluster.
func (r *Result) JobID() string { return r.job }

// Server is a job server that answers.
type Server struct {
	options Options
	conn    *grpc.ClientConn
	client  jobpb.JobServiceClient
	runner  map[string]*structpb.Value // the runner's options
	rest    *rest                      // nil if none answers
}

// How long a server may take at first: to accept a connection, and to answer. One that has just
// begun, on a busy machine, takes its time.
const (
	acceptPatience = 5 * time.Second
	answerPatience = 30 * time.Second
)

// Connect returns the job server of the options, once it has answered.
func Connect(ctx context.Context, o Options) (*Server, error) {
	if _, _, err := net.SplitHostPort(o.Address); err != nil {
		return nil, fmt.Errorf("job server %q: %w; give host:port", o.Address, err)
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

// probe returns why the server cannot be spoken to.
func (s *Server) probe(ctx context.Context) error {
	dialer := net.Dialer{Timeout: acceptPatience}
	conn, err := dialer.DialContext(ctx, "tcp", s.options.Address)
	if err != nil {
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

// Execute runs a pipeline and returns when it has ended. When ctx ends, the job is cancelled. If the pipeline is a part
// of what the options name, that ends the job's name.
func (s *Server) Execute(ctx context.Context, p *beam.Pipeline, part string) (_ *Result, err error) {
	if !beam.Initialized() {
		return nil, errors.New("job server: beam.Init must be called first")
	}
	edges, _, err := p.Build()
	if err != nil {
		return nil, err
	}
	// A loopback worker ends with the job and not with ctx, or the job would be seen to fail and
	// not to be cancelled.
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

// readNames makes the names of steps such as a web UI shows read well: that of a generic DoFn ends with what is left of
// its type's argument, as in sink.Table.pairs/records.Pair].
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
