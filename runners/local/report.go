package local

import (
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
)

// Report is what a run took, by stage in the order of planning.
type Report struct {
	Seconds float64       `json:"seconds"`
	Spilled int64         `json:"spilled"` // bytes written to disk, compressed
	Stages  []StageReport `json:"stages"`
}

// StageReport is what one stage took.
type StageReport struct {
	Name     string  `json:"name"`     // of its first transform
	Bundles  int64   `json:"bundles"`  // executed
	Elements int64   `json:"elements"` // read: for a group one
	Written  int64   `json:"written"`  // elements that left the stage for another
	Bytes    int64   `json:"bytes"`    // of those, encoded
	Element  int64   `json:"element"`  // bytes of the largest of those
	Group    int64   `json:"group"`    // bytes of the values of the largest group read
	Spilled  int64   `json:"spilled"`  // bytes written to disk while it ran, compressed
	CPU      float64 `json:"cpu"`      // seconds of the process; shared evenly by bundles that ran at a time
	Seconds  float64 `json:"seconds"`  // from its first bundle to its end
}

// Result is what Execute returns.
type Result struct {
	metrics metrics.Results
	report  Report
}

// Metrics are the counters and distributions of DoFns.
func (r *Result) Metrics() metrics.Results { return r.metrics }

// JobID is empty: nobody else knows of the job.
func (r *Result) JobID() string { return "" }

// Report is what the run took.
func (r *Result) Report() Report { return r.report }

// Progress is how far a run is.
type Progress struct {
	Elapsed time.Duration
	Done    int // stages that have ended
	Stages  int
	Running []StageProgress
	Ahead   []string        // names of the stages that have not begun
	Metrics metrics.Results // what DoFns counted so far
	Ended   bool            // this is the last report, be it of success or failure
}

// StageProgress is how far a stage is.
type StageProgress struct {
	Name     string
	Elapsed  time.Duration
	Elements int64   // read so far
	Fraction float64 // of its input that was taken up, 0 to 1
}

const reportEvery = 500 * time.Millisecond

// report calls the progress hook until it is stopped.
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

// result gathers what is to be returned.
func (j *job) result(elapsed time.Duration) *Result {
	r := &Result{metrics: j.metrics.results(), report: Report{Seconds: elapsed.Seconds(), Spilled: j.dir.Written()}}
	for _, s := range j.stages {
		for _, c := range s.Outputs {
			elements, bytes := j.data[c].totals()
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
