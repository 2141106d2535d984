package jobserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/neardup/neardup/runners/remote"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[speak]())
	register.Emitter1[string]()
}

var seen = beam.NewCounter("test", "seen")

// speak is a step that does what Say tells it to.
type speak struct{ Say string }

func (f *speak) ProcessElement(ctx context.Context, _ []byte, emit func(string)) error {
	seen.Inc(ctx, 41)
	switch f.Say {
	case "panic":
		panic("the sky falls")
	case "fail":
		return errors.New("in.jsonl: it changed\nwhile it was read")
	}
	emit(f.Say)
	return nil
}

func pipeline(say string) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo(s, &speak{say}, beam.Impulse(s))
	return p
}

func connect(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Connect(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	return s
}

var (
	running = state(jobpb.JobState_RUNNING)
	done    = state(jobpb.JobState_DONE)
)

// The server is given the environment, the binary and the options; and the results come back.
func TestExecute(t *testing.T) {
	worker := filepath.Join(t.TempDir(), "worker")
	if err := os.WriteFile(worker, []byte("a binary"), 0o777); err != nil {
		t.Fatal(err)
	}
	environment, err := ParseEnvironment("process:/opt/boot")
	if err != nil {
		t.Fatal(err)
	}
	f := serve(t, state(jobpb.JobState_STARTING), running, done)
	var submitted string
	var ended int
	result, err := connect(t, Options{
		Address: f.address, Name: "a-name", Environment: environment, Worker: worker, Parallelism: 3, Experiments: []string{"one"},
		Runner:    map[string]string{"execution-mode-for-batch": "BATCH_FORCED", "numberOfExecutionRetries": "4", "object_reuse": "true"},
		Submitted: func(job string) { submitted = job },
		Progress: func(p Progress) {
			if p.Ended {
				ended++
			}
		},
	}).Execute(context.Background(), pipeline("hello"), "keys-0003")
	if err != nil {
		t.Fatal(err)
	}
	if result.JobID() != "job-1" || submitted != "job-1" || ended != 1 {
		t.Errorf("job %q, submitted as %q, %d last reports", result.JobID(), submitted, ended)
	}
	if got := counter(result); got != 41 {
		t.Errorf("the counter is %d, want 41", got)
	}
	if len(f.staged) != 1 || string(f.staged[0]) != "a binary" {
		t.Errorf("staged %q", f.staged)
	}
	var process pipepb.ProcessPayload
	if err := proto.Unmarshal(f.environment().GetPayload(), &process); err != nil || process.Command != "/opt/boot" {
		t.Errorf("the environment is %v, %v", &process, err)
	}
	options := f.asked.GetPipelineOptions().AsMap()
	for name, want := range map[string]string{
		"parallelism": "3", "app_name": "a-name", "experiments": "[beam_fn_api one]",
		"environment_cache_millis": "10000", "faster_copy": "true", "job_name": "a-name-keys-0003",
		"execution_mode_for_batch": "BATCH_FORCED", "number_of_execution_retries": "4", "object_reuse": "true",
	} {
		if got := fmt.Sprint(options["beam:option:"+name+":v1"]); got != want {
			t.Errorf("option %s is %s, want %s", name, got, want)
		}
	}
}

func counter(r *remote.Result) (n int64) {
	for _, c := range r.Metrics().AllMetrics().Counters() {
		if c.Name() == "seen" {
			n += c.Result()
		}
	}
	return n
}

// The end of a job and its reason may come in any order.
func TestEnds(t *testing.T) {
	end := state(jobpb.JobState_FAILED)
	note := message(jobpb.JobMessage_JOB_MESSAGE_WARNING, "mind the step")
	for name, c := range map[string]struct {
		script []*jobpb.JobMessagesResponse
		want   string // of the error; "" for none
	}{
		"done":             {[]*jobpb.JobMessagesResponse{running, done}, ""},
		"done, with notes": {[]*jobpb.JobMessagesResponse{running, note, failed("a try failed"), done}, ""},
		"reason first":     {[]*jobpb.JobMessagesResponse{running, failed("why"), end}, "why"},
		"reason last":      {[]*jobpb.JobMessagesResponse{running, end, note, failed("why")}, "why"},
		"no reason":        {[]*jobpb.JobMessagesResponse{running, end}, "does not say why"},
		"cancelled there":  {[]*jobpb.JobMessagesResponse{running, state(jobpb.JobState_CANCELLED)}, "job job-1 was cancelled on the cluster"},
		"no end":           {[]*jobpb.JobMessagesResponse{running}, "lost contact with job job-1"},
	} {
		f := serve(t, c.script...)
		_, err := connect(t, Options{Address: f.address, Environment: Environment{Kind: Loopback}}).Execute(context.Background(), pipeline(""), "")
		if f := (*remote.Failure)(nil); errors.As(err, &f) {
			err = errors.New(f.Cause())
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: the error is %v, want %q", name, err, c.want)
		}
		if len(f.environment().GetDependencies()) > 0 {
			t.Errorf("%s: a worker binary is staged for loopback", name)
		}
	}
}

// When ctx ends, the job is cancelled, and Execute waits for its end.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := serve(t, running, nil, state(jobpb.JobState_CANCELLED))
	s := connect(t, Options{Address: f.address, Environment: Environment{Kind: Loopback}, Submitted: func(string) { cancel() }})
	_, err := s.Execute(ctx, pipeline(""), "")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	select {
	case <-f.cancelled:
	default:
		t.Error("the job was not cancelled")
	}
}

func TestConnectRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := listener.Addr().String()
	listener.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer() // a server of something else
	go server.Serve(other)
	defer server.Stop()

	loopback := Environment{Kind: Loopback}
	for name, c := range map[string]struct {
		options Options
		want    []string
	}{
		"nobody there":   {Options{Address: free, Environment: loopback}, []string{free, "connection refused", "docs/flink.md"}},
		"somebody else":  {Options{Address: other.Addr().String(), Environment: loopback}, []string{other.Addr().String(), "unknown service"}},
		"no port":        {Options{Address: "localhost", Environment: loopback}, []string{"localhost", "HOST:PORT"}},
		"no kind":        {Options{Address: free, Environment: Environment{Kind: "vm"}}, []string{`"vm"`}},
		"a wrong config": {Options{Address: free, Environment: Environment{Kind: "process", Config: "{"}}, []string{"environment_config"}},
	} {
		_, err := Connect(context.Background(), c.options)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error %q does not say %q", name, err, want)
			}
		}
	}
}

// A real job server, Beam's Prism, runs a pipeline with this process as its worker.
func TestPrism(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	if _, err := prism.CreateJobServer(context.Background(), prism.Options{Port: port}); err != nil {
		t.Fatal(err)
	}
	s := connect(t, Options{Address: fmt.Sprintf("localhost:%d", port), Name: "test", Environment: Environment{Kind: Loopback}})

	result, err := s.Execute(context.Background(), pipeline("hello"), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := counter(result); got != 41 {
		t.Errorf("the counter is %d, want 41", got)
	}
	for say, want := range map[string]string{
		"fail":  "in.jsonl: it changed\nwhile it was read",
		"panic": "a step panicked: the sky falls",
	} {
		_, err := s.Execute(context.Background(), pipeline(say), "")
		var f *remote.Failure
		if !errors.As(err, &f) || f.Cause() != want {
			t.Errorf("%s: the cause is %v, want %q", say, err, want)
		}
	}
}
