package dataflow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow/dataflowlib"
	df "google.golang.org/api/dataflow/v1b3"
	"google.golang.org/protobuf/proto"

	"github.com/neardup/neardup/internal/fakedataflow"
	"github.com/neardup/neardup/internal/fakegcs"
	"github.com/neardup/neardup/internal/httpfault"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/gcs"
	"github.com/neardup/neardup/runners/remote"
)

func init() { beam.RegisterFunction(count) }

func count([]byte) int64 { return 1 }

func TestMain(m *testing.M) {
	beam.Init()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// pipeline returns a pipeline of one step.
func pipeline() *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo(s, count, beam.Impulse(s))
	return p
}

// cloud is the fake service and a bucket.
type cloud struct {
	*fakedataflow.Server
	store *fakegcs.Server
}

// newCloud returns a cloud whose jobs do nothing, and the options of a job there. If decide is not nil, it determines
// the faults of the service.
func newCloud(t *testing.T, decide func(r *http.Request, n int) httpfault.Fault) (*cloud, Options) {
	t.Helper()
	c := &cloud{&fakedataflow.Server{Project: "p1", Region: "europe-west1"}, fakegcs.New("b")}
	c.Run = func(context.Context, *df.Job) ([]*df.MetricUpdate, error) { return nil, nil }
	var handler http.Handler = c.Server
	if decide != nil {
		faulty := &httpfault.Faults{Handler: c.Server, Decide: decide, Refuse: fakedataflow.Refuse}
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/token" {
				c.ServeHTTP(w, r)
				return
			}
			faulty.ServeHTTP(w, r)
		})
	}
	store, service := httptest.NewServer(c.store), httptest.NewServer(handler)
	t.Cleanup(func() {
		c.Wait()
		store.Close()
		service.Close()
	})
	gcs.Register(gcs.Options{Endpoint: store.URL, Anonymous: true})
	account, _ := fakegcs.Account(t, "p1", service.URL+"/token")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", account)
	worker := filepath.Join(t.TempDir(), "worker")
	if err := os.WriteFile(worker, []byte("a binary"), 0o700); err != nil {
		t.Fatal(err)
	}
	return c, Options{
		JobOptions: dataflowlib.JobOptions{Project: "p1", Region: "europe-west1", Worker: worker}, Staging: "gs://b/staging", Endpoint: service.URL,
	}
}

// execute connects and runs the pipeline.
func execute(ctx context.Context, o Options) (*remote.Result, error) {
	s, err := Connect(ctx, o)
	if err != nil {
		return nil, err
	}
	return s.Execute(ctx, pipeline())
}

// objects returns the names in the bucket.
func objects(t *testing.T) (names []string) {
	t.Helper()
	store, err := storage.At("gs://b")
	if err != nil {
		t.Fatal(err)
	}
	for info, err := range store.List(t.Context(), "gs://b", func(string) bool { return true }) {
		if errors.Is(err, fs.ErrNotExist) {
			break // the bucket is empty
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, info.Path)
	}
	return names
}

// TestRequest checks that the job has everything that was asked for, and what the service requires of a portable job
// (as in the SDK's job, and https://cloud.google.com/dataflow/docs/reference/rest/v1b3/projects.locations.jobs).
func TestRequest(t *testing.T) {
	c, o := newCloud(t, nil)
	o.Name, o.TempLocation, o.ContainerImage = "nightly", "gs://b/temp", "gcr.io/p1/neardup:1"
	o.MachineType, o.NumWorkers, o.MaxNumWorkers, o.WorkerHarnessThreads, o.DiskSizeGb, o.DiskType, o.WorkerZone = "n2-standard-4", 2, 9, 4, 50, "pd-ssd", "europe-west1-b"
	o.Network, o.Subnetwork = "net", "regions/europe-west1/subnetworks/sub"
	for name, value := range map[string]string{
		"use_public_ips": "false", "autoscaling_algorithm": "NONE", "flexrs-goal": "FLEXRS_COST_OPTIMIZED", "disk-provisioned-iops": "3000",
		"disk-provisioned-throughput-mibps": "200",
	} {
		if err := o.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Set("flexrs-goal", "cheap"); err == nil || !strings.Contains(err.Error(), "FLEXRS_COST_OPTIMIZED") {
		t.Errorf("error %v", err)
	}
	o.ServiceAccountEmail, o.KmsKey = "w@p1.iam.gserviceaccount.com", "projects/p1/locations/l/keyRings/r/cryptoKeys/k"
	o.Labels, o.Experiments, o.DataflowServiceOptions = map[string]string{"team": "x"}, []string{"e1", "use_runner_v2"}, []string{"enable_prime", "s2"}
	if _, err := execute(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var job *df.Job
	var body []byte
	for _, r := range c.Log() {
		if r.Method == http.MethodPost {
			body = r.Body
			if err := json.Unmarshal(r.Body, &job); err != nil {
				t.Fatal(err)
			}
		}
	}
	e, pool := job.Environment, job.Environment.WorkerPools[0]
	var options struct {
		Options struct{ PipelineURL, PipelineProtoHash, Region, TempLocation string }
	}
	if err := json.Unmarshal(e.SdkPipelineOptions, &options); err != nil {
		t.Fatal(err)
	}
	folder := strings.TrimSuffix(options.Options.PipelineURL, "/model")
	model, err := storage.ReadFile(t.Context(), options.Options.PipelineURL)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(data []byte) string {
		hash := sha256.Sum256(data)
		return hex.EncodeToString(hash[:])
	}
	for what, is := range map[string][2]any{
		"type":           {job.Type, "JOB_TYPE_BATCH"},
		"name":           {job.Name, "nightly"},
		"project":        {job.ProjectId, "p1"},
		"labels":         {job.Labels, map[string]string{"team": "x"}},
		"steps":          {len(job.Steps), 0},
		"request id":     {job.ClientRequestId != "", true},
		"version":        {string(e.Version), `{"job_type":"FNAPI_BATCH","major":"6"}`},
		"user agent":     {string(e.UserAgent), `{"name":"` + core.SdkName + `","version":"` + core.SdkVersion + `"}`},
		"experiments":    {e.Experiments, []string{"e1", "use_runner_v2", "beam_fn_api", "use_unified_worker", "use_portable_job_submission"}},
		"options":        {e.ServiceOptions, []string{"enable_prime", "s2"}},
		"temp":           {e.TempStoragePrefix, "gs://b/temp"},
		"temp, again":    {options.Options.TempLocation, "gs://b/temp"},
		"region":         {options.Options.Region, "europe-west1"},
		"account":        {e.ServiceAccountEmail, "w@p1.iam.gserviceaccount.com"},
		"key":            {e.ServiceKmsKeyName, "projects/p1/locations/l/keyRings/r/cryptoKeys/k"},
		"zone":           {e.WorkerZone, "europe-west1-b"},
		"pools":          {len(e.WorkerPools), 1},
		"kind":           {pool.Kind, "harness"},
		"machine":        {pool.MachineType, "n2-standard-4"},
		"workers":        {pool.NumWorkers, int64(2)},
		"most workers":   {pool.AutoscalingSettings.MaxNumWorkers, int64(9)},
		"scaling":        {pool.AutoscalingSettings.Algorithm, "AUTOSCALING_ALGORITHM_NONE"},
		"goal":           {e.FlexResourceSchedulingGoal, "FLEXRS_COST_OPTIMIZED"},
		"disk speed":     {[]int64{pool.DiskProvisionedIops, pool.DiskProvisionedThroughputMibps}, []int64{3000, 200}},
		"threads":        {pool.NumThreadsPerWorker, int64(4)},
		"disk":           {pool.DiskSizeGb, int64(50)},
		"disk type":      {pool.DiskType, "pd-ssd"},
		"network":        {pool.Network, "net"},
		"subnetwork":     {pool.Subnetwork, "regions/europe-west1/subnetworks/sub"},
		"addresses":      {pool.IpConfiguration, "WORKER_IP_PRIVATE"},
		"package":        {*pool.Packages[0], df.Package{Name: "worker", Location: folder + "/worker", Sha256: sum([]byte("a binary"))}},
		"image":          {pool.SdkHarnessContainerImages[0].ContainerImage, "gcr.io/p1/neardup:1"},
		"all cores":      {pool.SdkHarnessContainerImages[0].UseSingleCorePerContainer, false},
		"hash":           {options.Options.PipelineProtoHash, sum(model)},
		"in the bucket":  {objects(t), []string{folder + "/model", folder + "/worker"}},
		"staging folder": {strings.HasPrefix(folder, "gs://b/staging/go-"), true},
	} {
		if !reflect.DeepEqual(is[0], is[1]) {
			t.Errorf("%s is %v, want %v", what, is[0], is[1])
		}
	}
	if bytes.Contains(body, []byte("PRIVATE KEY")) || bytes.Contains(body, []byte("fake-token")) {
		t.Error("there are credentials in the job")
	}
	var p pipepb.Pipeline
	if err := proto.Unmarshal(model, &p); err != nil {
		t.Fatal(err)
	}
	for _, environment := range p.GetComponents().GetEnvironments() {
		var payload pipepb.ArtifactUrlPayload
		dependencies := environment.GetDependencies()
		if len(dependencies) != 1 || dependencies[0].GetRoleUrn() != graphx.URNArtifactGoWorkerRole || proto.Unmarshal(dependencies[0].GetTypePayload(), &payload) != nil ||
			payload.GetUrl() != folder+"/worker" || payload.GetSha256() != sum([]byte("a binary")) {
			t.Errorf("workers get %v", dependencies)
		}
	}
}

// TestDefaults checks that what was not asked for is left to the service, and that Arm machines get their own binary.
func TestDefaults(t *testing.T) {
	c, o := newCloud(t, nil)
	if _, err := execute(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	job := c.Jobs()[0]
	pool := job.Environment.WorkerPools[0]
	if pool.MachineType != "" || pool.AutoscalingSettings.MaxNumWorkers != 0 || pool.IpConfiguration != "WORKER_IP_UNSPECIFIED" || job.Environment.TempStoragePrefix != "gs://b/staging/tmp" ||
		!strings.HasPrefix(job.Name, "neardup-") || !strings.HasSuffix(pool.SdkHarnessContainerImages[0].ContainerImage, "/beam_go_sdk:"+core.SdkVersion) {
		t.Errorf("%+v", pool)
	}
	for machine, want := range map[string]string{"": "amd64", "n2-standard-4": "amd64", "t2d-standard-1": "amd64", "t2a-standard-4": "arm64", "c4a-highmem-8": "arm64"} {
		if got := Arch(machine); got != want {
			t.Errorf("%q is %s", machine, got)
		}
	}
}

// TestCheck checks that nonsensical options are rejected before any request is sent, with an error that says what to
// do.
func TestCheck(t *testing.T) {
	for says, wrong := range map[string]func(o *Options){
		"--project my-project":               func(o *Options) { o.Project = "" },
		"--region europe-west1":              func(o *Options) { o.Region = "" },
		"gcloud compute regions list":        func(o *Options) { o.Region = "europe-west1-b" },
		"gcloud storage buckets create":      func(o *Options) { o.Staging = "" },
		"staging location /tmp: must be in":  func(o *Options) { o.Staging = "/tmp" },
		"staging location gs://: must be in": func(o *Options) { o.Staging = "gs://" },
		"temp location s3://b/t: must be in": func(o *Options) { o.TempLocation = "s3://b/t" },
		`job name "Nightly"`:                 func(o *Options) { o.Name = "Nightly" },
		"label Team=x":                       func(o *Options) { o.Labels = map[string]string{"Team": "x"} },
		"label team=X":                       func(o *Options) { o.Labels = map[string]string{"team": "X"} },
		"3 workers are more than max-num-workers, 2; use fewer --workers": func(o *Options) { o.NumWorkers, o.MaxNumWorkers = 3, 2 },
		"numbers of workers and threads":                                  func(o *Options) { o.WorkerHarnessThreads = -1 },
	} {
		c, o := newCloud(t, nil)
		wrong(&o)
		if _, err := Connect(t.Context(), o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q, got %v", says, err)
		}
		if len(c.Log())+len(c.store.Log()) > 0 {
			t.Errorf("%s: something was asked", says)
		}
	}
}

// TestRefused checks that a refusal by the service or a bucket is reported in its own words, with the command that
// solves it, once and before anything is uploaded.
func TestRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		wrong  func(o *Options)
		says   []string
	}{
		"not logged in":      {401, nil, []string{"401", "gcloud auth application-default login"}},
		"not allowed":        {403, nil, []string{"403", "gcloud projects add-iam-policy-binding p1 --member=user:YOU --role=roles/dataflow.developer"}},
		"another project":    {0, func(o *Options) { o.Project = "p2" }, []string{"The caller does not have permission", "gcloud projects add-iam-policy-binding p2"}},
		"no such region":     {0, func(o *Options) { o.Region = "europe-west99" }, []string{"location could not be found", "gcloud compute regions list"}},
		"no such bucket":     {0, func(o *Options) { o.Staging = "gs://missing/s" }, []string{"gcloud storage buckets create gs://missing --project p1 --location europe-west1"}},
		"no bucket for temp": {0, func(o *Options) { o.TempLocation = "gs://missing/t" }, []string{"gcloud storage buckets create gs://missing"}},
		"wrong":              {400, nil, []string{"400"}},
	} {
		t.Run(name, func(t *testing.T) {
			var decide func(*http.Request, int) httpfault.Fault
			if tt.status > 0 {
				decide = func(*http.Request, int) httpfault.Fault {
					return httpfault.Fault{Kind: httpfault.Error, Status: tt.status}
				}
			}
			_, o := newCloud(t, decide)
			if tt.wrong != nil {
				tt.wrong(&o)
			}
			_, err := execute(t.Context(), o)
			for _, says := range tt.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("want %q, got %v", says, err)
				}
			}
			if got := objects(t); len(got) > 0 {
				t.Errorf("left: %v", got)
			}
		})
	}
}

// TestBadKey checks that rejected credentials end the run at once, with an error that says how to log in.
func TestBadKey(t *testing.T) {
	_, o := newCloud(t, nil)
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`, http.StatusBadRequest)
	}))
	t.Cleanup(tokens.Close)
	account, _ := fakegcs.Account(t, "p1", tokens.URL)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", account)
	ctx, cancel := context.WithTimeout(t.Context(), startPatience/4)
	defer cancel()
	if _, err := execute(ctx, o); err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "Invalid JWT Signature") || !strings.Contains(err.Error(), login) {
		t.Error(err)
	}
}

// TestEndedMeanwhile checks that a job that ended while the user was being asked about it is not cancelled: it is done.
func TestEndedMeanwhile(t *testing.T) {
	c, o := newCloud(t, nil)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	asked := make(chan struct{})
	c.Run = func(context.Context, *df.Job) ([]*df.MetricUpdate, error) { <-asked; return nil, nil }
	o.Submitted = func(string) { interrupt() }
	o.Interrupted = func(context.Context, string) bool {
		close(asked)
		c.Wait()
		return true
	}
	if result, err := execute(ctx, o); err != nil || result.JobID() != c.Jobs()[0].Id {
		t.Errorf("%v, %v", result, err)
	}
}

// TestPassed checks that options of the SDK's own runner that this runner has no option for are passed on to the job.
func TestPassed(t *testing.T) {
	c, o := newCloud(t, nil)
	o.ImageOverrides = map[string]string{".*neardup:1": "gcr.io/p1/other:2"}
	for name, value := range map[string]string{
		"zone": "europe-west1-c", "teardown_policy": "TEARDOWN_ALWAYS", "worker_harness_container_image": "gcr.io/p1/neardup:1", "num_workers": "3",
	} {
		if known, err := o.Pass(name, value); err != nil || !known {
			t.Errorf("--%s: known: %t, error %v", name, known, err)
		}
	}
	if known, err := o.Pass("element_processing_timeout", "1m"); known || err != nil {
		t.Errorf("what is for the pipeline: known: %t, error %v", known, err)
	}
	for _, name := range []string{"transform_name_mapping", "dry_run"} {
		if known, err := o.Pass(name, "{}"); !known || err == nil {
			t.Errorf("--%s: known: %t, error %v", name, known, err)
		}
	}
	if _, err := execute(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var job df.Job
	for _, r := range c.Log() {
		if r.Method == http.MethodPost {
			if err := json.Unmarshal(r.Body, &job); err != nil {
				t.Fatal(err)
			}
		}
	}
	pool := job.Environment.WorkerPools[0]
	got := []any{job.Environment.WorkerZone, pool.TeardownPolicy, pool.NumWorkers, pool.SdkHarnessContainerImages[0].ContainerImage}
	if want := []any{"europe-west1-c", "TEARDOWN_ALWAYS", int64(3), "gcr.io/p1/other:2"}; !slices.Equal(got, want) {
		t.Errorf("the job has %v, want %v", got, want)
	}
}

// TestNameTaken checks that only one job of a name runs at a time, and that the message says how to stop the other one.
func TestNameTaken(t *testing.T) {
	c, o := newCloud(t, nil)
	c.Run = func(ctx context.Context, _ *df.Job) ([]*df.MetricUpdate, error) { <-ctx.Done(); return nil, nil }
	o.Name, o.Detach = "nightly", true
	left := (*LeftError)(nil)
	if _, err := execute(t.Context(), o); !errors.As(err, &left) {
		t.Fatal(err)
	}
	if _, err := execute(t.Context(), o); err == nil || !strings.Contains(err.Error(), "gcloud dataflow jobs cancel "+left.Job.ID) {
		t.Error(err)
	}
	s, err := dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	replaced := left.Job
	replacing := o
	replacing.Update = true
	if _, err := execute(t.Context(), replacing); !errors.As(err, &left) {
		t.Fatal(err)
	}
	if j, err := s.jobs.Get(o.Project, o.Region, left.Job.ID).View("JOB_VIEW_ALL").Do(); err != nil || j.ReplaceJobId != replaced.ID {
		t.Errorf("error %v, %+v replaces another job than %s", err, j, replaced)
	}
	for _, j := range []*Job{replaced, left.Job} {
		if err := (&job{service: s, job: j}).cancel(t.Context()); err != nil {
			t.Error(err)
		}
	}
	replacing.Name = "none"
	if _, err := execute(t.Context(), replacing); err == nil || !strings.Contains(err.Error(), "drop --update") {
		t.Errorf("nothing to replace: %v", err)
	}
}

// TestOneFault checks that, whatever happens to one request, one job is submitted, and the run ends when the job does.
func TestOneFault(t *testing.T) {
	var requests atomic.Int64
	_, o := newCloud(t, func(_ *http.Request, n int) httpfault.Fault {
		requests.Store(int64(n))
		return httpfault.Fault{}
	})
	if _, err := execute(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if requests.Load() < 4 {
		t.Fatalf("%d requests", requests.Load())
	}
	for name, fault := range map[string]httpfault.Fault{
		"503": {Kind: httpfault.Error, Status: 503}, "429": {Kind: httpfault.Error, Status: 429},
		"reset": {Kind: httpfault.Reset}, "lost": {Kind: httpfault.Lost}, "cut": {Kind: httpfault.Cut, Bytes: 5},
	} {
		for n := range int(requests.Load()) {
			t.Run(fmt.Sprintf("%s, request %d", name, n+1), func(t *testing.T) {
				t.Parallel()
				c, o := newCloudParallel(t, func(_ *http.Request, now int) httpfault.Fault {
					if now == n+1 {
						return fault
					}
					return httpfault.Fault{}
				}, o)
				if _, err := execute(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				if jobs := c.Jobs(); len(jobs) != 1 || jobs[0].CurrentState != "JOB_STATE_DONE" {
					t.Errorf("%d jobs", len(jobs))
				}
			})
		}
	}
}

// newCloudParallel returns another service that uses the bucket of an existing cloud.
func newCloudParallel(t *testing.T, decide func(r *http.Request, n int) httpfault.Fault, o Options) (*fakedataflow.Server, Options) {
	t.Helper()
	s := &fakedataflow.Server{Project: "p1", Region: "europe-west1"}
	s.Run = func(context.Context, *df.Job) ([]*df.MetricUpdate, error) { return nil, nil }
	service := httptest.NewServer(&httpfault.Faults{Handler: s, Decide: decide, Refuse: fakedataflow.Refuse})
	t.Cleanup(func() {
		s.Wait()
		service.Close()
	})
	o.Endpoint = service.URL
	return s, o
}

// TestSoftDelete checks that a bucket that keeps removed objects is mentioned once, with the command that turns this
// off.
func TestSoftDelete(t *testing.T) {
	for kept, want := range map[time.Duration]int{0: 0, 7 * 24 * time.Hour: 1} {
		c, o := newCloud(t, nil)
		c.store.Retention = kept
		var said bytes.Buffer
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(&said, nil)))
		_, err := Connect(t.Context(), o)
		slog.SetDefault(before)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(said.String(), "for 7 days, including temporary ones, and you pay for this; to change it: gcloud storage buckets update gs://b --clear-soft-delete"); got != want {
			t.Errorf("kept for %v: said %d times:\n%s", kept, got, &said)
		}
	}
}

// TestMessages checks that each message of the service about a job is logged once, in order and with its level, however
// messages are paged, and that a failed step is reported as the cause in its own words.
func TestMessages(t *testing.T) {
	c, o := newCloud(t, nil)
	c.PageSize = 1
	const stack = "Error message from worker: generic::unknown: process bundle failed for instruction process_bundle-1 using plan S01-5 : while executing Process for Plan[S01-5]:\n" +
		"1: ParDo[main.read]\n\tcaused by:\nDoFn[UID:1, PID:e1, Name: main.outer] failed:\nDoFn[UID:4, PID:e4, Name: main.read] failed:\nthe file is broken"
	c.Run = func(_ context.Context, job *df.Job) ([]*df.MetricUpdate, error) {
		c.Say(job.Id, "JOB_MESSAGE_WARNING", "slow")
		c.Say(job.Id, "JOB_MESSAGE_DETAILED", "not told")
		time.Sleep(3 * firstPoll)
		return nil, errors.New(stack + "\f" + "Workflow failed. Causes: S01 failed")
	}
	var told []string
	o.Message = func(_ time.Time, level slog.Level, text string) {
		told = append(told, fmt.Sprintf("%v %s", level, strings.Split(text, "\n")[0]))
	}
	var last Progress
	o.Progress = func(p Progress) { last = p }
	_, err := execute(t.Context(), o)
	var step interface{ Cause() string }
	if !errors.As(err, &step) || step.Cause() != "the file is broken" || !strings.Contains(err.Error(), "Workflow failed") {
		t.Errorf("%v", err)
	}
	want := []string{"INFO Worker configuration:", "WARN slow", "ERROR " + strings.Split(stack, "\n")[0], "ERROR Workflow failed. Causes: S01 failed"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
	if !last.Ended || last.State != "JOB_STATE_FAILED" {
		t.Errorf("%+v", last)
	}
}

// TestPanic checks that, if a step panicked, the cause is the panic's message, without the stack.
func TestPanic(t *testing.T) {
	j := &job{job: &Job{ID: "1"}, errors: []string{"worker lost", "process bundle failed: panic: index out of range Full error:\n while goroutine 7 [running]:"}}
	var step interface{ Cause() string }
	if err := j.explain(); !errors.As(err, &step) || step.Cause() != "a step panicked: index out of range" {
		t.Error(err)
	}
	j = &job{job: &Job{ID: "1"}}
	if err := j.explain(); !errors.As(err, &step) || !strings.Contains(step.Cause(), "does not say why; see gcloud dataflow jobs describe 1") {
		t.Error(err)
	}
}

// TestTemplate checks that a job for a template is written and not submitted, and that it is followed once somebody
// else submits it, even if a later job has its name.
func TestTemplate(t *testing.T) {
	c, o := newCloud(t, nil)
	o.TemplateLocation, o.Name = "gs://b/launches/job_object", "from-template"
	_, err := execute(t.Context(), o)
	left := (*LeftError)(nil)
	if !errors.As(err, &left) || left.Job.ID != "" || len(c.Jobs()) > 0 {
		t.Fatalf("%v, %d jobs", err, len(c.Jobs()))
	}
	// The path of the job, as used for a lock and in the state of a run.
	at, ok := JobAt(left.Job.Path())
	parsed, err := ParseJob(left.Job.Encode())
	if err != nil || !ok || *parsed != *left.Job || at.Name != "from-template" || at.Project != "p1" || at.Region != "europe-west1" {
		t.Errorf("%+v, %+v, %v", at, parsed, err)
	}
	at.Endpoint = o.Endpoint
	if ended, err := Ended(t.Context(), at); !ended || err != nil {
		t.Errorf("before it is submitted: %v, %v", ended, err)
	}
	data, err := storage.ReadFile(t.Context(), o.TemplateLocation)
	if err != nil {
		t.Fatal(err)
	}
	s, err := dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	request := &df.Job{}
	if err := json.Unmarshal(data, request); err != nil {
		t.Fatal(err)
	}
	request.ClientRequestId = "the launcher's"
	created, err := s.create(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	c.Wait()
	request.ClientRequestId, request.Labels = "that of a later job of the name", nil
	if _, err := s.create(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	result, err := Follow(t.Context(), parsed, Options{})
	if err != nil || result.JobID() != created.Id {
		t.Errorf("%v, %v", result, err)
	}
	if ended, err := Ended(t.Context(), at); !ended || err != nil {
		t.Errorf("%v, %v", ended, err)
	}
}

// TestPath checks that paths are parsed as they are written, and that no other text is accepted.
func TestPath(t *testing.T) {
	for _, j := range []Job{{Project: "p", Region: "r", ID: "2026-1"}, {Project: "p", Region: "r", Name: "n", Launch: "l"}} {
		if got, ok := JobAt(j.Path()); !ok || *got != j {
			t.Errorf("%s is read as %+v", j.Path(), got)
		}
	}
	for _, path := range []string{"", "flink", "projects/p/locations/r/jobs", "projects/p/locations/r/jobs/", "projects/p/q/locations/r/jobs/1"} {
		if got, ok := JobAt(path); ok {
			t.Errorf("%q is read as %+v", path, got)
		}
	}
}
