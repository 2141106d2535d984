// Package dataflow runs Beam pipelines on Google Cloud Dataflow.
//
// The job that it submits is that of the SDK's own runner (dataflowlib). What is its own is all around: it takes
// options and not global flags, looks before it uploads anything whether the job can run, submits a job once however
// often the request is sent again, tells the service's messages, ends with the job's end, and can leave a job that
// another process then follows. docs/dataflow.md tells how it is used.
package dataflow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness/init" // a staged binary is the worker
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/resource"
	df "google.golang.org/api/dataflow/v1b3"
)

// Options are how Dataflow is to run a pipeline. Zero values are the service's defaults, unless said otherwise.
type Options struct {
	Project, Region string // must be given
	Staging         string // gs:// folder for the worker binary and the pipeline; must be given
	Temp            string // gs:// folder for the service's own files; "" is tmp in Staging
	Name            string // of the job; "" is one that no other has
	Worker          string // the binary that runs the steps; must be given
	Image           string // of the workers' containers; "" is that of the SDK

	MachineType         string
	Workers, MaxWorkers int64
	Threads             int64 // of a worker
	DiskGB              int64
	DiskType            string
	DiskIOPS            int64
	DiskThroughput      int64 // MiB/s
	Autoscaling         string
	FlexRSGoal          string
	Zone, WorkerRegion  string
	Network, Subnetwork string
	PrivateIPs          bool
	ServiceAccount      string
	KMSKey              string
	Labels              map[string]string
	Experiments         []string
	ServiceOptions      []string
	ResourceHints       resource.Hints

	// What the SDK's runner takes besides.
	TeardownPolicy string
	ImageOverrides map[string]string // a regular expression of images, and what replaces them
	Update         bool              // the job replaces the one of its name that runs

	// Endpoint is another address of the service.
	Endpoint string
	// Template is a file for the job, gs://, by which another submits it, as the launcher of flex templates does.
	Template string

	// Cancel is what Interrupted answers without asking.
	Cancel bool
	// Detach returns a *LeftError once the job is submitted.
	Detach bool
	// Submitted, if set, is called with the job's id.
	Submitted func(id string)
	// Message, if set, is called with what the service says of the job, in order.
	Message func(Message)
	// Progress, if set, is called whenever the service was asked, and when the job has ended.
	Progress func(Progress)
	// Interrupted is asked when ctx has ended whether to cancel the job; nil cancels it. A job that is not cancelled is
	// left: the error is a *LeftError.
	Interrupted func(ctx context.Context, id string) (cancel bool)
}

// Job is a job that was submitted.
type Job struct {
	Project  string `json:"project"`
	Region   string `json:"region"`
	Name     string `json:"name"`
	ID       string `json:"id,omitempty"`       // "" while only its name is known
	Launch   string `json:"launch,omitempty"`   // its label launchLabel, by which it is known then
	Endpoint string `json:"endpoint,omitempty"` // of the service, if it is another
	Model    string `json:"model"`              // the object that the pipeline is in
}

// String names the job as gcloud does.
func (j *Job) String() string { return cmp.Or(j.ID, j.Name) }

// Path is the service's path of the job.
func (j *Job) Path() string {
	if j.ID == "" {
		return fmt.Sprintf("projects/%s/locations/%s/jobs?name=%s&launch=%s", j.Project, j.Region, j.Name, j.Launch)
	}
	return fmt.Sprintf("projects/%s/locations/%s/jobs/%s", j.Project, j.Region, j.ID)
}

// paths are what Path makes.
var paths = regexp.MustCompile(
	`^projects/([^/?]+)/locations/([^/?]+)/jobs(?:/([^/?]+)|\?name=([^/?&]+)&launch=([^/?&]+))$`)

// JobAt is the job of a path, with what that says of it; ok is false if it is none.
func JobAt(path string) (j *Job, ok bool) {
	m := paths.FindStringSubmatch(path)
	if m == nil {
		return nil, false
	}
	return &Job{Project: m[1], Region: m[2], ID: m[3], Name: m[4], Launch: m[5]}, true
}

// Show is the command that shows the job.
func (j *Job) Show() string {
	if j.ID == "" {
		return fmt.Sprintf("gcloud dataflow jobs list --project %s --region %s --filter name=%s", j.Project, j.Region, j.Name)
	}
	return fmt.Sprintf("gcloud dataflow jobs describe %s --project %s --region %s", j.ID, j.Project, j.Region)
}

// Encode is the job as a text that ParseJob reads.
func (j *Job) Encode() string {
	text, err := json.Marshal(j)
	if err != nil {
		panic(err) // strings only
	}
	return string(text)
}

// ParseJob reads what Encode has written.
func ParseJob(text string) (*Job, error) {
	j := &Job{}
	if err := json.Unmarshal([]byte(text), j); err != nil {
		return nil, fmt.Errorf("%q is not a Dataflow job: %w", text, err)
	}
	if j.Project == "" || j.Region == "" || j.Name == "" {
		return nil, fmt.Errorf("%q is not a Dataflow job", text)
	}
	return j, nil
}

// Message is what the service says of a job.
type Message struct {
	Time     time.Time
	Severity Severity
	Text     string
}

// Severity is how much a message matters.
type Severity int

// The severities.
const (
	Info Severity = iota
	Warning
	Error
)

// Progress is how far a job is.
type Progress struct {
	Elapsed time.Duration
	State   string // as the service calls it: JOB_STATE_RUNNING
	Metrics metrics.Results
	Ended   bool // this is the last report, or the last before Interrupted is asked
}

// Result is what a job returns.
type Result struct {
	job     string
	metrics metrics.Results
}

// Metrics are the counters and distributions of DoFns.
func (r *Result) Metrics() metrics.Results { return r.metrics }

// JobID is the job's name in the service.
func (r *Result) JobID() string { return r.job }

// LeftError says that a job runs on, and that nobody here waits for it.
type LeftError struct {
	Job *Job
	err error // why
}

func (e *LeftError) Error() string {
	text := fmt.Sprintf("the Dataflow job %s continues", e.Job)
	if e.err != nil {
		return e.err.Error() + "; " + text
	}
	return text
}

func (e *LeftError) Unwrap() error { return e.err }

// Service is Dataflow, as of a project and a region.
type Service struct {
	options  Options
	jobs     *df.ProjectsLocationsJobsService
	replaces string // the id of a job
}

// Execute runs a pipeline and returns when it has ended, or is left.
func (s *Service) Execute(ctx context.Context, p *beam.Pipeline) (*Result, error) {
	if !beam.Initialized() {
		return nil, errors.New("dataflow: beam.Init must be called first")
	}
	j, err := s.submit(ctx, p)
	if err != nil {
		return nil, err
	}
	if s.options.Submitted != nil && j.job.ID != "" {
		s.options.Submitted(j.job.ID)
	}
	if s.options.Detach || j.job.ID == "" {
		return nil, &LeftError{Job: j.job}
	}
	return j.wait(ctx)
}
