package main

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/logging"
	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

// sight is what a runner reports about a running pipeline.
type sight struct {
	elapsed time.Duration
	ended   bool
	counts  map[string]int64       // by namespace/name; nil if the runner does not count
	open    func(step string) bool // whether a stage of a step has not ended; nil if unknown
	step    string                 // the running step that takes longest
	share   float64                // the share of the step that is done
	done    int                    // number of units that have ended
	of      int                    // of how many; 0 if unknown
	unit    string                 // "stages"
	state   [2]string              // of a job on a cluster: as a sentence, and as a word
}

// counted sums Beam's counters over all steps.
func counted[C interface {
	Namespace() string
	Name() string
	Result() int64
}](counters []C) map[string]int64 {
	sums := map[string]int64{}
	for _, c := range counters {
		sums[c.Namespace()+"/"+c.Name()] += c.Result()
	}
	return sums
}

// progress is the progress of a job's pipelines.
type progress struct {
	reads    [][]job.Read  // by pipeline, with their bytes as known so far
	at       int           // number of the running pipeline
	before   time.Duration // time of the pipelines before it
	fraction float64       // of the job, as last shown
	reading  int           // number of the current read over all pipelines, from 1; 0 if none
	recent   []point       // recent points of that read
}

// point is the progress of a read at a time of the job.
type point struct {
	at               time.Duration
	bytes, documents float64
}

// Rates are averages over the last window, once it is at least as long as basis.
const (
	window = 15 * time.Second
	basis  = 2 * time.Second
)

// view is what a person sees. What is not known is 0, except fraction and left.
type view struct {
	elapsed        time.Duration
	fraction       float64       // of the job; negative if unknown
	bytes, all     int64         // of all reads
	reading, reads int           // number of the current read, from 1, and of all reads
	documents      float64       // per second
	left           time.Duration // negative if unknown
	sight
}

// see updates the progress with the report s on a pipeline, and returns what to show.
func (p *progress) see(s sight) view {
	v := view{elapsed: p.before + s.elapsed, fraction: -1, left: -1, sight: s}
	known := s.counts != nil && p.bytes(&v)
	most := almost
	if s.ended {
		most = 1
	}
	switch pipelines := float64(max(1, len(p.reads))); {
	case known:
		p.advance(float64(v.bytes)/float64(v.all), most)
		p.rate(&v)
	case s.of > 0:
		p.advance((float64(p.at)+float64(s.done)/float64(s.of))/pipelines, most)
	}
	if known || s.of > 0 {
		v.fraction = p.fraction
	}
	if s.ended {
		p.end(v.elapsed)
	}
	return v
}

// almost is the maximum fraction of a job that has not ended: after the last read, a run still writes tables.
const almost = .99

// advance never decreases the fraction: if an estimate is corrected upwards, the bar stands still.
func (p *progress) advance(fraction, most float64) {
	p.fraction = max(p.fraction, min(fraction, most))
}

// end moves on to the next pipeline. For a job that was not planned, the number of pipelines is not known.
func (p *progress) end(elapsed time.Duration) {
	p.before, p.reading = elapsed, 0 // the next read has a rate of its own
	if p.at < len(p.reads) {
		p.at++
	} else {
		p.fraction = 0
	}
}

// bytes sets the number of bytes read, and the current read. It reports whether these are known.
func (p *progress) bytes(v *view) bool {
	for i, reads := range p.reads {
		for r := range reads {
			read := &reads[r]
			v.reads++
			switch n := v.counts[read.Counted+"/stored"]; {
			case i < p.at:
				v.bytes += read.Bytes
			case i == p.at:
				over := n >= read.Bytes
				if v.open != nil {
					over = !v.open(read.Step)
				}
				if over || n > read.Bytes {
					read.Bytes = n
				}
				if n > 0 && !over {
					v.reading = v.reads
				}
				v.bytes += n
			}
			v.all += read.Bytes
		}
	}
	return p.at < len(p.reads) && v.all > 0
}

// rate sets the speed of the current read, and the remaining time of all reads at that speed.
func (p *progress) rate(v *view) {
	if v.reading != p.reading {
		p.reading, p.recent = v.reading, nil
	}
	if v.reading == 0 {
		return
	}
	now := point{v.elapsed, float64(v.bytes), 0}
	// Later reads skip records, or copy them uncounted; assume as many records per byte as in the first.
	if first := float64(v.counts[job.First.Counted+"/stored"]); first > 0 {
		now.documents = float64(v.counts["read/records"]) * max(1, p.ofPipeline(v)/first)
	}
	if n := len(p.recent); n == 0 || p.recent[n-1].bytes != now.bytes {
		p.recent = append(p.recent, now)
	}
	for len(p.recent) > 2 && p.recent[1].at <= now.at-window {
		p.recent = p.recent[1:]
	}
	first, last := p.recent[0], p.recent[len(p.recent)-1]
	took := (now.at - first.at).Seconds()
	if took < basis.Seconds() || last.bytes <= first.bytes {
		return
	}
	v.documents = max(0, last.documents-first.documents) / took
	left := float64(v.all-v.bytes) / (last.bytes - first.bytes) * took
	if most := 1000 * time.Hour; left >= 0 && left < most.Seconds() {
		v.left = time.Duration(left * float64(time.Second))
	}
}

// ofPipeline returns how many bytes the running pipeline has read.
func (p *progress) ofPipeline(v *view) (bytes float64) {
	for _, read := range p.reads[p.at] {
		bytes += float64(v.counts[read.Counted+"/stored"])
	}
	return bytes
}

// part is a text beside the bar, in full and for narrow screens.
type part struct{ long, short string }

// parts returns the most important texts, and those that may be left out, the last first.
func (v *view) parts() (most []part, more []string) {
	if v.state[0] != "" {
		most = append(most, part{v.state[0], v.state[1]})
	}
	if v.documents > 0 {
		n := thousands(v.documents)
		most = append(most, part{n + " documents/s", n + " docs/s"})
	}
	if v.left >= 0 {
		left := brief(v.left) + " left"
		most = append(most, part{left, left})
	}
	if v.reading == 0 && v.step != "" { // explains why the bar stands still
		step := report.StepOf(v.step) + " " + percent(min(v.share, almost))
		most = append(most, part{step, step})
	}
	switch {
	case v.all > 0 && v.bytes >= v.all && v.counts != nil:
		more = append(more, "all read")
	case v.all > 0 && v.counts != nil:
		more = append(more, sizes(v.bytes, v.all))
		if v.reading > 0 {
			more = append(more, fmt.Sprintf("pass %d of %d", v.reading, v.reads))
		}
	case v.of > 0:
		more = append(more, fmt.Sprintf("%d of %d %s", v.done, v.of, v.unit))
	case v.counts["read/records"] > 0:
		more = append(more, records.Count(v.counts["read/records"])+" records read")
	}
	return most, more
}

// percent rounds down, so that 100 % means all.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", math.Floor(100*share)) }

// text returns a line for the log.
func (v *view) text() string {
	most, more := v.parts()
	said := []string{v.elapsed.Round(time.Second).String()}
	if v.fraction == 1 && !v.ended { // the last planned pipeline has ended, but not the job
		said = append(said, percent(almost))
	} else if v.fraction >= 0 {
		said = append(said, percent(v.fraction))
	}
	for _, p := range most {
		said = append(said, p.long)
	}
	return strings.Join(append(said, more...), ", ")
}

// details returns the content of text for programs.
func (v *view) details() []any {
	details := []any{"elapsed_seconds", v.elapsed.Seconds()}
	if v.fraction >= 0 {
		details = append(details, "fraction", v.fraction)
	}
	if v.all > 0 && v.counts != nil {
		details = append(details, "bytes", v.bytes, "bytes_of_all_reads", v.all, "read", v.reading, "reads", v.reads)
	}
	if v.documents > 0 {
		details = append(details, "documents_per_second", v.documents)
	}
	if v.left >= 0 {
		details = append(details, "seconds_left", v.left.Seconds())
	}
	if v.of > 0 {
		details = append(details, v.unit+"_ended", v.done, v.unit, v.of)
	}
	if v.step != "" {
		details = append(details, "step", v.step)
	}
	return []any{slog.Group("progress", details...)}
}

// line returns a line for a screen of the given width. The width of its bar does not depend on the texts.
func (v *view) line(width int) string {
	const leastBar = 9
	if v.fraction < 0 {
		return terminal.Cut(v.text(), max(width, 1))
	}
	drawn := bar(v.fraction, max(width/4, leastBar))
	most, more := v.parts()
	done := fmt.Sprintf("%5s", percent(v.fraction))
	long, short := []string{done}, []string{done}
	for _, p := range most {
		long, short = append(long, p.long), append(short, p.short)
	}
	long = append(long, more...)
	for n := len(long); n >= len(short); n-- {
		if line := drawn + " " + strings.Join(long[:n], ", "); utf8.RuneCountInString(line) <= width {
			return line
		}
	}
	for n := len(short); n > 0; n-- {
		if line := drawn + " " + strings.Join(short[:n], " "); utf8.RuneCountInString(line) <= width {
			return line
		}
	}
	return terminal.Cut(percent(v.fraction), max(width, 1))
}

// bar draws a fraction in width characters, at least 3.
func bar(fraction float64, width int) string {
	room := width - len("[]")
	full := int(fraction * float64(room))
	drawn := strings.Repeat("=", full)
	if full < room {
		drawn += ">"
	}
	return "[" + drawn + strings.Repeat(" ", room-len(drawn)) + "]"
}

func thousands(n float64) string {
	switch {
	case n >= 999_950:
		return fmt.Sprintf("%.1fM", n/1e6)
	case n >= 999.5:
		return fmt.Sprintf("%.1fk", n/1e3)
	default:
		return fmt.Sprintf("%.0f", n)
	}
}

// brief formats a duration in its two largest units.
func brief(d time.Duration) string {
	if d = d.Round(time.Second); d < time.Hour {
		return d.String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// sizes formats a part and the whole of a size in the unit that suits the whole.
func sizes(part, all int64) string {
	unit, name := 1.0, "B"
	for _, larger := range []string{"kB", "MB", "GB", "TB"} {
		if float64(all) < 1000*unit {
			break
		}
		unit, name = 1000*unit, larger
	}
	digits := 1
	if unit == 1 {
		digits = 0
	}
	return fmt.Sprintf("%.*f of %.*f %s", digits, float64(part)/unit, digits, float64(all)/unit, name)
}

// display shows the progress of a job: on a terminal in a line that is overwritten, elsewhere in occasional log
// messages.
type display struct {
	w      io.Writer
	job    progress
	next   time.Duration // time of the job for the next log message
	always bool          // log every update, for a program that shows them
}

func newDisplay(w io.Writer) *display { return &display{w: w, next: often} }

// A line is logged every 10 seconds in the first minute of a job, and then every minute.
const (
	often  = 10 * time.Second
	seldom = time.Minute
)

// plan sets the reads of each pipeline of the job.
func (d *display) plan(reads [][]job.Read) { d.job = progress{reads: reads} }

func (d *display) show(s sight) {
	v := d.job.see(s)
	if terminal.Watched(d.w) {
		shown := terminal.Erase(d.w) + v.line(terminal.Columns(d.w)-1) // in the last column some terminals wrap
		if s.ended {
			shown += terminal.Erase(d.w)
		}
		fmt.Fprint(d.w, shown)
		return
	}
	if v.elapsed < d.next && !d.always || s.ended {
		return
	}
	d.next = v.elapsed + often
	if v.elapsed >= seldom {
		d.next = v.elapsed + seldom
	}
	logging.Notice(v.text(), v.details()...)
}
