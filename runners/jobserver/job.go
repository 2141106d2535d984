package jobserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/metricsx"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"

	"github.com/neardup/neardup/runners/remote"
)

// job is a submitted pipeline.
type job struct {
	server *Server
	id     string
	model  *pipepb.Pipeline
	begun  time.Time
}

const (
	tick = 500 * time.Millisecond // between reports of progress
	// restEvery is how often Flink is asked for progress.
	restEvery = 5 * time.Second
	// grace is how long to wait for messages after the job has ended, and for the end after cancelling it.
	grace = 15 * time.Second
)

// wait follows the job to its end, and cancels the job when ctx ends.
func (j *job) wait(ctx context.Context) (*remote.Result, error) {
	if f := j.server.options.Submitted; f != nil {
		f(j.id)
	}
	// The job outlives ctx: after cancelling it, wait still waits for its end.
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	updates := make(chan update)
	go j.follow(following, updates)

	progress := j.server.options.Progress
	if progress == nil {
		progress = func(Progress) {}
	}
	now := Progress{State: jobpb.JobState_STARTING.String()}
	defer func() {
		now.Elapsed, now.Ended = time.Since(j.begun), true
		progress(now)
	}()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var (
		end       jobpb.JobState_Enum // once known
		messages  []string            // errors, the latest last
		asked     time.Duration       // when Flink was last asked for progress
		interrupt = ctx.Done()
		deadline  <-chan time.Time
	)
	for {
		select {
		case u := <-updates:
			switch {
			case u.err != nil:
				return j.ended(ctx, end, messages, u.err)
			case u.message != "":
				messages = append(messages, u.message)
			default:
				now.State = u.state.String()
				if terminal(u.state) && end == 0 {
					end = u.state
					deadline = time.After(grace)
				}
			}
			if end != 0 && (end != jobpb.JobState_FAILED || len(messages) > 0) {
				return j.ended(ctx, end, messages, nil)
			}
		case <-ticker.C:
			now.Elapsed = time.Since(j.begun)
			if r := j.server.rest; r != nil && now.Elapsed > asked+restEvery {
				asked = now.Elapsed
				now.Tasks, now.Of = r.tasks(ctx, j.id)
			}
			progress(now)
		case <-interrupt:
			interrupt, deadline = nil, time.After(grace)
			cancel, done := context.WithTimeout(following, grace)
			_, err := j.server.client.Cancel(cancel, &jobpb.CancelJobRequest{JobId: j.id})
			done()
			if err != nil {
				return nil, fmt.Errorf("%w; job %s could not be cancelled: %w; it may still be running; cancel it on the cluster",
					ctx.Err(), j.id, err)
			}
		case <-deadline:
			return j.ended(ctx, end, messages, fmt.Errorf("job %s did not end within %v of being cancelled", j.id, grace))
		}
	}
}

// ended returns the result of the job's end; broken says why no more news of it will come.
func (j *job) ended(
	ctx context.Context, end jobpb.JobState_Enum, messages []string, broken error,
) (*remote.Result, error) {
	switch {
	case ctx.Err() != nil && end == 0:
		return nil, fmt.Errorf("%w; %w; it may still be running; cancel it on the cluster", ctx.Err(), broken)
	case ctx.Err() != nil && end != jobpb.JobState_DONE:
		return nil, ctx.Err()
	case end == 0:
		return nil, fmt.Errorf("lost contact with job %s: %w; it may still be running on the cluster; cancel it there",
			j.id, broken)
	case end == jobpb.JobState_DONE:
		result, err := j.result(context.WithoutCancel(ctx))
		if err != nil {
			return nil, fmt.Errorf("job %s is done, but its counters cannot be read: %w", j.id, err)
		}
		return result, nil
	case end == jobpb.JobState_CANCELLED:
		return nil, fmt.Errorf("job %s was cancelled on the cluster", j.id)
	default:
		return nil, j.explain(strings.Join(messages, "\n"))
	}
}

// update is news of a job from the server: a state, the text of an error, or why no more news will come.
type update struct {
	state   jobpb.JobState_Enum
	message string
	err     error
}

// follow sends the server's news of the job, up to an error.
func (j *job) follow(ctx context.Context, updates chan<- update) {
	send := func(u update) {
		select {
		case updates <- u:
		case <-ctx.Done():
		}
	}
	stream, err := j.server.client.GetMessageStream(ctx, &jobpb.JobMessagesRequest{JobId: j.id})
	for err == nil {
		var response *jobpb.JobMessagesResponse
		if response, err = stream.Recv(); err != nil {
			break
		}
		if s := response.GetStateResponse(); s != nil {
			send(update{state: s.GetState()})
		}
		if m := response.GetMessageResponse(); m.GetImportance() >= jobpb.JobMessage_JOB_MESSAGE_ERROR &&
			m.GetMessageText() != "" {
			send(update{message: m.GetMessageText()})
		}
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the job server closed the connection")
	}
	send(update{err: err})
}

func terminal(s jobpb.JobState_Enum) bool {
	return s == jobpb.JobState_DONE || s == jobpb.JobState_FAILED || s == jobpb.JobState_CANCELLED
}

// result asks for the job's counters, which Flink's server reports only at the end.
func (j *job) result(ctx context.Context) (*remote.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	response, err := j.server.client.GetJobMetrics(ctx, &jobpb.GetJobMetricsRequest{JobId: j.id})
	if err != nil {
		return nil, err
	}
	m := response.GetMetrics()
	counts := metricsx.FromMonitoringInfos(j.model, m.GetAttempted(), m.GetCommitted())
	return &remote.Result{ID: j.id, Counts: *counts}, nil
}
