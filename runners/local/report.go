package local

import (
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
)

// Report says what a run used, by stage in planning order.
type Report struct {
	Seconds float64       `json:"seconds"`
	Spilled int64         `json:"spilled"` // bytes written to disk, compressed
	Stages  []StageReport `json:"stages"`
}

// StageReport says what one stage used.
type StageReport struct {
	Name     string  `json:"name"`     // of its first transform
	Bundles  int64   `json:"bundles"`  // executed
	Elements int64   `json:"elements"` // read; a group counts as one
	Written  int64   `json:"written"`  // elements that left the stage for another
	Bytes    int64   `json:"bytes"`    // of those, encoded
	Element  int64   `json:"element"`  // bytes of the largest written element
	Group    int64   `json:"group"`    // bytes of the values of the largest group read
	Spilled  int64   `json:"spilled"`  // bytes written to disk while it ran, compressed
	CPU      float64 `json:"cpu"`      // CPU seconds of the process, divided evenly among concurrent bundles
	Seconds  float64 `json:"seconds"`  // from its first bundle to its end
}

// Result is the result of Execute.
type Result struct {
	metrics metrics.Results
	report  Report
}

// Metrics returns the counters and distributions of DoFns.
func (r *Result) Metrics() metrics.Results { return r.metrics }

// JobID returns "": nobody else knows the job.
func (r *Result) JobID() string { return "" }

// Report returns what the run used.
func (r *Result) Report() Report { return r.report }

// Progress is the progress of a run.
type Progress struct {
	Elapsed time.Duration
	Done    int // stages that have ended
	Stages  int
	Running []StageProgress
	Ahead   []string        // names of the stages that have not yet begun
	Metrics metrics.Results // counts of DoFns so far
	Ended   bool            // this is the last report, after success or failure
}

// StageProgress is the progress of a stage.
type StageProgress struct {
	Name     string
	Elapsed  time.Duration
	Elements int64   // read so far
	Fraction float64 // of its input that has been taken, 0 to 1
}

const reportEvery = 500 * time.Millisecond

// report calls the progress hook regularly until stop is called.
func (j *job) report() (stop func()) {
	hook := j.options.Progress
	if hook == nil {
		return func() {}
	}
	begun, done, ended := time.Now(), make(chan struct{}), make(chan struct{})
	tell := func() error {
		for ticker := time.NewTicker(reportEvery); ; {
			select {
			case <-ticker.C:
				hook(j.progress(time.Since(begun)))
			case <-done:
				ticker.Stop()
				last := j.progress(time.Since(begun))
				last.Ended = true
				hook(last)
				return nil
			}
		}
	}
	go func() {
		defer close(ended)
		j.guard(tell)
	}()
	return func() { close(done); <-ended }
}

func (j *job) progress(elapsed time.Duration) Progress {
	j.mu.Lock()
	defer j.mu.Unlock()
	var stores []*metrics.Store
	p := Progress{Elapsed: elapsed, Done: len(j.stages) - j.pending, Stages: len(j.stages)}
	for _, s := range j.stages {
		for _, i := range s.all {
			stores = append(stores, metrics.GetStore(i.ctx))
		}
		if s.source == nil {
			p.Ahead = append(p.Ahead, s.Name)
		}
		if s.source == nil || s.ended {
			continue
		}
		taken, all := s.source.progress()
		running := StageProgress{Name: s.Name, Elapsed: time.Since(s.begun), Elements: s.report.Elements,
			Fraction: float64(taken) / float64(max(all, 1))}
		for _, i := range s.all {
			if i.busy {
				running.Elements += s.read(i)
			}
		}
		p.Running = append(p.Running, running)
	}
	p.Metrics = j.metrics.and(stores).results()
	return p
}

// summarise completes the report of a stage that has ended.
func (j *job) summarise(s *stage) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s.ended = true
	s.report.Seconds = time.Since(s.begun).Seconds()
}

// result returns the job's result.
func (j *job) result(elapsed time.Duration) *Result {
	r := &Result{metrics: j.metrics.results(), report: Report{Seconds: elapsed.Seconds(), Spilled: j.dir.Written()}}
	for _, s := range j.stages {
		for _, c := range s.Outputs {
			elements, bytes := j.data[c].Totals()
			s.report.Written += elements
			s.report.Bytes += bytes
			s.report.Element = max(s.report.Element, j.data[c].largest.Load())
		}
		if groups, ok := s.source.(*groupSource); ok {
			s.report.Group = groups.largest.Load()
		}
		s.report.CPU, s.report.Spilled = j.meter.of(s)
		r.report.Stages = append(r.report.Stages, s.report)
	}
	return r
}
