package dataflow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/auth"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow/dataflowlib"
	df "google.golang.org/api/dataflow/v1b3"
	"google.golang.org/api/googleapi"
	"google.golang.org/protobuf/proto"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/runners/remote"
)

// How long to repeat requests to the service: before a job exists, and about a running job.
const (
	startPatience  = time.Minute
	followPatience = 15 * time.Minute
)

// Pauses between requests for news: short ones first, then longer ones.
const (
	firstPoll = 250 * time.Millisecond
	lastPoll  = 10 * time.Second
)

// cancelPatience is how long a cancelled job may take to end.
const cancelPatience = 10 * time.Minute

// ask calls do, which sends a request to the service, and repeats it if that may help, for as long as patience allows.
func (s *Service) ask(
	ctx context.Context, doing string, patience time.Duration, do func(ctx context.Context) error,
) error {
	begun := time.Now()
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		err := do(ctx)
		if err == nil || ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		if !temporary(err) || time.Since(begun)+pause > patience {
			return s.refusal(doing, err)
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// temporary reports whether a request may succeed if it is repeated.
func temporary(err error) bool {
	var token *auth.Error
	if errors.As(err, &token) { // may be in a *url.Error, so check it first
		return token.Temporary()
	}
	var refused *googleapi.Error
	if errors.As(err, &refused) {
		return refused.Code >= http.StatusInternalServerError || refused.Code == http.StatusTooManyRequests ||
			refused.Code == http.StatusRequestTimeout
	}
	var network interface{ Timeout() bool } // as of net.Error, which *url.Error implements
	return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// job is a job being followed.
type job struct {
	service *Service
	job     *Job
	model   *pipepb.Pipeline
	begun   time.Time

	state  string
	logged map[string]bool // messages that have been passed on
	latest string          // time of the last of them
	errors []string        // error messages
	latestMetrics
}

type latestMetrics struct {
	results metrics.Results
	asked   time.Time
}

// Follow follows a job that another process has submitted to its end.
func Follow(ctx context.Context, of *Job, o Options) (*remote.Result, error) {
	s, found, err := of.find(ctx, o)
	if err != nil {
		return nil, err
	}
	identified := *of
	identified.ID = found.Id
	data, err := storage.ReadFile(ctx, of.Model)
	if err != nil {
		return nil, err
	}
	model := &pipepb.Pipeline{}
	if err := proto.Unmarshal(data, model); err != nil {
		return nil, fmt.Errorf("%s is not a pipeline: %w", of.Model, err)
	}
	begun, err := time.Parse(time.RFC3339Nano, found.CreateTime)
	if err != nil {
		begun = time.Now()
	}
	return newJob(s, &identified, model, begun).wait(ctx)
}

func newJob(s *Service, of *Job, model *pipepb.Pipeline, begun time.Time) *job {
	return &job{service: s, job: of, model: model, begun: begun, logged: map[string]bool{}}
}

// Ended reports whether a job has ended, or is no longer known to the service.
func Ended(ctx context.Context, of *Job) (bool, error) {
	_, found, err := of.find(ctx, Options{})
	if refused := (*RefusedError)(nil); errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return terminal(found.CurrentState), nil
}

// find asks the service for a job. If its id is not known, it looks for its name and label.
func (j *Job) find(ctx context.Context, o Options) (s *Service, found *df.Job, err error) {
	o.Project, o.Region, o.Endpoint = j.Project, j.Region, j.Endpoint
	if s, err = dial(ctx, o); err != nil {
		return nil, nil, err
	}
	if j.ID != "" {
		err = s.ask(ctx, "asking for job "+j.ID, startPatience, func(ctx context.Context) (err error) {
			found, err = s.jobs.Get(j.Project, j.Region, j.ID).Context(ctx).Do()
			return err
		})
		return s, found, err
	}
	named, err := s.named(ctx, j.Name, "UNKNOWN")
	if err == nil {
		found, err = s.first(ctx, named, func(d *df.Job) bool { return d.Labels[launchLabel] == j.Launch })
	}
	if err == nil && found == nil {
		err = &RefusedError{Status: http.StatusNotFound, text: fmt.Sprintf(
			"there is no Dataflow job named %s with the label %s=%s in %s; see %s",
			j.Name, launchLabel, j.Launch, j.Region, j.Show())}
	}
	return s, found, err
}

// terminal reports whether a state is final.
func terminal(state string) bool {
	switch state {
	case "JOB_STATE_DONE", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED", "JOB_STATE_DRAINED", "JOB_STATE_UPDATED":
		return true
	}
	return false
}

// wait follows the job to its end. When ctx ends, the job is cancelled or left.
func (j *job) wait(ctx context.Context) (*remote.Result, error) {
	o := &j.service.options
	// The job outlives ctx: after cancelling it, wait still waits for its end.
	following := context.WithoutCancel(ctx)
	asking, interrupt := ctx, true
	var until time.Time // when a cancelled job must have ended
	defer func() { j.report(true) }()
	for pause := firstPoll; ; pause = min(pause*5/4, lastPoll) {
		if ctx.Err() != nil && interrupt {
			interrupt, asking = false, following
			j.report(true) // Interrupted may ask a question next
			if o.Interrupted != nil && !o.Interrupted(ctx, j.job.ID) {
				return nil, &LeftError{Job: j.job, err: ctx.Err()}
			}
			err := j.cancel(following)
			if refused := (*RefusedError)(nil); errors.As(err, &refused) && refused.Status == http.StatusBadRequest &&
				j.look(following) == nil && terminal(j.state) {
				return j.ended(ctx) // there was nothing left to cancel
			}
			if err != nil {
				return nil, &LeftError{Job: j.job, err: fmt.Errorf("%w; %w", ctx.Err(), err)}
			}
			until, pause = time.Now().Add(cancelPatience), firstPoll
		}
		err := j.look(asking)
		switch {
		case ctx.Err() != nil && interrupt:
			continue
		case err != nil:
			return nil, &LeftError{Job: j.job, err: fmt.Errorf("lost contact with the job: %w", err)}
		case terminal(j.state):
			return j.ended(ctx)
		case !until.IsZero() && time.Now().After(until):
			return nil, &LeftError{Job: j.job, err: fmt.Errorf("%w; the job did not end within %v of being cancelled",
				ctx.Err(), cancelPatience)}
		}
		j.report(false)
		sleep(asking, pause) //nolint:errcheck // the loop looks at ctx
	}
}

// look asks for the job's state and messages. An error means that no more news of it can be had.
func (j *job) look(ctx context.Context) error {
	var now *df.Job
	err := j.service.ask(ctx, "asking for job "+j.job.ID, followPatience, func(ctx context.Context) (err error) {
		now, err = j.service.jobs.Get(j.job.Project, j.job.Region, j.job.ID).Context(ctx).Do()
		return err
	})
	if err != nil {
		return err
	}
	j.state = now.CurrentState
	err = j.listen(ctx)
	if err == nil && (terminal(j.state) || time.Since(j.asked) > lastPoll) {
		err = j.count(ctx)
	}
	return err
}

// listen passes on new messages.
func (j *job) listen(ctx context.Context) error {
	var all []*df.JobMessage
	err := j.service.ask(ctx, "asking for messages of job "+j.job.ID, followPatience, func(ctx context.Context) error {
		all = nil
		call := j.service.jobs.Messages.List(j.job.Project, j.job.Region, j.job.ID).MinimumImportance("JOB_MESSAGE_BASIC")
		if j.latest != "" {
			call.StartTime(j.latest)
		}
		return call.Pages(ctx, func(page *df.ListJobMessagesResponse) error {
			all = append(all, page.JobMessages...)
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, m := range all {
		if !j.logged[m.Time+m.Id] {
			j.logged[m.Time+m.Id] = true
			j.latest = max(j.latest, m.Time)
			j.tell(m)
		}
	}
	return nil
}

func (j *job) tell(m *df.JobMessage) {
	level, text := slog.LevelInfo, strings.TrimSpace(m.MessageText)
	switch m.MessageImportance {
	case "JOB_MESSAGE_ERROR":
		level = slog.LevelError
		if !slices.Contains(j.errors, text) {
			j.errors = append(j.errors, text)
		}
	case "JOB_MESSAGE_WARNING":
		level = slog.LevelWarn
	}
	if tell := j.service.options.Message; tell != nil {
		at, _ := time.Parse(time.RFC3339Nano, m.Time)
		tell(at, level, text)
	}
}

// count asks for the job's counters.
func (j *job) count(ctx context.Context) error {
	var counted *df.JobMetrics
	err := j.service.ask(ctx, "asking for counters of job "+j.job.ID, followPatience,
		func(ctx context.Context) (err error) {
			counted, err = j.service.jobs.GetMetrics(j.job.Project, j.job.Region, j.job.ID).Context(ctx).Do()
			return err
		})
	if err != nil {
		return err
	}
	j.latestMetrics = latestMetrics{*dataflowlib.FromMetricUpdates(counted.Metrics, j.model), time.Now()}
	return nil
}

func (j *job) report(ended bool) {
	if report := j.service.options.Progress; report != nil {
		report(Progress{Elapsed: time.Since(j.begun), State: j.state, Metrics: j.results, Ended: ended})
	}
}

// cancel asks the service to cancel the job.
func (j *job) cancel(ctx context.Context) error {
	return j.service.ask(ctx, "cancelling job "+j.job.ID, startPatience, func(ctx context.Context) error {
		_, err := j.service.jobs.Update(j.job.Project, j.job.Region, j.job.ID,
			&df.Job{RequestedState: "JOB_STATE_CANCELLED"}).Context(ctx).Do()
		return err
	})
}

// ended returns the result of the job's end.
func (j *job) ended(ctx context.Context) (*remote.Result, error) {
	switch {
	case j.state == "JOB_STATE_DONE":
		return &remote.Result{ID: j.job.ID, Counts: j.results}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case j.state == "JOB_STATE_FAILED":
		return nil, j.explain()
	default:
		return nil, fmt.Errorf("the Dataflow job %s did not finish: its state is %s; see %s",
			j.job.ID, j.state, j.job.Show())
	}
}
