// Package dataflow runs Beam pipelines on Google Cloud Dataflow.
//
// It submits the same job as the SDK's own runner (dataflowlib), but in addition it takes options instead of global
// flags, checks that the job can run before it uploads anything, submits a job only once however often the request is
// sent again, passes on the service's messages, returns when the job ends, and can leave a job for another process to
// follow. docs/dataflow.md explains its use.
package dataflow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness/init" // a staged binary is the worker
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/resource"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow/dataflowlib"
	df "google.golang.org/api/dataflow/v1b3"

	"github.com/neardup/neardup/runners/remote"
)

// Options say how Dataflow is to run a pipeline. Zero values are the service's defaults, unless stated otherwise.
type Options struct {
	// JobOptions are those of the SDK's runner. Project, Region and Worker, the binary that runs the steps, are required;
	// without TempLocation, the service's own files are in tmp in Staging. TemplateLocation is a gs:// file for the job,
	// from which another program submits it, as the launcher of flex templates does.
	dataflowlib.JobOptions
	Staging        string // gs:// folder for the worker binary and the pipeline; required
	ResourceHints  resource.Hints
	ImageOverrides map[string]string // by regular expressions of images, their replacements

	// Endpoint is another address of the service.
	Endpoint string

	// Cancel answers for Interrupted without asking.
	Cancel bool
	// Detach makes Execute return a *LeftError once the job is submitted.
	Detach bool
	// Submitted, if set, is called with the job's id.
	Submitted func(id string)
	// Message, if set, is called with the service's messages about the job, in order.
	Message func(at time.Time, level slog.Level, text string)
	// Progress, if set, is called after each request for news, and once more when the job has ended.
	Progress func(Progress)
	// Interrupted is called when ctx has ended and reports whether to cancel the job; nil cancels it. A job that is not
	// cancelled continues: the error is a *LeftError.
	Interrupted func(ctx context.Context, id string) (cancel bool)
}

// Job is a submitted job.
type Job struct {
	Project  string `json:"project"`
	Region   string `json:"region"`
	Name     string `json:"name"`
	ID       string `json:"id,omitempty"`       // "" while only the name is known
	Launch   string `json:"launch,omitempty"`   // value of its label launchLabel, which identifies it until then
	Endpoint string `json:"endpoint,omitempty"` // of the service, if not the default
	Model    string `json:"model"`              // object that holds the pipeline
}

// String names the job as gcloud does.
func (j *Job) String() string { return cmp.Or(j.ID, j.Name) }

// Path returns the service's path of the job.
func (j *Job) Path() string {
	if j.ID == "" {
		return fmt.Sprintf("projects/%s/locations/%s/jobs?name=%s&launch=%s", j.Project, j.Region, j.Name, j.Launch)
	}
	return fmt.Sprintf("projects/%s/locations/%s/jobs/%s", j.Project, j.Region, j.ID)
}

// paths matches the results of Path.
var paths = regexp.MustCompile(
	`^projects/([^/?]+)/locations/([^/?]+)/jobs(?:/([^/?]+)|\?name=([^/?&]+)&launch=([^/?&]+))$`)

// JobAt returns the job at a path, as far as the path identifies it; ok is false if the path is not a job's.
func JobAt(path string) (j *Job, ok bool) {
	m := paths.FindStringSubmatch(path)
	if m == nil {
		return nil, false
	}
	return &Job{Project: m[1], Region: m[2], ID: m[3], Name: m[4], Launch: m[5]}, true
}

// Show returns the command that shows the job.
func (j *Job) Show() string {
	if j.ID == "" {
		return fmt.Sprintf("gcloud dataflow jobs list --project %s --region %s --filter name=%s", j.Project, j.Region, j.Name)
	}
	return fmt.Sprintf("gcloud dataflow jobs describe %s --project %s --region %s", j.ID, j.Project, j.Region)
}

// Encode returns the job as a text for ParseJob.
func (j *Job) Encode() string {
	text, err := json.Marshal(j)
	if err != nil {
		panic(err) // impossible: all fields are strings
	}
	return string(text)
}

// ParseJob parses a text that Encode has returned.
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

// Progress is the progress of a job.
type Progress struct {
	Elapsed time.Duration
	State   string // in the service's terms, such as JOB_STATE_RUNNING
	Metrics metrics.Results
	Ended   bool // this is the last report, or the last before Interrupted is asked
}

// LeftError says that a job continues, and that this process no longer waits for it.
type LeftError struct {
	Job *Job
	err error // the reason, or nil
}

func (e *LeftError) Error() string {
	text := fmt.Sprintf("Dataflow job %s continues", e.Job)
	if e.err != nil {
		return e.err.Error() + "; " + text
	}
	return text
}

func (e *LeftError) Unwrap() error { return e.err }

// Service is Dataflow for one project and region.
type Service struct {
	options  Options
	jobs     *df.ProjectsLocationsJobsService
	replaces string // id of the job that this one replaces
}

// Execute runs a pipeline and returns when the job has ended or is left.
func (s *Service) Execute(ctx context.Context, p *beam.Pipeline) (*remote.Result, error) {
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
