package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	df "google.golang.org/api/dataflow/v1b3"
	"google.golang.org/protobuf/proto"

	"github.com/neardup/neardup/internal/fakedataflow"
	"github.com/neardup/neardup/internal/fakegcs"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/jobserver"
	"github.com/neardup/neardup/runners/local"
)

// project is a project with Dataflow and a bucket, for processes that the test starts.
type project struct {
	*fakedataflow.Server
	store *fakegcs.Server
	flags []string // for a job there
}

// newProject returns a project that runs jobs on the local runner, in this process: they share neither the launcher's
// memory nor its files, except those in the bucket.
func newProject(t *testing.T) *project {
	t.Helper()
	c := &project{Server: &fakedataflow.Server{Project: "my-project", Region: "europe-west1"}, store: fakegcs.New("lake")}
	c.Run = c.work
	store, service := httptest.NewServer(c.store), httptest.NewServer(c.Server)
	t.Cleanup(func() {
		c.Wait()
		store.Close()
		service.Close()
	})
	t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(store.URL, "http://"))
	account, _ := fakegcs.Account(t, "my-project", service.URL+"/token")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", account)
	storeFlags{}.register() // a client may still have the store of another test
	c.flags = []string{
		"--runner=DataflowRunner", "--project=my-project", "--region=europe-west1", "--staging_location=gs://lake/staging",
		"--dataflow-endpoint=" + service.URL, "--worker-binary=" + testWorker(t), "--worker-machine-type=" + machineType(),
	}
	files, err := filepath.Glob("../../testdata/tldr/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c.store.Put("lake", "in/"+filepath.Base(file), "", data)
	}
	return c
}

// testWorker returns this test's binary as a worker.
func testWorker(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := jobserver.CheckWorker(self, runtime.GOARCH); err != nil {
		t.Skipf("no worker: %v; run the test with CGO_ENABLED=0", err)
	}
	return self
}

func machineType() string {
	if runtime.GOARCH == "arm64" {
		return "t2a-standard-4"
	}
	return "n2-standard-4"
}

// work runs a job as it was submitted.
func (c *project) work(ctx context.Context, job *df.Job) ([]*df.MetricUpdate, error) {
	model, err := c.model(job)
	if err != nil {
		return nil, err
	}
	result, err := local.ExecuteModel(local.WithOptions(ctx, local.Options{Workers: 2}), model)
	if err != nil {
		return nil, fmt.Errorf("Error message from worker: generic::unknown: process bundle failed: %w", err)
	}
	return updates(model, result), nil
}

// model returns the pipeline of a job.
func (c *project) model(job *df.Job) (*pipepb.Pipeline, error) {
	var options struct {
		Options struct{ PipelineURL, PipelineProtoHash string }
	}
	if err := json.Unmarshal(job.Environment.SdkPipelineOptions, &options); err != nil {
		return nil, err
	}
	data, err := storage.ReadFile(context.Background(), options.Options.PipelineURL)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != options.Options.PipelineProtoHash {
		return nil, errors.New("the pipeline has another hash than the job says")
	}
	model := &pipepb.Pipeline{}
	return model, proto.Unmarshal(data, model)
}

// updates returns the counters of a run in the form of the service: tentative and committed.
func updates(model *pipepb.Pipeline, result beam.PipelineResult) (all []*df.MetricUpdate) {
	ids := map[string]string{}
	for id, t := range model.GetComponents().GetTransforms() {
		ids[t.GetUniqueName()] = id
	}
	for _, counter := range result.Metrics().AllMetrics().Counters() {
		for _, tentative := range []string{"true", "false"} {
			all = append(all, &df.MetricUpdate{
				Name: &df.MetricStructuredName{Origin: "user", Name: counter.Key.Name, Context: map[string]string{
					"step": ids[counter.Key.Step], "namespace": counter.Key.Namespace, "tentative": tentative,
				}},
				Kind: "Sum", Scalar: counter.Committed,
			})
		}
	}
	return all
}

// neardup starts neardup with the flags of a job, and others.
func (c *project) neardup(t *testing.T, flags ...string) *process {
	t.Helper()
	p := prepare(t, "neardup", append(append([]string{"dedup"}, c.flags...), flags...)...)
	p.Env = append(p.Env, "HOME="+p.Dir)
	return p
}

// parts returns the files of a finished output that are the same in every run.
func parts(t *testing.T, dir string) map[string]string {
	t.Helper()
	finished, err := output.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, file := range finished.Manifest.Files {
		data, err := storage.ReadFile(t.Context(), storage.Join(dir, file.Path))
		if err != nil {
			t.Fatal(err)
		}
		got[file.Path] = string(data)
	}
	return got
}

var kinds = []string{"--shingle=char:5", "--threshold=0.5"}

// hereToo runs the same job locally.
func hereToo(t *testing.T, flags ...string) map[string]string {
	t.Helper()
	in, err := filepath.Abs("../../testdata/tldr")
	if err != nil {
		t.Fatal(err)
	}
	p := prepare(t, "neardup", append([]string{"dedup", in, "-o", "out"}, flags...)...)
	if stderr, status := p.start().ended(); status != 0 {
		t.Fatal(stderr)
	}
	return parts(t, filepath.Join(p.Dir, "out"))
}

// TestDataflow: the pipeline that is submitted to Dataflow, run by another runner in another process on the bucket,
// gives the bytes of a local run.
func TestDataflow(t *testing.T) {
	c := newProject(t)
	p := c.neardup(t, append(kinds, "gs://lake/in", "-o", "gs://lake/out", "--log-format=json")...)
	stderr, status := p.start().ended()
	if status != 0 {
		t.Fatalf("%v: %s", status, stderr)
	}
	if want := hereToo(t, kinds...); !maps.Equal(want, parts(t, "gs://lake/out")) {
		t.Error("other bytes than of a local run")
	}
	jobs := c.Jobs()
	if len(jobs) != 1 {
		t.Fatalf("%d jobs", len(jobs))
	}
	if want := "Submitted job: " + jobs[0].Id; !slices.Contains(strings.Split(stderr, "\n"), want) {
		t.Errorf("no line is %q:\n%s", want, stderr)
	}
	finished, err := output.Open(t.Context(), "gs://lake/out")
	if err != nil {
		t.Fatal(err)
	}
	if r := finished.Run; !slices.Equal(r.Jobs, []string{jobs[0].Id}) || r.Steps["read/records"] != r.Counts.Records || r.Runner != "dataflow" {
		t.Errorf("run.json says %v, %v, %d of %d", r.Jobs, r.Runner, r.Steps["read/records"], r.Counts.Records)
	}
}

// TestAirflow: the command that Airflow's Go operator runs, without a shell; the operator looks for the job's id in the
// output.
func TestAirflow(t *testing.T) {
	c := newProject(t)
	endpoint, ok := strings.CutPrefix(c.flags[4], "--dataflow-endpoint=")
	if !ok {
		t.Fatal(c.flags)
	}
	p := prepare(t, "neardup",
		"--runner=DataflowRunner", "--project=my-project", "--region=europe-west1", "--staging_location=gs://lake/staging", "--temp_location=gs://lake/temp",
		"--job_name=nightly", "--num_workers=4", "--input=gs://lake/in", "--output=gs://lake/out", `--labels={"airflow-version":"v3-1-0","team":"data"}`, "--worker_binary="+testWorker(t),
		"--worker_machine_type="+machineType(), "--dataflow_endpoint="+endpoint)
	p.Env = append(p.Env, "HOME="+p.Dir, "NEARDUP_SHINGLE=char:5", "NEARDUP_THRESHOLD=0.5")
	stderr, status := p.start().ended()
	if status != 0 {
		t.Fatalf("%v: %s", status, stderr)
	}
	if want := hereToo(t, kinds...); !maps.Equal(want, parts(t, "gs://lake/out")) {
		t.Error("other bytes than of a local run")
	}
	job := c.Jobs()[0]
	if id := regexp.MustCompile(`Submitted job: ([^\s"]*)`).FindStringSubmatch(stderr); id == nil || id[1] != job.Id {
		t.Errorf("no job %s in %s", job.Id, stderr)
	}
	if job.Name != "nightly" || job.Labels["team"] != "data" || job.Environment.WorkerPools[0].NumWorkers != 4 || !strings.HasPrefix(job.Environment.TempStoragePrefix, "gs://lake/temp") {
		t.Errorf("%s, %v, %d workers, %s", job.Name, job.Labels, job.Environment.WorkerPools[0].NumWorkers, job.Environment.TempStoragePrefix)
	}
}

// held makes jobs wait until release is called; started receives each that has begun.
func (c *project) held() (started <-chan string, release func()) {
	begun, go_ := make(chan string, 1), make(chan struct{})
	run := c.Run
	c.Run = func(ctx context.Context, job *df.Job) ([]*df.MetricUpdate, error) {
		begun <- job.Id
		select {
		case <-go_:
			return run(ctx, job)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return begun, sync.OnceFunc(func() { close(go_) })
}

// objects returns the names in the bucket below a folder.
func objects(t *testing.T, folder string) []string {
	t.Helper()
	names, err := storage.Names(t.Context(), folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}

// TestDataflowDetached: a run that does not wait leaves its job, its lock and its state. Another run is refused while
// the job continues, and finish gives the bytes of a local run, once.
func TestDataflowDetached(t *testing.T) {
	c := newProject(t)
	started, release := c.held()
	defer release()
	asked := append(slices.Clone(kinds), "--min-words=40", "--drop-not-compared")
	flags := append(slices.Clone(asked), "gs://lake/in", "-o", "gs://lake/out")
	p := c.neardup(t, append(flags, "--execute_async", "--json")...)
	stderr, status := p.start().ended()
	if status != 0 {
		t.Fatal(stderr)
	}
	id := <-started
	var run records.Run
	if err := json.Unmarshal(p.stdout.Bytes(), &run); err != nil || run.Status != "submitted" {
		t.Errorf("%v: %s", err, &p.stdout)
	}
	if !strings.Contains(stderr, "Submitted job: "+id+"\n") {
		t.Error(stderr)
	}
	if stderr, status := c.neardup(t, flags...).start().ended(); status.ExitStatus() != 3 || !strings.Contains(stderr, "jobs/"+id) || !strings.Contains(stderr, "neardup finish gs://lake/out") {
		t.Errorf("another run: %v: %s", status, stderr)
	}
	finish := prepare(t, "neardup", "finish", "gs://lake/out", "--json")
	finish.start()
	release()
	if stderr, status := finish.ended(); status != 0 {
		t.Fatal(stderr)
	}
	if want := hereToo(t, asked...); !maps.Equal(want, parts(t, "gs://lake/out")) {
		t.Error("other bytes than of a local run")
	}
	if err := json.Unmarshal(finish.stdout.Bytes(), &run); err != nil || run.Status != "done" || !slices.Equal(run.Jobs, []string{id}) || run.Steps["read/records"] != run.Counts.Records {
		t.Errorf("%v: %s", err, &finish.stdout)
	}
	if n := run.Counts; n.NotCompared == 0 || n.ComparedPairs == 0 || n.Corpus+n.Removed+n.NotCompared != n.Records {
		t.Errorf("counts of what the run asked for: %+v", n)
	}
	if names := objects(t, "gs://lake/out"); slices.Contains(names, ".neardup") || slices.Contains(names, ".lock") {
		t.Errorf("left: %v", names)
	}
	again := prepare(t, "neardup", "finish", "gs://lake/out")
	if stderr, status := again.start().ended(); status != 0 || !strings.Contains(stderr, "nothing to finish") {
		t.Errorf("finishing again: %v: %s", status, stderr)
	}
}

// TestDataflowGuarded: finish applies the limits that the run had for publishing.
func TestDataflowGuarded(t *testing.T) {
	c := newProject(t)
	flags := append(kinds, "gs://lake/in", "-o", "gs://lake/out", "--max-removed=0%", "--detach")
	if stderr, status := c.neardup(t, flags...).start().ended(); status != 0 {
		t.Fatal(stderr)
	}
	finish := prepare(t, "neardup", "finish", "gs://lake/out")
	if stderr, status := finish.start().ended(); status.ExitStatus() != 5 || !strings.Contains(stderr, "documents would be removed, which is more than --max-removed 0%") {
		t.Errorf("%v: %s", status, stderr)
	}
	if names := objects(t, "gs://lake/out"); slices.Contains(names, output.SuccessFile) || slices.Contains(names, ".lock") {
		t.Errorf("left: %v", names)
	}
}

// TestDataflowInterrupted: on a signal, the run leaves the job, and prints its id and how to finish it, unless it
// should cancel the job.
func TestDataflowInterrupted(t *testing.T) {
	for name, tt := range map[string]struct {
		signal syscall.Signal
		flags  []string
		cancel bool
	}{
		"SIGTERM":                        {syscall.SIGTERM, nil, false},
		"SIGINT without a terminal":      {syscall.SIGINT, nil, false},
		"SIGTERM, --cancel-on-interrupt": {syscall.SIGTERM, []string{"--cancel-on-interrupt"}, true},
		"several jobs":                   {syscall.SIGTERM, []string{"--measure-recall=5"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newProject(t)
			started, release := c.held()
			defer release()
			p := c.neardup(t, append(tt.flags, append(kinds, "gs://lake/in", "-o", "gs://lake/out")...)...)
			p.start()
			p.said("Submitted job: ")
			id := <-started
			p.signal(tt.signal)
			stderr, status := p.ended()
			if status.ExitStatus() != 128+int(tt.signal) {
				t.Errorf("%v: %s", status, stderr)
			}
			if tt.cancel {
				c.Wait()
				if state := c.Jobs()[0].CurrentState; state != "JOB_STATE_CANCELLED" || strings.Contains(stderr, "neardup finish") {
					t.Errorf("the job is %s: %s", state, stderr)
				}
				if names := objects(t, "gs://lake/out"); slices.Contains(names, ".lock") || slices.Contains(names, ".neardup") {
					t.Errorf("left: %v", names)
				}
				return
			}
			if !strings.Contains(stderr, id+" continues") || !strings.Contains(stderr, "neardup finish gs://lake/out") {
				t.Error(stderr)
			}
			release()
			finish := prepare(t, "neardup", "finish", "gs://lake/out")
			if stderr, status := finish.start().ended(); status != 0 {
				t.Fatal(stderr)
			}
			if want := hereToo(t, kinds...); !maps.Equal(want, parts(t, "gs://lake/out")) {
				t.Error("other bytes than of a local run")
			}
		})
	}
}

// TestDataflowEndedElsewhere: the lock of a job that has ended without its launcher is stale.
func TestDataflowEndedElsewhere(t *testing.T) {
	c := newProject(t)
	run := c.Run
	c.Run = func(context.Context, *df.Job) ([]*df.MetricUpdate, error) { return nil, errors.New("out of quota") }
	flags := append(kinds, "gs://lake/in", "-o", "gs://lake/out")
	if stderr, status := c.neardup(t, append(flags, "--detach")...).start().ended(); status != 0 {
		t.Fatal(stderr)
	}
	c.Wait()
	c.Run = run
	stderr, status := c.neardup(t, flags...).start().ended()
	if status != 0 || !strings.Contains(stderr, "took over the lock") {
		t.Errorf("%v: %s", status, stderr)
	}
	if want := hereToo(t, kinds...); !maps.Equal(want, parts(t, "gs://lake/out")) {
		t.Error("other bytes than of a local run")
	}
}

// TestDataflowFails: if a job does not succeed, the run fails with the service's own words.
func TestDataflowFails(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(c *project)
		exit    int
		says    string
	}{
		"a step fails": {func(c *project) { c.store.Put("lake", "in/bad.jsonl", "", []byte("{\n")) }, 4, "unreadable"},
		"the service gives up": {func(c *project) {
			c.Run = func(context.Context, *df.Job) ([]*df.MetricUpdate, error) {
				return nil, errors.New("Startup of the worker pool in region europe-west1 failed to bring up any of the desired 1 workers. QUOTA_EXCEEDED")
			}
		}, 1, "QUOTA_EXCEEDED; see gcloud dataflow jobs describe "},
		"cancelled by another": {func(c *project) { c.Ends = "JOB_STATE_CANCELLED" }, 1, "JOB_STATE_CANCELLED"},
		"drained":              {func(c *project) { c.Ends = "JOB_STATE_DRAINED" }, 1, "JOB_STATE_DRAINED"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newProject(t)
			tt.prepare(c)
			stderr, status := c.neardup(t, "gs://lake/in", "-o", "gs://lake/out").start().ended()
			if status.ExitStatus() != tt.exit || !strings.Contains(stderr, tt.says) {
				t.Errorf("%v: %s", status, stderr)
			}
			if names := objects(t, "gs://lake/out"); slices.Contains(names, ".lock") || slices.Contains(names, "_SUCCESS") {
				t.Errorf("left: %v", names)
			}
		})
	}
}

// runID matches what differs in the pipelines of two runs.
var runID = regexp.MustCompile(`[0-9]{8}-[0-9]{6}-[0-9a-f]{8}`)

// steps returns the transforms of a pipeline in words, without the id of the run.
func steps(t *testing.T, model *pipepb.Pipeline) map[string]string {
	t.Helper()
	all := map[string]string{}
	for id, transform := range model.GetComponents().GetTransforms() {
		text := transform.GetUniqueName() + " " + transform.GetSpec().GetUrn()
		if transform.GetSpec().GetUrn() == graphx.URNParDo {
			var step pipepb.ParDoPayload
			if err := proto.Unmarshal(transform.GetSpec().GetPayload(), &step); err != nil {
				t.Fatal(err)
			}
			fn, err := base64.StdEncoding.DecodeString(string(step.GetDoFn().GetPayload()))
			if err != nil {
				t.Fatal(err)
			}
			text += string(fn)
		}
		all[id] = runID.ReplaceAllString(text, "RUN")
	}
	return all
}

// TestDataflowGraph: the service gets a pipeline of plain steps and coders, which only has paths in the bucket, and
// does not depend on where the launcher runs.
func TestDataflowGraph(t *testing.T) {
	plain := []string{graphx.URNImpulse, graphx.URNParDo, graphx.URNGBK, graphx.URNFlatten, graphx.URNReshuffle, "beam:transform:reify_timestamps:v1", ""}
	coders := []string{"beam:coder:bytes:v1", "beam:coder:varint:v1", "beam:coder:kv:v1", "beam:coder:iterable:v1", "beam:coder:global_window:v1", "beam:coder:length_prefix:v1", "beam:go:coder:cogbklist:v1"}
	c := newProject(t)
	models := make(chan *pipepb.Pipeline, 1)
	c.Run = func(_ context.Context, job *df.Job) ([]*df.MetricUpdate, error) {
		model, err := c.model(job)
		models <- model
		return nil, err
	}
	var first map[string]string
	for _, cores := range []string{"1", "7"} {
		p := c.neardup(t, append(kinds, "gs://lake/in", "-o", "gs://lake/out"+cores, "--detach")...)
		p.Env = append(p.Env, "GOMAXPROCS="+cores)
		if stderr, status := p.start().ended(); status != 0 {
			t.Fatal(stderr)
		}
		model := <-models
		if model == nil {
			t.Fatal("no pipeline")
		}
		all := steps(t, model)
		for id, text := range all {
			all[id] = strings.ReplaceAll(text, "gs://lake/out"+cores, "gs://lake/out")
			if strings.Contains(text, p.Dir) || strings.Contains(text, `"/`) {
				t.Errorf("%s knows the launcher's disk: %q", id, text)
			}
		}
		if first == nil {
			first = all
		}
		if !maps.Equal(all, first) {
			t.Error("with more cores there is another pipeline")
		}
		for id, transform := range model.GetComponents().GetTransforms() {
			if !slices.Contains(plain, transform.GetSpec().GetUrn()) {
				t.Errorf("%s is %q", id, transform.GetSpec().GetUrn())
			}
		}
		for id, coder := range model.GetComponents().GetCoders() {
			payload, _ := base64.StdEncoding.DecodeString(string(coder.GetSpec().GetPayload()))
			// The SDK's own coder of int64 is a custom one.
			int64s := coder.GetSpec().GetUrn() == "beam:go:coder:custom:v1" && bytes.Contains(payload, []byte("coderx.encVarIntZ"))
			if !int64s && !slices.Contains(coders, coder.GetSpec().GetUrn()) {
				t.Errorf("coder %s is %q of %q", id, coder.GetSpec().GetUrn(), coder.GetSpec().GetPayload())
			}
		}
	}
}

// TestTemplate: the parameters of the flex template are flags, and its regular expressions accept their values.
func TestTemplate(t *testing.T) {
	data, err := os.ReadFile("../../docs/dataflow/metadata.json")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Parameters []struct {
			Name    string
			Regexes []string
		}
	}
	if err := json.Unmarshal(data, &template); err != nil {
		t.Fatal(err)
	}
	values := map[string]struct{ good, bad []string }{
		"input":        {[]string{"gs://b/in", "gs://b/*.jsonl"}, []string{"/in", "in", "s3://b/in"}},
		"output":       {[]string{"gs://b/out"}, []string{"out", "/out"}},
		"format":       {source.Formats(), []string{"docx", "JSONL", ""}},
		"text":         {[]string{"text", "a.b"}, []string{""}},
		"id":           {[]string{"id"}, nil},
		"threshold":    {[]string{"0.8", ".5", "1", "1.0", "0.05"}, []string{"0", "1.1", "2", "-1", "x", "0.0"}},
		"shingle":      {[]string{"word:5", "char:9", "byte:13", "char32:9", "stopword:3", "item"}, []string{"word", "word:0", "item:1", "words:5", "word:-1"}},
		"method":       {[]string{"minhash", "complete", "exact", "simhash"}, []string{"lsh", ""}},
		"keep":         {[]string{"first", "longest", "max:date", "min:a.b"}, []string{"last", "max:", "max"}},
		"max-rejected": {[]string{"0", "12", "0.5%", "100%"}, []string{"-1", "1.5", "101%", "x"}},
		"overwrite":    {[]string{"true", "false"}, []string{"maybe"}},
	}
	if len(values) != len(template.Parameters) {
		t.Errorf("%d parameters, %d of which are tried", len(template.Parameters), len(values))
	}
	for _, p := range template.Parameters {
		if list := "^(" + strings.Join(source.Formats(), "|") + ")$"; p.Name == "format" && !slices.Equal(p.Regexes, []string{list}) {
			t.Errorf("the formats are %s", list)
		}
		for i, all := range [][]string{values[p.Name].good, values[p.Name].bad} {
			for _, value := range all {
				matches := !slices.ContainsFunc(p.Regexes, func(r string) bool { return !regexp.MustCompile(r).MatchString(value) })
				given := map[string]string{"input": "gs://b/in", "output": "gs://b/out", p.Name: value}
				args := []string{"--runner=DataflowRunner"}
				for name, value := range given {
					args = append(args, "--"+name+"="+value)
				}
				var cli commands
				parser, err := newParser(&cli, nil, io.Discard, io.Discard)
				if err != nil {
					t.Fatal(err)
				}
				if _, err = parser.Parse(args); err == nil {
					err = readFrom(t.Context(), &cli.Dedup.Input, &cli.Dedup.Running, streams{})
				}
				if err == nil {
					_, err = dedup.New(t.Context(), cli.Dedup.Config)
				}
				if good := i == 0; matches != good || (err == nil) != good {
					t.Errorf("%s=%q: the template takes it: %t, neardup says %v", p.Name, value, matches, err)
				}
			}
		}
	}
}
