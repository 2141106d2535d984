package dedup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/usage"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/exchange"
)

// A run in phases is jobs one after another, each of which leaves files for the next. The first phase and the last,
// which read all of the input, are done in waves. What is done is kept, so that a run that ends badly is continued by
// the same command.

// The phases.
const (
	prepared = "prepared" // the dictionary, or the frequencies of shingles
	keyed    = "keys"     // waves of splits
	plain    = "plain"    // plain bytes of compressed files, by the waves that left them
	verified = "verified"
	tabled   = "tables"
	copied   = "corpus" // waves of batches
)

// Input of fewer bytes and documents is done in one job, if --resume is auto: it takes minutes.
const (
	phasedBytes     = 8 << 30
	phasedDocuments = 1 << 23
)

// phased reports whether the run is done in phases.
func (p *Plan) phased() bool {
	switch {
	case p.Config.Resume == job.ResumeNever, slices.Contains(p.Request.Inputs, "-"):
		return false
	case p.Config.Resume == job.ResumeAlways:
		return true
	default:
		return p.Config.Runner.Traits().Bounded && (p.Listing.Inputs.Bytes() >= phasedBytes || p.Documents >= phasedDocuments)
	}
}

// Waves leave about so many bytes of keys, unless there were too few or too many.
const (
	waveBytes  = 4 << 30
	leastWaves = 16
	mostWaves  = 256
)

// waves is how many waves a read of the input has.
func (p *Plan) waves() int {
	return int(min(max(leastWaves, p.KeyBytes()/waveBytes), mostWaves))
}

// part is what a run has to know of a part that is done.
type part struct {
	Layout job.Layout       `json:"layout"`
	Steps  map[string]int64 `json:"steps,omitempty"`
	Stages []records.Stage  `json:"stages,omitempty"`
	Jobs   []string         `json:"runner_jobs,omitempty"`
}

// earlier is the layout of what an earlier run has left, nil if there is none.
func (r *run) earlier() (*job.Layout, error) {
	for _, p := range r.commit.Parts() {
		var of part
		if err := json.Unmarshal(p.State, &of); err != nil {
			return nil, fmt.Errorf("%s of an earlier run: %w; run again with --resume never", p.Name, err)
		}
		return &of.Layout, nil
	}
	return nil, nil
}

// fingerprints tell of what each phase follows from.
type fingerprints map[string]string

// fingerprints returns those of the run.
func (r *run) fingerprints(ctx context.Context) (fingerprints, error) {
	p := r.plan
	program, err := usage.Program()
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	encode := func(values ...any) { _ = encoder.Encode(values) } // a hash never fails
	encode(program, r.record.Formats, p.Listing.Inputs.Shards, p.waves())
	if err := eachFile(ctx, p.Listing.Inputs, encode); err != nil {
		return nil, err
	}
	in := p.Listing.Inputs
	for _, spans := range []*blocks.Spans{&in.Splits, &in.Pieces} {
		for i := range spans.Len() {
			encode(spans.At(i))
		}
	}
	fields := records.Fields(r.asked.Spec)
	phases := records.Phases()
	all := fingerprints{}
	ending := func(phase string, of ...string) {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if phases[name] == phase {
				encode(name, fields[name].Interface())
			}
		}
		sum := hex.EncodeToString(hash.Sum(nil))
		for _, name := range of {
			all[name] = sum
		}
	}
	ending("plan", plain)
	encode(p.Choice.Banding, p.Pieces, p.Complete, p.Layout)
	ending("keys", prepared, keyed)
	encode(p.Threshold, p.componentShards())
	ending("verify", verified)
	ending("decide", tabled, copied)
	return all, nil
}

// notice is the level of what is shown without --verbose and is not wrong (internal/logging).
const notice = slog.LevelInfo + 2

// inPhases does the run in phases, and returns nil when all are done.
func (r *run) inPhases(ctx context.Context, launch job.Launch) error {
	p := r.plan
	prints, err := r.fingerprints(ctx)
	if err != nil {
		return err
	}
	if err := r.commit.BeginParts(ctx); err != nil {
		return err
	}
	p.Kept = r.commit.Kept()
	kept, err := r.commit.Retain(ctx, func(of commit.Part) bool {
		phase, _, _ := strings.Cut(of.Name, "-")
		return of.Fingerprint == prints[phase]
	})
	if err != nil {
		return err
	}
	in := p.Listing.Inputs
	splits, batches := in.SplitWaves(p.waves()), in.BatchWaves(p.waves())
	if !r.asked.Writes(output.Corpus) {
		batches = nil
	}
	if kept > 0 {
		slog.Log(ctx, notice, fmt.Sprintf("continuing an earlier run: %d of %d waves read, %d of %d written; %d MB kept",
			r.done(keyed), len(splits), r.done(copied), len(batches), kept/1e6))
	}
	r.tell(splits, batches)
	if err := r.prepare(ctx, launch, prints[prepared]); err != nil {
		return err
	}
	for i, wave := range splits {
		name := wavePart(keyed, i)
		err := r.part(ctx, launch, name, prints[keyed], func(s beam.Scope) []flow.Facts {
			k := p.read(s, r.temp, wave)
			rest := exchange.New(s)
			exchange.Enter(rest, rejectedLane, k.rejected...)
			exchange.Enter(rest, droppedLane, k.dropped)
			return []flow.Facts{k.facts, r.keep(k.enter(s), name), r.keep(rest, name+restOf)}
		})
		if err == nil {
			err = r.keepPlain(ctx, wavePart(plain, i), prints[plain])
		}
		if err != nil {
			return err
		}
	}
	if err := r.checkRead(ctx, launch, prints[keyed]); err != nil {
		return err
	}
	err = r.part(ctx, launch, verified, prints[verified], func(s beam.Scope) []flow.Facts {
		all := r.reading(s, keysList, blocks.Range{})
		if p.together() {
			all = all.Group(s)
		}
		k := p.leave(s, all)
		found := p.compare(s, &k, r.temp)
		return append(found.facts, r.keep(found.enter(s), verified+"-"))
	}, r.shared(keysList, func(name string) bool { return strings.HasPrefix(name, keyed) && !strings.Contains(name, restOf) }))
	if err != nil {
		return err
	}
	rest := r.shared(restList, func(name string) bool { return strings.Contains(name, restOf) })
	err = r.part(ctx, launch, tabled, prints[tabled], func(s beam.Scope) []flow.Facts {
		left := r.reading(s, restList, blocks.Range{})
		k := keys{
			rejected: []flow.Rows[records.Rejected]{exchange.Leave[flow.Rows[records.Rejected]](s, left, rejectedLane)},
			dropped:  exchange.Leave[flow.Dropped](s, left, droppedLane),
		}
		found := p.leaveFound(s, r.reading(s, foundList, blocks.Range{}))
		rows := p.decide(s, &found, r.temp)
		written := p.tables(s, &k, &rows, r.commit.Staged(), r.temp)
		lanes := exchange.New(s)
		exchange.Enter(lanes, droppedLane, written.dropped...)
		return append(written.facts, r.keep(lanes, tabled+"-"))
	}, rest, r.shared(foundList, func(name string) bool { return strings.HasPrefix(name, verified) }))
	if err != nil {
		return err
	}
	for i, wave := range batches {
		err := r.part(ctx, launch, wavePart(copied, i), prints[copied], func(s beam.Scope) []flow.Facts {
			dropped := exchange.Leave[flow.Dropped](s, r.reading(s, droppedList, wave), droppedLane)
			return []flow.Facts{p.corpus(s, []flow.Dropped{dropped}, r.commit.Staged(), r.temp, wave)}
		}, r.shared(droppedList, func(name string) bool { return strings.HasPrefix(name, tabled) }))
		if err != nil {
			return err
		}
	}
	return r.gather(ctx)
}

// wavePart names a wave of a phase.
func wavePart(phase string, i int) string { return fmt.Sprintf("%s-%04d", phase, i) }

// restOf is in the names of files of what the first read leaves for the tables.
const restOf = "-rest-"

// Lists of files, in the run's temporary folder.
const (
	keysList    = "files-keys"
	restList    = "files-rest"
	foundList   = "files-found"
	droppedList = "files-dropped"
)

// done is how many waves of a phase are.
func (r *run) done(phase string) (n int) {
	for name := range r.commit.Parts() {
		if strings.HasPrefix(name, phase+"-") {
			n++
		}
	}
	return n
}

// tell tells what the jobs that are left will read.
func (r *run) tell(splits, batches []blocks.Range) {
	var pipelines [][]job.Read
	add := func(name string, read job.Read, share float64) {
		if _, done := r.commit.Parts()[name]; !done {
			read.Bytes = int64(share * float64(r.plan.Listing.Inputs.BytesOfSplits()))
			pipelines = append(pipelines, []job.Read{read})
		}
	}
	if r.asked.Prepares() {
		add(prepared, job.First, 1)
	}
	for i := range splits {
		add(wavePart(keyed, i), job.First, 1/float64(len(splits)))
	}
	add(verified, job.Second, 1)
	add(tabled, job.Second, 0)
	for i := range batches {
		add(wavePart(copied, i), job.Third, 1/float64(len(batches)))
	}
	if r.asked.MeasureRecall > 0 {
		pipelines = append(pipelines, r.plan.Reads(job.First))
	}
	r.config.Tell(pipelines...)
}

// keep has what has entered lanes kept in files.
func (r *run) keep(lanes *exchange.Lanes, prefix string) flow.Facts {
	return lanes.Write(r.commit.Kept(), prefix, r.config.Runner.Traits().OnCluster)
}

// reading reads kept files of a list.
func (r *run) reading(s beam.Scope, list string, some blocks.Range) exchange.Arrived {
	return exchange.Read(s, storage.Join(r.temp, list), some)
}

// shared returns what shares the list of those kept files that are wanted.
func (r *run) shared(list string, wanted func(name string) bool) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		paths := []string{}
		for _, p := range r.commit.Parts() {
			for _, f := range p.Files {
				if f.In == commit.InKept && wanted(f.Name) && !strings.HasSuffix(f.Name, factsSuffix) {
					paths = append(paths, storage.Join(r.commit.Kept(), f.Name))
				}
			}
		}
		slices.Sort(paths)
		return storage.WriteShared(ctx, storage.Join(r.temp, list), paths)
	}
}

// factsSuffix ends the name of the file of a part's facts.
const factsSuffix = ".facts"

// part does a part of the run, unless it is done: a job of what build builds, whose facts say what it has written.
func (r *run) part(ctx context.Context, launch job.Launch, name, fingerprint string, build func(beam.Scope) []flow.Facts, before ...func(context.Context) error) error {
	if _, done := r.commit.Parts()[name]; done {
		return nil
	}
	for _, share := range before {
		if err := share(ctx); err != nil {
			return err
		}
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	ledger := storage.Join(r.commit.Kept(), name+factsSuffix)
	sink.Ledger(scope, ledger, build(scope)...)
	ended, err := r.config.Execute(ctx, launch, pipeline, r.temp)
	if err != nil {
		return err
	}
	info, err := storage.Stat(ctx, ledger)
	if err != nil {
		return fmt.Errorf("the pipeline ended without its totals: %w", err)
	}
	files := []commit.PartFile{{In: commit.InKept, Name: name + factsSuffix, Bytes: info.Size}}
	err = eachFact(ctx, ledger, func(fact blocks.Fact) error {
		switch {
		case fact.Kind == blocks.FactKept:
			files = append(files, commit.PartFile{In: commit.InKept, Name: fact.Name, Bytes: fact.Bytes})
		case fact.SHA256 != "":
			files = append(files, commit.PartFile{In: commit.InOutput, Name: fact.Name, Bytes: fact.Bytes})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if name == verified {
		sample, err := r.named(ctx, commit.InKept, r.commit.Kept(), "recall-")
		if err != nil {
			return err
		}
		files = append(files, sample...)
	}
	return r.keepPart(ctx, name, fingerprint, files, ended)
}

// keepPart keeps a part that is done.
func (r *run) keepPart(ctx context.Context, name, fingerprint string, files []commit.PartFile, ended job.Outcome) error {
	of := part{Layout: r.plan.Layout, Stages: ended.Stages, Steps: counters(ended.Result)}
	if ended.Result != nil && ended.Result.JobID() != "" {
		of.Jobs = []string{ended.Result.JobID()}
	}
	state, err := json.Marshal(of)
	if err != nil {
		return err
	}
	return r.commit.Keep(ctx, commit.Part{Name: name, Fingerprint: fingerprint, Files: files, State: state})
}

// prepare is Prepare as a part of the run.
func (r *run) prepare(ctx context.Context, launch job.Launch, fingerprint string) error {
	if _, done := r.commit.Parts()[prepared]; done || !r.asked.Prepares() {
		return nil
	}
	stages, err := r.plan.Prepare(ctx, launch, r.temp)
	if err != nil {
		return r.cause(ctx, err)
	}
	files, err := r.named(ctx, commit.InKept, r.commit.Kept(), "")
	if err != nil {
		return err
	}
	return r.keepPart(ctx, prepared, fingerprint, files, job.Outcome{Stages: stages})
}

// keepPlain keeps the plain bytes that a wave has left of compressed files.
func (r *run) keepPlain(ctx context.Context, name, fingerprint string) error {
	if !storage.IsLocal(r.temp) {
		return nil
	}
	files, err := r.named(ctx, commit.InTemporary, r.temp, "plain-")
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, p := range r.commit.Parts() {
		for _, f := range p.Files {
			kept[f.Name] = true
		}
	}
	files = slices.DeleteFunc(files, func(f commit.PartFile) bool { return kept[f.Name] })
	if len(files) == 0 {
		return nil
	}
	return r.keepPart(ctx, name, fingerprint, files, job.Outcome{})
}

// named are the files of a folder whose names begin with a prefix.
func (r *run) named(ctx context.Context, in commit.In, folder, prefix string) (files []commit.PartFile, err error) {
	names, err := storage.Names(ctx, folder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) || storage.Marks(storage.Join(folder, name)) {
			continue
		}
		info, err := storage.Stat(ctx, storage.Join(folder, name))
		if err != nil {
			return nil, err
		}
		files = append(files, commit.PartFile{In: in, Name: name, Bytes: info.Size})
	}
	return files, nil
}

// checkRead ends the run if more records are unreadable than it accepts, with the table of those.
func (r *run) checkRead(ctx context.Context, launch job.Launch, fingerprint string) error {
	totals := sink.NewTotals(r.plan.Listing.Inputs.Inputs)
	for name := range r.commit.Parts() {
		if !strings.HasPrefix(name, keyed) {
			continue
		}
		if err := eachFact(ctx, storage.Join(r.commit.Kept(), name+factsSuffix), totals.Add); err != nil {
			return err
		}
	}
	sum := totals.Sum()
	if !r.asked.MaxRejected.Exceeded(sum) {
		return nil
	}
	err := r.part(ctx, launch, "rejected", fingerprint, func(s beam.Scope) []flow.Facts {
		left := r.reading(s, restList, blocks.Range{})
		rows := exchange.Leave[flow.Rows[records.Rejected]](s, left, rejectedLane)
		return []flow.Facts{sink.Table(s, output.Rejected, r.plan.rejectedSlices(), r.plan.writing(r.commit.Staged(), r.temp), rows)}
	}, r.shared(restList, func(name string) bool { return strings.Contains(name, restOf) }))
	return cmp.Or(err, error(&TooManyUnreadableError{ReadTotals: sum}))
}

// gather puts the facts of all parts into one ledger, and what their jobs told into the record.
func (r *run) gather(ctx context.Context) error {
	r.record.Steps = map[string]int64{}
	parts := r.commit.Parts()
	names := slices.Sorted(maps.Keys(parts))
	for _, name := range names {
		var of part
		if err := json.Unmarshal(parts[name].State, &of); err != nil {
			return err
		}
		for step, n := range of.Steps {
			if strings.HasSuffix(step, mostSuffix) {
				r.record.Steps[step] = max(r.record.Steps[step], n)
			} else {
				r.record.Steps[step] += n
			}
		}
		r.record.Stages, r.record.Jobs = append(r.record.Stages, of.Stages...), append(r.record.Jobs, of.Jobs...)
	}
	_, err := storage.WriteBelow(ctx, r.temp, storage.Join(r.temp, ledgerFile), func(w io.Writer) error {
		for _, name := range names {
			if !slices.ContainsFunc(parts[name].Files, func(f commit.PartFile) bool { return f.Name == name+factsSuffix }) {
				continue
			}
			if err := copyFile(ctx, w, storage.Join(r.commit.Kept(), name+factsSuffix)); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

func copyFile(ctx context.Context, w io.Writer, path string) error {
	file, err := storage.OpenFile(ctx, path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

// eachFact calls do with each fact of a ledger.
func eachFact(ctx context.Context, ledger string, do func(blocks.Fact) error) error {
	file, err := storage.OpenFile(ctx, ledger)
	if err != nil {
		return err
	}
	defer file.Close()
	return sink.EachFact(file, do)
}
