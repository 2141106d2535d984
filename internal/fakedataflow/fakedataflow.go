// Package fakedataflow implements the REST API of Google Cloud Dataflow in memory, as far as a launcher of jobs needs
// it, with the tokens of a service account. It is strict: it refuses what it does not know.
//
// Comments name the authoritative page of https://cloud.google.com/dataflow/docs/reference/rest/v1b3.
package fakedataflow

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	df "google.golang.org/api/dataflow/v1b3"
)

// Server is the service for one project and one region. Set its fields before its first request.
type Server struct {
	Project, Region string
	// Run runs a job. If it returns an error, the job fails, with a message for each part of the error between form feeds.
	// When the job is cancelled, ctx ends.
	Run func(ctx context.Context, job *df.Job) ([]*df.MetricUpdate, error)
	// Ends, if set, is the final state of a job that Run ran without an error.
	Ends string
	// PageSize is the maximum number of jobs or messages on a page; 0 is 100.
	PageSize int

	mu      sync.Mutex
	jobs    []*job
	running sync.WaitGroup
	log     []Request
}

// token is the token that all requests must have.
const token = "fake-token"

type job struct {
	*df.Job
	messages []*df.JobMessage
	metrics  []*df.MetricUpdate
	cancel   context.CancelFunc
}

// Request is a request that was answered.
type Request struct {
	Method, Path string
	Query        url.Values
	Body         []byte
	Status       int
}

// Log returns the requests answered so far.
func (s *Server) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Jobs returns the jobs in their current state.
func (s *Server) Jobs() (jobs []df.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		jobs = append(jobs, *j.Job)
	}
	return jobs
}

// Wait returns when no job is running.
func (s *Server) Wait() { s.running.Wait() }

// Say adds a message to a job.
func (s *Server) Say(id, importance, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.Id == id {
			j.say(importance, text)
		}
	}
}

func (j *job) say(importance, text string) {
	j.messages = append(j.messages, &df.JobMessage{
		Id: strconv.Itoa(len(j.messages)), Time: time.Now().UTC().Format(time.RFC3339Nano),
		MessageImportance: importance, MessageText: text,
	})
}

// refusal is an error of the API.
type refusal struct {
	status  int
	reason  string
	message string
}

func (r *refusal) Error() string { return r.message }

func invalid(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, "INVALID_ARGUMENT", fmt.Sprintf(format, args...)}
}

// Refuse answers as the service does when it refuses a request with a status.
func Refuse(w http.ResponseWriter, _ *http.Request, status int) {
	write(w, status, refused(&refusal{status, "FAULT", http.StatusText(status)}))
}

// refused returns the body of a refusal (google.rpc.Status).
func refused(r *refusal) any {
	return map[string]any{"error": map[string]any{"code": r.status, "message": r.message, "status": r.reason}}
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails if the client has gone
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/token" {
		write(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600})
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, err := s.answer(r, body)
	status := http.StatusOK
	if err != nil {
		r := &refusal{http.StatusInternalServerError, "INTERNAL", err.Error()}
		errors.As(err, &r)
		answer, status = refused(r), r.status
	}
	s.log = append(s.log, Request{r.Method, r.URL.Path, r.URL.Query(), body, status})
	write(w, status, answer)
}

// answer routes a request.
func (s *Server) answer(r *http.Request, body []byte) (any, error) {
	if r.Header.Get("Authorization") != "Bearer "+token {
		return nil, &refusal{http.StatusUnauthorized, "UNAUTHENTICATED", "Request had invalid authentication credentials."}
	}
	rest, ok := strings.CutPrefix(r.URL.Path, fmt.Sprintf("/v1b3/projects/%s/locations/", s.Project))
	if !ok {
		return nil, &refusal{http.StatusForbidden, "PERMISSION_DENIED", "The caller does not have permission"}
	}
	rest, ok = strings.CutPrefix(rest, s.Region+"/jobs")
	if !ok {
		return nil, &refusal{http.StatusNotFound, "NOT_FOUND", "The workflow location could not be found."}
	}
	query := r.URL.Query()
	known := func(names ...string) error {
		for name := range query {
			if !slices.Contains(append(names, "alt", "prettyPrint"), name) {
				return invalid("unknown parameter %q", name)
			}
		}
		return nil
	}
	id, sub, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	switch {
	case id == "" && r.Method == http.MethodPost:
		return refuse(known(), func() (any, error) { return s.create(body) })
	case id == "" && r.Method == http.MethodGet:
		return refuse(known("filter", "name", "pageToken"), func() (any, error) { return s.list(query) })
	}
	i := slices.IndexFunc(s.jobs, func(j *job) bool { return j.Id == id })
	if i < 0 {
		return nil, &refusal{http.StatusNotFound, "NOT_FOUND",
			fmt.Sprintf("(d0e1): Information about job %s could not be found in our system.", id)}
	}
	j := s.jobs[i]
	switch {
	case sub == "" && r.Method == http.MethodGet:
		return refuse(known("view"), func() (any, error) { return j.view(query.Get("view")) })
	case sub == "" && r.Method == http.MethodPut:
		return refuse(known(), func() (any, error) { return j.update(body) })
	case sub == "messages" && r.Method == http.MethodGet:
		return refuse(known("minimumImportance", "startTime", "pageToken"),
			func() (any, error) { return s.listMessages(j, query) })
	case sub == "metrics" && r.Method == http.MethodGet:
		return refuse(known(), func() (any, error) { return &df.JobMetrics{Metrics: j.metrics}, nil })
	}
	return nil, &refusal{http.StatusNotFound, "NOT_FOUND", r.Method + " " + r.URL.Path + " is not known"}
}

func refuse(err error, do func() (any, error)) (any, error) {
	if err != nil {
		return nil, err
	}
	return do()
}

// name matches the name of a job (projects.locations.jobs, Job.name).
var name = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// create starts a job (projects.locations.jobs/create).
func (s *Server) create(body []byte) (any, error) {
	made := &df.Job{}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(made); err != nil {
		return nil, invalid("%v", err)
	}
	switch e := made.Environment; {
	case made.Id != "" || made.CurrentState != "":
		return nil, invalid("(c0): what the service sets was set")
	case made.ProjectId != s.Project:
		return nil, invalid("(c1): the job is of project %q", made.ProjectId)
	case !name.MatchString(made.Name) || len(made.Name) > 1024:
		return nil, invalid("(c2): job name %q", made.Name)
	case made.Type != "JOB_TYPE_BATCH":
		return nil, invalid("(c3): job type %q", made.Type)
	case e == nil || !strings.HasPrefix(e.TempStoragePrefix, "gs://"):
		return nil, invalid("(c4): the workflow needs a temp location")
	case len(e.WorkerPools) != 1 || e.WorkerPools[0].Kind != "harness" ||
		len(e.WorkerPools[0].SdkHarnessContainerImages) != 1:
		return nil, invalid("(c5): one pool of workers, of one image, is needed")
	}
	for _, j := range s.jobs {
		if j.Name == made.Name && (!ended(j.CurrentState) && made.ReplaceJobId != j.Id ||
			made.ClientRequestId != "" && j.ClientRequestId == made.ClientRequestId) {
			return nil, &refusal{http.StatusConflict, "ALREADY_EXISTS",
				fmt.Sprintf("(c6): The workflow could not be created. Causes: (c7): There is already an active job named %s.",
					made.Name)}
		}
	}
	made.Id = fmt.Sprintf("2026-11-22_00_00_%02d-%d", len(s.jobs), 1000+len(s.jobs))
	made.CreateTime = time.Now().UTC().Format(time.RFC3339Nano)
	made.Location = s.Region
	made.CurrentState = "JOB_STATE_PENDING"
	ctx, cancel := context.WithCancel(context.Background())
	j := &job{Job: made, cancel: cancel}
	s.jobs = append(s.jobs, j)
	copied := *made
	s.running.Go(func() { s.run(ctx, j, &copied) })
	return &copied, nil
}

// run runs a job to its end.
func (s *Server) run(ctx context.Context, j *job, copied *df.Job) {
	defer j.cancel()
	set := func(do func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		do()
	}
	set(func() {
		j.CurrentState = "JOB_STATE_RUNNING"
		j.say("JOB_MESSAGE_BASIC", "Worker configuration: "+copied.Environment.WorkerPools[0].MachineType)
		j.say("JOB_MESSAGE_DEBUG", "of no interest")
	})
	metrics, err := s.Run(ctx, copied)
	set(func() {
		j.metrics = metrics
		switch {
		case ctx.Err() != nil:
			j.CurrentState = "JOB_STATE_CANCELLED"
		case err != nil:
			for text := range strings.SplitSeq(err.Error(), "\f") {
				j.say("JOB_MESSAGE_ERROR", text)
			}
			j.CurrentState = "JOB_STATE_FAILED"
		default:
			j.CurrentState = cmp.Or(s.Ends, "JOB_STATE_DONE")
		}
	})
}

func ended(state string) bool {
	return slices.Contains([]string{"JOB_STATE_DONE", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED",
		"JOB_STATE_DRAINED", "JOB_STATE_UPDATED"}, state)
}

// update changes the requested state of a job (projects.locations.jobs/update).
func (j *job) update(body []byte) (any, error) {
	asked := &df.Job{}
	if err := json.Unmarshal(body, asked); err != nil {
		return nil, invalid("%v", err)
	}
	if asked.RequestedState != "JOB_STATE_CANCELLED" {
		return nil, invalid("requested state %q", asked.RequestedState)
	}
	if ended(j.CurrentState) {
		return nil, &refusal{http.StatusBadRequest, "FAILED_PRECONDITION", "The job has ended."}
	}
	j.RequestedState, j.CurrentState = asked.RequestedState, "JOB_STATE_CANCELLING"
	j.cancel()
	return j.Job, nil
}

// page returns the page of all that begins at token, and the token of the next page.
func page[T any](s *Server, all []T, token string) (part []T, next string, err error) {
	from := 0
	if token != "" {
		if from, err = strconv.Atoi(token); err != nil || from < 0 || from > len(all) {
			return nil, "", invalid("page token %q", token)
		}
	}
	to := min(len(all), from+cmp.Or(s.PageSize, 100))
	if to < len(all) {
		next = strconv.Itoa(to)
	}
	return all[from:to], next, nil
}

// view returns a view of a job (JobView): UNKNOWN promises no more than a summary.
func (j *job) view(view string) (any, error) {
	switch view {
	case "", "JOB_VIEW_UNKNOWN", "JOB_VIEW_SUMMARY":
		return j.summary(), nil
	case "JOB_VIEW_ALL":
		return j.Job, nil
	}
	return nil, invalid("view %q", view)
}

// summary returns what JOB_VIEW_SUMMARY shows of a job.
func (j *job) summary() *df.Job {
	return &df.Job{
		ProjectId: j.ProjectId, Location: j.Location, Id: j.Id, Name: j.Name, Type: j.Type,
		CurrentState: j.CurrentState, RequestedState: j.RequestedState, CreateTime: j.CreateTime,
	}
}

// list lists summaries of jobs, the latest first (projects.locations.jobs/list).
func (s *Server) list(query url.Values) (any, error) {
	filter := query.Get("filter")
	if !slices.Contains([]string{"", "UNKNOWN", "ALL", "ACTIVE", "TERMINATED"}, filter) {
		return nil, invalid("filter %q", filter)
	}
	var found []*df.Job
	for _, j := range slices.Backward(s.jobs) {
		if n := query.Get("name"); n != "" && n != j.Name || filter == "ACTIVE" && ended(j.CurrentState) ||
			filter == "TERMINATED" && !ended(j.CurrentState) {
			continue
		}
		found = append(found, j.summary())
	}
	part, next, err := page(s, found, query.Get("pageToken"))
	return &df.ListJobsResponse{Jobs: part, NextPageToken: next}, err
}

// importances of messages, the lowest first (JobMessageImportance).
var importances = []string{"", "JOB_MESSAGE_DEBUG", "JOB_MESSAGE_DETAILED", "JOB_MESSAGE_BASIC",
	"JOB_MESSAGE_WARNING", "JOB_MESSAGE_ERROR"}

// listMessages lists messages, the earliest first (projects.locations.jobs.messages/list).
func (s *Server) listMessages(j *job, query url.Values) (any, error) {
	least := slices.Index(importances, query.Get("minimumImportance"))
	if least < 0 {
		return nil, invalid("importance %q", query.Get("minimumImportance"))
	}
	var found []*df.JobMessage
	for _, m := range j.messages {
		if slices.Index(importances, m.MessageImportance) >= least && m.Time >= query.Get("startTime") {
			found = append(found, m)
		}
	}
	part, next, err := page(s, found, query.Get("pageToken"))
	return &df.ListJobMessagesResponse{JobMessages: part, NextPageToken: next}, err
}
