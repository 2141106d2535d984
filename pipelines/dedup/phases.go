package dedup

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"runtime"
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
	"github.com/neardup/neardup/transforms/components"
	"github.com/neardup/neardup/transforms/decide"
	"github.com/neardup/neardup/transforms/exchange"
)

// A run in phases executes several jobs, each of which leaves files for the next. The first and the last phase, which
// read the whole input, are divided into waves. Finished parts are kept, so the same command continues a run that
// failed.

// Names of the phases.
const (
	prepared   = "prepared" // dictionary, or frequencies of shingles
	keyed      = "keys"     // first read, in waves of splits
	plain      = "plain"    // decompressed bytes of files, by the wave that wrote them
	linked     = "edges"    // pairs of documents to compare
	merged     = "forests"  // spanning forests of parts of the graph
	contracted = "round"    // contractions of the graph, as many as it takes
	resolved   = "roots"    // components by round, the last round first
	connected  = "members"
	made       = "sets"   // only if the runner cannot send them within one job
	joined     = "joined" // small components, from these sets
	verified   = "verified"
	decided    = "rows" // decisions, as rows of tables
	listed     = "pairs"
	clustered  = "clusters"
	tabled     = "tables"
	listing    = "documents"
	copied     = "corpus" // third read, in waves of batches

	rejected = "rejected" // prefix of files with rejected rows and unreadable records, one for each part of keys
)

// With --resume auto, one job processes an input of fewer bytes and documents, which takes minutes. On a cluster, where
// each job waits for machines, the limits are what one call can connect, and what one job can send.
const (
	phasedBytes     = 8 << 30
	phasedDocuments = 1 << 23
	mostConnected   = 1 << 26
)

// phased reports whether the run is divided into phases.
func (p *Plan) phased() bool {
	switch {
	case p.From != nil, p.Config.Resume == job.ResumeNever, slices.Contains(p.Request.Inputs, "-"):
		return false
	case p.Config.Resume == job.ResumeAlways:
		return true
	default:
		return p.Documents >= mostConnected && !p.Config.Runner.Traits().OnlyBuckets || p.checkRead() != nil && !p.Complete ||
			p.Config.Runner.Traits().Bounded && (p.Listing.Inputs.Bytes() >= phasedBytes || p.Documents >= phasedDocuments)
	}
}

// A wave leaves about waveBytes of keys, within the limits on the number of waves.
const (
	waveBytes  = 4 << 30
	leastWaves = 16
	mostWaves  = 256

	shingleBytes = 5 // bytes of text per shingle
	waveSplits   = 2
)

// waves returns the maximum number of waves for a read of the input: each has the text of at least waveSplits usual
// splits. On a cluster each job costs seconds, so there is no minimum.
func (p *Plan) waves() int {
	splits := shingleBytes * p.Shingles / p.Reading().SplitSize()
	waves := p.KeyBytes() / waveBytes
	if !p.Config.Runner.Traits().OnCluster {
		waves = max(leastWaves, waves)
	}
	return int(max(1, min(waves, mostWaves, splits/waveSplits)))
}

// part is the state of a finished part that a continued run needs.
type part struct {
	Program string           `json:"program"`
	Layout  job.Layout       `json:"layout"`
	Steps   map[string]int64 `json:"steps,omitempty"`
	Stages  []records.Stage  `json:"stages,omitempty"`
	Jobs    []string         `json:"runner_jobs,omitempty"`
}

// earlier returns the layout that an earlier run of this program left, or nil.
func (r *run) earlier() (*job.Layout, error) {
	for _, p := range r.commit.Parts() {
		program, err := usage.Program()
		if err != nil {
			return nil, err
		}
		var of part
		if json.Unmarshal(p.State, &of) == nil && of.Program == program {
			return &of.Layout, nil
		}
	}
	return nil, nil
}

// fingerprints returns for each phase a hash of everything that its result follows from.
func (r *run) fingerprints(ctx context.Context) (map[string]string, error) {
	p := r.plan
	program, err := usage.Program()
	if err != nil {
		return nil, err
	}
	sum := newDigest()
	sum.add(program, r.record.Formats, p.Listing.Inputs.Shards, p.Layout.Waves)
	if err := sum.addFiles(ctx, p.Listing.Inputs, 0); err != nil {
		return nil, err
	}
	in := p.Listing.Inputs
	for _, spans := range []*blocks.Spans{&in.Splits, &in.Pieces} {
		for i := range spans.Len() {
			sum.add(spans.At(i))
		}
	}
	fields := records.Fields(r.asked.Spec)
	phases := records.Phases()
	all := map[string]string{}
	ending := func(phase string, of ...string) {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if phases[name] == phase {
				sum.add(name, fields[name].Interface())
			}
		}
		for _, name := range of {
			all[name] = sum.String()
		}
	}
	ending("plan", plain)
	sum.add(p.Choice.Banding, p.Pieces, p.Complete, p.Layout)
	if p.Complete { // then components depend on these
		sum.add(p.Threshold, p.batchBytes(p.Config.cellBytes()))
	}
	sum.add(p.Request.Writes(output.Documents)) // only then are records listed
	ending("keys", prepared, keyed, linked, merged, contracted, resolved, connected)
	sum.add(p.Threshold, p.componentShards())
	ending("verify", made, joined, verified)
	ending("decide", decided, listed, clustered, tabled, listing, copied)
	return all, nil
}

// notice is the log level of messages that are shown without --verbose and are not warnings (internal/logging).
const notice = slog.LevelInfo + 2

// inPhases runs all phases that are not done yet.
func (r *run) inPhases(ctx context.Context) (err error) {
	p := r.plan
	if r.prints, err = r.fingerprints(ctx); err != nil {
		return err
	}
	if err := r.commit.BeginParts(ctx); err != nil {
		return err
	}
	p.Kept = r.commit.Kept()
	left := len(r.commit.Parts())
	kept, err := r.commit.Retain(ctx, func(of commit.Part) bool {
		print, known := r.prints[phaseOf(of.Name)]
		return known && of.Fingerprint == print
	})
	if err != nil {
		return err
	}
	in := p.Listing.Inputs
	r.splits = slices.DeleteFunc(in.SplitWaves(p.Layout.Waves),
		func(r blocks.Range) bool { r = p.ToRead(r); return r.First == r.End })
	if r.asked.Writes(output.Corpus) {
		r.batches = in.BatchWaves(p.Layout.Waves)
	}
	switch {
	case kept > 0:
		slog.Log(ctx, notice, fmt.Sprintf("continuing an earlier run: %d of %d parts read, %d of %d written; %d MB saved",
			r.done(keyed), len(r.splits), r.done(copied), len(r.batches), kept/1e6))
	case left > 0:
		const removed = "starting from the beginning: deleted the work of an earlier run, because its input, flags or " +
			"neardup version differ from this run's"
		slog.Log(ctx, notice, removed)
	}
	r.tell()
	one := func(name string, build func(*builder) []flow.Facts) func(context.Context) error {
		return func(ctx context.Context) error { return r.part(ctx, name, build) }
	}
	phases := []func(context.Context) error{
		r.prepare, r.readWaves, r.connect, r.verify,
		one(decided, r.decide), one(listed, r.pairs), one(clustered, r.clusters), one(tabled, r.tables),
	}
	if r.asked.Writes(output.Documents) {
		phases = append(phases, one(listing, r.documents))
	}
	phases = append(phases, r.writeWaves)
	repeated := map[string]bool{}
	for i := 0; i < len(phases); i++ {
		if err := phases[i](ctx); err != nil {
			file, name := r.damaged(err)
			if name == "" || repeated[name] {
				return err
			}
			slog.Log(ctx, notice, fmt.Sprintf("%s is damaged; repeating the step that wrote it", file))
			if err := r.commit.Forget(ctx, name); err != nil {
				return err
			}
			repeated[name], i = true, -1 // finished parts are skipped
			continue
		}
		runtime.GC() // free this job's data before the next job allocates its own
	}
	return r.gather(ctx)
}

// damaged returns the kept file that err calls damaged, and the part that wrote it, or two empty strings.
func (r *run) damaged(err error) (file, part string) {
	for name, p := range r.commit.Parts() {
		for _, f := range p.Files {
			if strings.Contains(err.Error(), f.Name+exchange.Damaged) {
				return f.Name, name
			}
		}
	}
	return "", ""
}

func (r *run) readWaves(ctx context.Context) error {
	totals := sink.NewTotals(r.plan.Listing.Inputs.Inputs)
	for i, wave := range r.splits {
		name := waveOf(keyed, i)
		err := r.part(ctx, name, func(b *builder) []flow.Facts {
			k := r.plan.read(b.scope, r.temp, wave)
			return []flow.Facts{k.facts, b.keep(name, k.entries()...), b.keep(waveOf(rejected, i), k.rest()...)}
		})
		if err == nil {
			err = r.keepPlain(ctx, waveOf(plain, i))
		}
		if err == nil {
			err = eachFact(ctx, storage.Join(r.commit.Kept(), name+factsSuffix), totals.Add)
		}
		if err == nil {
			err = r.checkRead(ctx, totals.Sum(), i+1 < len(r.splits))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// connect finds the components: in one call if it can hold the remaining edges, else in rounds. A repeated part may
// choose other labels, so the parts after it are repeated as well.
func (r *run) connect(ctx context.Context) error {
	passed := []string{}
	step := func(name string, build func(*builder) []flow.Facts) error {
		passed = append(passed, name)
		if err := r.forgetAfter(ctx, passed, linked, merged, contracted, resolved, connected); err != nil {
			return err
		}
		return r.part(ctx, name, build)
	}
	if err := step(linked, r.link); err != nil || r.asked.Method == job.Exact {
		return err
	}
	err := step(merged, func(b *builder) []flow.Facts {
		parts := exchange.Of[flow.Forests](b.scope, b.gathered(linked, edgesPrefix), edgesLane, r.plan.parts())
		return []flow.Facts{b.keepEdges(components.Forests(b.scope, parts), waveOf(linked, 0))}
	})
	if err != nil {
		return err
	}
	rounds := 0
	for ; r.isDone(waveOf(contracted, rounds)) || r.edges(rounds) > r.plan.connectEdges(); rounds++ {
		err := step(waveOf(contracted, rounds), func(b *builder) []flow.Facts {
			left, gone := components.Round(b.scope, b.edges(waveOf(linked, rounds)), r.plan.parts(), rounds)
			return []flow.Facts{b.keepEdges(left, waveOf(linked, rounds+1)), b.keepEdges(gone, waveOf(gonePrefix, rounds))}
		})
		if err != nil {
			return err
		}
	}
	resolve := func(b *builder, of int) flow.Forests {
		if of == rounds {
			all := components.Spread(b.scope, b.edges(waveOf(linked, rounds)), 1)
			return components.Forests(b.scope, exchange.Alone(b.scope, all))
		}
		gone, roots := b.edges(waveOf(gonePrefix, of)), b.edges(waveOf(resolved, of+1))
		return components.Resolve(b.scope, gone, roots, r.plan.parts())
	}
	for of := rounds; of > 0; of-- {
		err := step(waveOf(resolved, of), func(b *builder) []flow.Facts {
			return []flow.Facts{b.keepEdges(resolve(b, of), waveOf(resolved, of))}
		})
		if err != nil {
			return err
		}
	}
	return step(connected, func(b *builder) []flow.Facts {
		params := r.plan.components(r.temp)
		var members flow.Members
		if rounds == 0 {
			params.Parts = 1
			members = components.Connect(b.scope, b.edges(waveOf(linked, 0)), params)
		} else {
			members = components.Members(b.scope, resolve(b, 0), params)
		}
		return []flow.Facts{b.keepMembers(connected, members, flow.Drawn{})}
	})
}

// forgetAfter removes the finished parts of phases that are not among passed, unless the last part of passed is done.
func (r *run) forgetAfter(ctx context.Context, passed []string, phases ...string) error {
	if r.isDone(passed[len(passed)-1]) {
		return nil
	}
	for name := range r.commit.Parts() {
		if !slices.Contains(phases, phaseOf(name)) || slices.Contains(passed, name) {
			continue
		}
		if err := r.commit.Forget(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Prefixes of the files that the parts of connect leave.
const (
	copiesPrefix = "copies"
	edgesPrefix  = "found" // edges before they are contracted
	gonePrefix   = "gone"
)

// link finds the copies and the edges.
func (r *run) link(b *builder) []flow.Facts {
	k := r.plan.leave(b.scope, b.gathered(keyed, keyed))
	if r.asked.Method == job.Exact {
		return []flow.Facts{b.keepMembers(copiesPrefix, r.plan.connect(b.scope, &k, r.temp), k.drawn)}
	}
	edges, copies := r.plan.edges(b.scope, &k, r.temp)
	return []flow.Facts{
		b.keepMembers(copiesPrefix, copies, k.drawn),
		b.keepEdges(components.Spread(b.scope, edges, r.plan.parts()), edgesPrefix),
	}
}

// edges returns an upper bound, close to the exact value, on the number of edges left after some rounds.
func (r *run) edges(rounds int) int64 {
	return r.keptBytes(waveOf(linked, rounds)) / components.EdgeBytes
}

// keptBytes returns the total size of a phase's kept files, without those of facts.
func (r *run) keptBytes(phase string) (n int64) {
	for _, f := range r.kept(phase) {
		n += f.Bytes
	}
	return n
}

// kept returns the files that phases, or one wave, left for later jobs, by name, without those of facts.
func (r *run) kept(phases ...string) (files []commit.PartFile) {
	for _, p := range r.commit.Parts() {
		for _, f := range p.Files {
			wanted := func(phase string) bool { return strings.HasPrefix(f.Name, phase+"-") }
			if f.In == commit.InKept && slices.ContainsFunc(phases, wanted) && !strings.HasSuffix(f.Name, factsSuffix) {
				files = append(files, f)
			}
		}
	}
	slices.SortFunc(files, func(a, b commit.PartFile) int { return strings.Compare(a.Name, b.Name) })
	return files
}

// shardShare is how many times the average number of rows a shard may have: all removed documents may be from one file.
const shardShare = 4

// slices returns the number of groups in which a phase's kept rows are sorted, per table shard.
func (r *run) slices(phase string) int {
	return r.plan.SlicesOf(shardShare * float64(r.keptBytes(phase)))
}

// keepMembers writes members, and the documents drawn for a sample, to kept files.
func (b *builder) keepMembers(name string, members flow.Members, drawn flow.Drawn) flow.Facts {
	return b.keep(name, exchange.Enter(membersLane, members), exchange.Enter(drawnLane, drawn))
}

// setBytes estimates the total size of the sets of documents that are in components and are not copies.
func (r *run) setBytes() int64 {
	if r.plan.Documents == 0 {
		return 0
	}
	documents := max(0, r.counted("components/documents")-r.counted("copies/found"))
	return int64(float64(documents) * float64(r.plan.featureBytes()) / float64(r.plan.Documents))
}

// counted returns the sum of a counter over the jobs of all parts.
func (r *run) counted(step string) (n int64) {
	for _, p := range r.commit.Parts() {
		var of part
		_ = json.Unmarshal(p.State, &of) // keepPart wrote it
		n += of.Steps[step]
	}
	return n
}

// verify compares documents in one job or, if the runner cannot send their sets within one, in three: the first makes
// the sets, the second joins small components, and the third joins large ones.
func (r *run) verify(ctx context.Context) error {
	members := func(b *builder) (flow.Members, flow.Drawn) {
		all := b.files(copiesPrefix, connected)
		return exchange.Leave[flow.Members](b.scope, all, membersLane), exchange.Leave[flow.Drawn](b.scope, all, drawnLane)
	}
	if r.isDone(verified) || !r.isDone(made) && r.carried() {
		return r.part(ctx, verified, func(b *builder) []flow.Facts {
			of, drawn := members(b)
			found := r.plan.compare(b.scope, of, drawn, r.temp)
			return append(found.facts, b.keep(verified, found.entries()...))
		})
	}
	err := r.part(ctx, made, func(b *builder) []flow.Facts {
		of, _ := members(b)
		features := r.plan.features(b.scope, of, r.temp)
		known := found{profiles: features.Profiles, copies: features.Copies}
		large := larger{sets: features.LargeSets, profiles: features.LargeProfiles, samples: features.Samples}
		return append(b.keepLarger(large), b.keep(verified, known.entries()...),
			b.keep(made, exchange.Enter(setsLane, features.Sets)))
	})
	if err != nil {
		return err
	}
	err = r.part(ctx, joined, func(b *builder) []flow.Facts {
		small := exchange.Of[flow.Sets](b.scope, b.gathered(made, made), setsLane, int(r.plan.componentShards()))
		found, large := r.plan.joinSmall(b.scope, small, r.temp)
		return slices.Concat(found.facts, b.keepLarger(large), []flow.Facts{b.keep(verified, found.entries()...)})
	})
	if err != nil {
		return err
	}
	return r.part(ctx, verified, func(b *builder) []flow.Facts {
		_, drawn := members(b)
		found := r.plan.joinLarge(b.scope, b.larger(), drawn, r.temp)
		return append(found.facts, b.keep(verified, found.entries()...))
	})
}

// carried reports whether the runner can send all sets within one job.
func (r *run) carried() bool {
	most := r.plan.Config.sendable()
	return most == 0 || r.asked.Method == job.Exact || r.setBytes() <= most
}

// Prefixes of the files from which large components are joined. They have no lanes, because a document key leaves no
// room for one.
const (
	largeSetsPrefix     = "large_sets"
	largeProfilesPrefix = "large_profiles"
	samplesPrefix       = "samples"
)

// keepLarger writes the collections from which large components are joined to kept files.
func (b *builder) keepLarger(of larger) []flow.Facts {
	facts := []flow.Facts{b.keep(largeSetsPrefix, exchange.Enter(0, of.sets)),
		b.keep(largeProfilesPrefix, exchange.Enter(0, of.profiles))}
	if beam.PCollection(of.samples).IsValid() {
		facts = append(facts, b.keep(samplesPrefix, exchange.Enter(0, of.samples)))
	}
	return facts
}

// larger reads what keepLarger wrote.
func (b *builder) larger() larger {
	return larger{
		sets:     exchange.Leave[flow.LargeSets](b.scope, b.files(largeSetsPrefix), 0),
		profiles: exchange.Leave[flow.LargeProfiles](b.scope, b.files(largeProfilesPrefix), 0),
		samples:  exchange.Leave[flow.Samples](b.scope, b.files(samplesPrefix), 0),
	}
}

func (r *run) decide(b *builder) []flow.Facts {
	found := r.plan.leaveFound(b.scope, b.files(verified))
	rows := r.plan.decide(b.scope, &found, r.temp)
	return append(rows.Facts,
		b.keep(listed, exchange.Enter(pairRowsLane, rows.Pairs...)),
		b.keep(clustered, exchange.Enter(clusterRowsLane, rows.Clusters...)),
		b.keep(decided, exchange.Enter(removedRowsLane, rows.Removed...), exchange.Enter(droppedLane, rows.Dropped...)))
}

func (r *run) pairs(b *builder) []flow.Facts {
	rows := exchange.Leave[flow.Rows[records.Pair]](b.scope, b.files(listed), pairRowsLane)
	return []flow.Facts{sink.Table(b.scope, output.Pairs, r.slices(listed),
		r.plan.writing(r.commit.Staged(), r.temp), rows)}
}

func (r *run) clusters(b *builder) []flow.Facts {
	rows := exchange.Leave[flow.Rows[records.Clustered]](b.scope, b.files(clustered), clusterRowsLane)
	return []flow.Facts{sink.Table(b.scope, output.Clusters, r.slices(clustered),
		r.plan.writing(r.commit.Staged(), r.temp), rows)}
}

func (r *run) documents(b *builder) []flow.Facts {
	read, all := b.files(rejected), b.files(decided)
	k := keys{
		rejected: []flow.Rows[records.Rejected]{exchange.Leave[flow.Rows[records.Rejected]](b.scope, read, rejectedLane)},
		listed:   exchange.Leave[flow.Listed](b.scope, read, listedLane),
	}
	rows := decide.Rows{
		Removed: []flow.Rows[records.Removed]{exchange.Leave[flow.Rows[records.Removed]](b.scope, all, removedRowsLane)},
		Clusters: []flow.Rows[records.Clustered]{exchange.Leave[flow.Rows[records.Clustered]](b.scope,
			b.files(clustered), clusterRowsLane)},
	}
	return []flow.Facts{r.plan.documents(b.scope, &k, &rows, r.commit.Staged(), r.temp)}
}

func (r *run) tables(b *builder) []flow.Facts {
	rest, all := b.files(rejected), b.files(decided)
	k := keys{
		rejected: []flow.Rows[records.Rejected]{exchange.Leave[flow.Rows[records.Rejected]](b.scope, rest, rejectedLane)},
		dropped:  exchange.Leave[flow.Dropped](b.scope, rest, droppedLane),
	}
	rows := decide.Rows{
		Removed: []flow.Rows[records.Removed]{exchange.Leave[flow.Rows[records.Removed]](b.scope, all, removedRowsLane)},
		Dropped: []flow.Dropped{exchange.Leave[flow.Dropped](b.scope, all, droppedLane)},
	}
	written := r.plan.tables(b.scope, &k, &rows, r.slices(decided), r.commit.Staged(), r.temp)
	return append(written.facts, b.keepWaves(tabled, r.batches, exchange.Enter(droppedLane, written.dropped...)))
}

func (r *run) writeWaves(ctx context.Context) error {
	for i, wave := range r.batches {
		err := r.part(ctx, waveOf(copied, i), func(b *builder) []flow.Facts {
			dropped := exchange.Leave[flow.Dropped](b.scope, b.files(waveOf(tabled, i)), droppedLane)
			return []flow.Facts{r.plan.corpus(b.scope, []flow.Dropped{dropped}, r.commit.Staged(), r.temp, wave)}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// waveOf returns the name of a phase's wave i.
func waveOf(phase string, i int) string { return phase + "-" + exchange.Wave(i) }

// phaseOf returns the phase of a part.
func phaseOf(part string) string {
	phase, _, _ := strings.Cut(part, "-")
	return phase
}

// isDone reports whether a part is done.
func (r *run) isDone(part string) bool {
	_, done := r.commit.Parts()[part]
	return done
}

// done returns how many waves of a phase are done.
func (r *run) done(phase string) (n int) {
	for name := range r.commit.Parts() {
		if strings.HasPrefix(name, phase+"-") {
			n++
		}
	}
	return n
}

// tell announces what the remaining jobs will read, for progress.
func (r *run) tell() {
	var pipelines [][]job.Read
	add := func(name string, read job.Read, share float64) {
		if !r.isDone(name) {
			read.Bytes = int64(share * float64(r.plan.Stored(read)))
			pipelines = append(pipelines, []job.Read{read})
		}
	}
	if r.asked.Prepares() {
		add(prepared, job.First, 1)
	}
	for i := range r.splits {
		add(waveOf(keyed, i), job.First, 1/float64(len(r.splits)))
	}
	add(linked, job.Second, 0)
	add(connected, job.Second, 0)
	add(verified, job.Second, 1)
	for _, name := range []string{decided, listed, clustered, tabled} {
		add(name, job.Second, 0)
	}
	if r.asked.Writes(output.Documents) {
		add(listing, job.Second, 0)
	}
	for i := range r.batches {
		add(waveOf(copied, i), job.Third, 1/float64(len(r.batches)))
	}
	if r.asked.MeasureRecall > 0 {
		pipelines = append(pipelines, r.plan.Reads(job.First))
	}
	r.config.Tell(pipelines...)
}

// builder builds the job of one part.
type builder struct {
	run    *run
	ctx    context.Context
	scope  beam.Scope
	lists  []string // paths of lists of files
	sends  int64    // bytes that are read and then grouped by the runner
	failed error
}

// keep writes collections to kept files whose names begin with name.
func (b *builder) keep(name string, entries ...exchange.Entry) flow.Facts {
	return b.keepWaves(name, nil, entries...)
}

// keepWaves is keep for collections that are read in waves.
func (b *builder) keepWaves(name string, waves []blocks.Range, entries ...exchange.Entry) flow.Facts {
	return exchange.Write(b.scope, exchange.Files{
		Folder: b.run.commit.Kept(), Prefix: name + "-", Waves: waves,
		Bytes: b.run.config.keptBytes(b.run.plan.KeyBytes()), Sync: b.run.config.Runner.Traits().OnCluster,
	}, entries...)
}

// keepEdges writes edges to kept files.
func (b *builder) keepEdges(edges flow.Forests, name string) flow.Facts {
	return b.keep(name, exchange.Enter(edgesLane, edges))
}

// edges reads edges that keepEdges wrote.
func (b *builder) edges(name string) flow.Edges {
	return components.Edges(b.scope, exchange.Leave[flow.Forests](b.scope, b.files(name), edgesLane))
}

// files reads the kept files of phases, or of one wave.
func (b *builder) files(phases ...string) exchange.Arrived {
	all, bytes := b.read(strings.Join(phases, "-"), 0, phases...)
	b.sends += bytes
	return all
}

// gathered reads the kept files of a phase, so that exchange.Of can group them without the runner.
func (b *builder) gathered(list, phase string) exchange.Arrived {
	all, _ := b.read(list, b.run.config.gatherBytes(b.run.commit.Kept()), phase)
	return all
}

func (b *builder) read(list string, hold int64, phases ...string) (all exchange.Arrived, bytes int64) {
	paths := []string{}
	for _, f := range b.run.kept(phases...) {
		paths = append(paths, storage.Join(b.run.commit.Kept(), f.Name))
		bytes += f.Bytes
	}
	list = storage.Join(b.run.temp, "files-"+list)
	b.lists = append(b.lists, list)
	b.failed = cmp.Or(b.failed, storage.WriteShared(b.ctx, list, paths))
	return exchange.Read(b.scope, list, bytes, hold), bytes
}

// factsSuffix ends the name of a part's file of facts.
const factsSuffix = ".facts"

// part runs the job that build builds, unless the part is done, and keeps the files that its facts list.
func (r *run) part(ctx context.Context, name string, build func(*builder) []flow.Facts) error {
	if r.isDone(name) {
		return nil
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	ledger := storage.Join(r.commit.Kept(), name+factsSuffix)
	b := &builder{run: r, ctx: ctx, scope: scope}
	sink.Ledger(scope, ledger, append(build(b), sink.NoFact(scope))...) // a part may emit no facts of its own
	if b.failed != nil {
		return b.failed
	}
	if err := r.plan.checkSent(b.sends); err != nil {
		return err
	}
	ended, err := r.config.Execute(job.WithPart(ctx, name), r.launch, pipeline, r.temp)
	for _, list := range b.lists {
		storage.Forget(list)
	}
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
	return r.keepPart(ctx, name, files, ended)
}

// keepPart records that a part is done.
func (r *run) keepPart(ctx context.Context, name string, files []commit.PartFile, ended job.Outcome) error {
	program, err := usage.Program()
	if err != nil {
		return err
	}
	of := part{Program: program, Layout: r.plan.Layout, Stages: ended.Stages, Steps: counters(ended.Result)}
	if ended.Result != nil && ended.Result.JobID() != "" {
		of.Jobs = []string{ended.Result.JobID()}
	}
	state, err := json.Marshal(of)
	if err != nil {
		return err
	}
	return r.commit.Keep(ctx, commit.Part{Name: name, Fingerprint: r.prints[phaseOf(name)], Files: files, State: state})
}

// prepare runs Prepare as a part of the run.
func (r *run) prepare(ctx context.Context) error {
	if r.isDone(prepared) || !r.asked.Prepares() {
		return nil
	}
	stages, err := r.plan.Prepare(job.WithPart(ctx, prepared), r.launch, r.temp)
	if err != nil {
		return r.cause(ctx, err)
	}
	files, err := r.named(ctx, commit.InKept, r.commit.Kept(), r.plan.PreparedPrefix())
	if err != nil {
		return err
	}
	return r.keepPart(ctx, prepared, files, job.Outcome{Stages: stages})
}

// keepPlain keeps the decompressed files that a wave left.
func (r *run) keepPlain(ctx context.Context, name string) error {
	if !storage.IsLocal(r.temp) {
		return nil
	}
	files, err := r.named(ctx, commit.InTemporary, r.temp, "plain-")
	if err != nil || len(files) == 0 {
		return err
	}
	return r.keepPart(ctx, name, files, job.Outcome{})
}

// named returns the files of a folder whose names begin with prefix and that no part lists yet.
func (r *run) named(ctx context.Context, in commit.In, folder, prefix string) (files []commit.PartFile, err error) {
	names, err := storage.Names(ctx, folder)
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	for _, p := range r.commit.Parts() {
		for _, f := range p.Files {
			kept[f.Name] = true
		}
	}
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) || kept[name] {
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

// checkRead writes the table rejected and returns a *TooManyUnreadableError if the run has more unreadable records than
// it accepts. Before the last wave (more), a percentage cannot be judged, and a source may still turn out to have a
// text column.
func (r *run) checkRead(ctx context.Context, sum sink.ReadTotals, more bool) error {
	limit := r.asked.MaxRejected
	if more && (limit.Percent > 0 || sum.Unreadable <= limit.Records) || !limit.Exceeded(sum) {
		return nil
	}
	err := r.part(ctx, "unreadable", func(b *builder) []flow.Facts {
		rest := b.files(rejected)
		rows := exchange.Leave[flow.Rows[records.Rejected]](b.scope, rest, rejectedLane)
		writing := r.plan.writing(r.commit.Staged(), r.temp)
		return []flow.Facts{sink.Table(b.scope, output.Rejected, r.plan.RejectedSlices(), writing, rows)}
	})
	return cmp.Or(err, error(&TooManyUnreadableError{ReadTotals: sum, More: more}))
}

// gather joins the facts of all parts into one ledger, and adds the stages and counters of their jobs to the record.
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
