package dedup

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/candidates"
	"github.com/neardup/neardup/transforms/components"
	"github.com/neardup/neardup/transforms/crowds"
	"github.com/neardup/neardup/transforms/decide"
	"github.com/neardup/neardup/transforms/exchange"
	"github.com/neardup/neardup/transforms/recall"
	"github.com/neardup/neardup/transforms/sets"
	"github.com/neardup/neardup/transforms/signature"
	"github.com/neardup/neardup/transforms/spool"
	"github.com/neardup/neardup/transforms/verify"
)

// Names of files in a run's temporary folder.
const (
	ledgerFile = "ledger.jsonl"
	copiesFile = "copies.json"
)

// Plan determines the pipeline that Build builds.
type Plan struct {
	*job.Plan
	Config Config
	From   *output.Finished // the output whose documents are decided again, or nil
}

// Build builds the pipeline that docs/architecture.md draws. temp is the run's temporary folder: it holds the shared
// inputs, and the ledger once the job is complete.
func Build(s beam.Scope, p *Plan, staged output.Folder, temp string) {
	keys, found := p.search(s, temp)
	rows := p.decide(s, &found, temp)
	written := p.tables(s, &keys, &rows, p.slices(1), staged, temp)
	written.facts = append(written.facts,
		sink.Table(s, output.Pairs, p.slices(p.pairsPerDocument()), p.writing(staged, temp), rows.Pairs...),
		sink.Table(s, output.Clusters, p.slices(1), p.writing(staged, temp), rows.Clusters...))
	if p.Request.Writes(output.Corpus) {
		written.facts = append(written.facts, p.corpus(s, written.dropped, staged, temp, blocks.Range{}))
	}
	if p.Request.Writes(output.Documents) {
		written.facts = append(written.facts, p.documents(s, &keys, &rows, staged, temp))
	}
	p.FailOnUnreadable(s, temp, keys.facts, written.rejected)
	sink.Ledger(s, storage.Join(temp, ledgerFile), slices.Concat([]flow.Facts{keys.facts}, found.facts, written.facts)...)
}

// search reads the documents and finds similar ones, or takes them from the tables of a finished output.
func (p *Plan) search(s beam.Scope, temp string) (keys, found) {
	if p.From != nil {
		return p.replayed(s, temp)
	}
	keys := p.read(s, temp, blocks.Range{})
	if p.together() {
		keys = p.grouped(s, keys)
	}
	return keys, p.compare(s, p.connect(s, &keys, temp), keys.drawn, temp)
}

// keys holds the collections that the first read produces.
type keys struct {
	bands    exchange.Groups
	firsts   exchange.Groups
	signed   signature.Signed // its Bands and Firsts are not yet grouped
	drawn    flow.Drawn       // only if the recall is measured
	rejected []flow.Rows[records.Rejected]
	dropped  flow.Dropped // keys of unreadable records
	listed   flow.Listed  // only if the table documents is written
	facts    flow.Facts
}

// Lanes of the collections that one part of the pipeline leaves for the next. The numbers appear in the files of runs
// in phases.
const (
	bandsLane exchange.Lane = iota + 1
	firstsLane
	sizedLane
	copiesLane
	drawnLane
	rejectedLane
	droppedLane
	factsLane
	profilesLane
	pairsLane
	linksLane
	copiedLane
	membersLane
	pairRowsLane
	clusterRowsLane
	removedRowsLane
	listedLane
	edgesLane
	setsLane
)

// read reads the documents of splits, and makes their keys or, if all pairs of documents are compared, their sets.
func (p *Plan) read(s beam.Scope, temp string, splits blocks.Range) keys {
	docs, compared, rejected := p.Read(s, temp, splits)
	k := keys{rejected: rejected, dropped: docs.Dropped, facts: docs.Facts}
	if p.Request.Writes(output.Documents) {
		k.listed = docs.Listed
	}
	if rules := p.Request.Texts.Rules; slices.ContainsFunc(rules, func(r match.Rule) bool { return r.Reads() }) {
		k.facts = flow.Flatten(s, k.facts, signature.Unread(s, compared, rules, job.Inputs(temp)))
	}
	if p.Complete {
		k.signed = signature.Sets(s, compared, p.Signature(temp), p.ofAll(temp))
	} else {
		k.signed = signature.Sign(s, compared, p.Signature(temp))
	}
	k.rejected = append(k.rejected, k.signed.Rejected...)
	if p.Request.MeasureRecall > 0 {
		k.drawn = p.measuring(temp).Draw(s, compared)
	}
	return k
}

// entries are those of the collections from which candidates are found.
func (k *keys) entries() []exchange.Entry {
	return []exchange.Entry{
		exchange.Enter(bandsLane, k.signed.Bands), exchange.Enter(firstsLane, k.signed.Firsts),
		exchange.Enter(sizedLane, k.signed.Sized),
		exchange.Enter(copiesLane, k.signed.Copies), exchange.Enter(drawnLane, k.drawn),
	}
}

// rest are the entries of the other collections.
func (k *keys) rest() []exchange.Entry {
	return []exchange.Entry{
		exchange.Enter(rejectedLane, k.rejected...), exchange.Enter(droppedLane, k.dropped),
		exchange.Enter(listedLane, k.listed),
	}
}

// leave returns the collections of entries, after an exchange.
func (p *Plan) leave(s beam.Scope, all exchange.Arrived) (k keys) {
	switch {
	case p.Complete:
		k.signed.Sized = exchange.Leave[flow.Sized](s, all, sizedLane)
	case p.Request.Same != "":
	case all.Grouped():
		k.bands = exchange.Of[flow.Bands](s, all, bandsLane, (p.Choice.Bands+p.Pieces.Count)<<p.Layout.ShardBits)
	default:
		k.signed.Bands = exchange.Leave[flow.Bands](s, all, bandsLane)
	}
	k.firsts = exchange.Of[flow.Firsts](s, all, firstsLane, p.Layout.HashShards)
	k.signed.Copies = exchange.Leave[flow.Members](s, all, copiesLane)
	if p.Request.MeasureRecall > 0 {
		k.drawn = exchange.Leave[flow.Drawn](s, all, drawnLane)
	}
	return k
}

// grouped sends all collections of the first read through one GroupByKey.
func (p *Plan) grouped(s beam.Scope, k keys) keys {
	entries := append(k.entries(), k.rest()...)
	all := exchange.Group(s, append(entries, exchange.EnterFacts(factsLane, k.facts))...)
	g := p.leave(s, all)
	g.rejected = []flow.Rows[records.Rejected]{exchange.Leave[flow.Rows[records.Rejected]](s, all, rejectedLane)}
	if p.Request.Writes(output.Documents) {
		g.listed = exchange.Leave[flow.Listed](s, all, listedLane)
	}
	g.dropped, g.facts = exchange.Leave[flow.Dropped](s, all, droppedLane), exchange.LeaveFacts(s, all, factsLane)
	return g
}

// connect returns the documents to be compared, each with its component, and the copies.
func (p *Plan) connect(s beam.Scope, k *keys, temp string) flow.Members {
	if p.Request.Method == job.Exact {
		return flow.Flatten(s, k.signed.Copies, candidates.Copies(s, k.groupedFirsts(s),
			candidates.Params{Inputs: job.Inputs(temp)}))
	}
	edges, copies := p.edges(s, k, temp)
	return flow.Flatten(s, copies, components.Connect(s, edges, p.components(temp)))
}

// found holds the collections that describe similar documents; the decision needs no others.
type found struct {
	profiles flow.Profiles
	pairs    flow.NearPairs
	links    flow.Links
	copies   flow.Copies
	facts    []flow.Facts
}

// compare compares documents. drawn are those on which the recall is measured.
func (p *Plan) compare(s beam.Scope, members flow.Members, drawn flow.Drawn, temp string) found {
	features := p.features(s, members, temp)
	if p.Request.Method == job.Exact {
		return found{profiles: features.Profiles, copies: features.Copies}
	}
	small, more := p.joinSmall(s, exchange.Alone(s.Scope("verify.Small"), features.Sets), temp)
	large := p.joinLarge(s, larger{
		sets: flow.Flatten(s, features.LargeSets, more.sets), samples: features.Samples,
		profiles: flow.Flatten(s, features.LargeProfiles, more.profiles),
	}, drawn, temp)
	return found{
		profiles: features.Profiles, pairs: flow.Flatten(s, small.pairs, large.pairs), links: large.links,
		copies: features.Copies,
		facts:  append(large.facts, small.facts...),
	}
}

// features reads documents again and makes the sets by which they are compared.
func (p *Plan) features(s beam.Scope, members flow.Members, temp string) sets.Features {
	return sets.Make(s, source.Fetch(s, members, p.Source(temp)), p.sets(temp))
}

// larger holds the collections from which large components are joined.
type larger struct {
	sets     flow.LargeSets
	profiles flow.LargeProfiles
	samples  flow.Samples
}

// joinSmall joins small components, and returns those whose sets are too large for that.
func (p *Plan) joinSmall(s beam.Scope, of exchange.Groups, temp string) (found, larger) {
	small, tooLarge, profiles := verify.Small(s, of, p.verify(temp))
	return found{pairs: small.Pairs, facts: []flow.Facts{small.Facts}}, larger{sets: tooLarge, profiles: profiles}
}

// groupedFirsts returns firsts in groups, grouping them if they are not yet.
func (k *keys) groupedFirsts(s beam.Scope) exchange.Groups {
	if k.firsts.All.IsValid() {
		return k.firsts
	}
	return exchange.Alone(s.Scope("candidates.Copies"), k.signed.Firsts)
}

// edges returns the documents to be compared (those that share a band key or, if all pairs are compared, those that
// have a pair), and the copies.
func (p *Plan) edges(s beam.Scope, k *keys, temp string) (flow.Edges, flow.Members) {
	params := p.candidates(temp)
	if k.bands.All.IsValid() { // grouped bands cannot be filtered by a list of copies
		params.List = ""
	}
	copies := candidates.Copies(s, k.groupedFirsts(s), params)
	all := flow.Flatten(s, k.signed.Copies, copies)
	if p.Complete {
		batches, same := spool.All(s, k.signed.Sized, job.Inputs(temp), temp)
		return flow.Flatten(s, same, verify.Connect(s, batches, p.verify(temp))), all
	}
	var edges []flow.Edges
	if !k.bands.All.IsValid() {
		bands := k.signed.Bands
		switch {
		case params.List != "" && params.Index != "":
			rest, known, keys := candidates.Known(s, bands, params)
			bands, edges = candidates.List(s, rest, copies, params, keys), append(edges, known)
		case params.List != "":
			bands = candidates.List(s, bands, copies, params)
		}
		k.bands = exchange.Alone(s.Scope("candidates.Buckets"), bands)
	}
	return flow.Flatten(s, append(edges, candidates.Buckets(s, k.bands, params))...), all
}

// entries are those of the collections, any of which may be absent.
func (f *found) entries() []exchange.Entry {
	return []exchange.Entry{
		exchange.Enter(profilesLane, f.profiles), exchange.Enter(pairsLane, f.pairs), exchange.Enter(linksLane, f.links),
		exchange.Enter(copiedLane, f.copies),
	}
}

// leaveFound returns the collections of found.entries, after an exchange.
func (p *Plan) leaveFound(s beam.Scope, all exchange.Arrived) (f found) {
	f.profiles, f.copies = exchange.Leave[flow.Profiles](s, all, profilesLane),
		exchange.Leave[flow.Copies](s, all, copiedLane)
	if p.Request.Method != job.Exact {
		f.pairs, f.links = exchange.Leave[flow.NearPairs](s, all, pairsLane), exchange.Leave[flow.Links](s, all, linksLane)
	}
	return f
}

// decide decides which documents are kept.
func (p *Plan) decide(s beam.Scope, f *found, temp string) decide.Rows {
	if p.Request.Method == job.Exact && p.From == nil {
		return decide.Copies(s, f.profiles, f.copies, p.deciding(temp))
	}
	return decide.Survivors(s, f.profiles, f.pairs, f.links, f.copies, p.deciding(temp))
}

// written holds the collections that writing the tables produces.
type written struct {
	dropped  []flow.Dropped // records to leave out of the corpus
	rejected flow.Facts     // of the table rejected
	facts    []flow.Facts
}

// documents writes the table documents.
func (p *Plan) documents(s beam.Scope, k *keys, rows *decide.Rows, staged output.Folder, temp string) flow.Facts {
	return sink.Documents(s, p.documentsSlices(), p.writing(staged, temp), sink.About{
		Listed: []flow.Listed{k.listed}, Rejected: k.rejected, Clusters: rows.Clusters, Removed: rows.Removed,
	})
}

// tables writes the tables rejected and removed.
func (p *Plan) tables(s beam.Scope, k *keys, rows *decide.Rows, slices int, staged output.Folder, temp string) written {
	writing := p.writing(staged, temp)
	w := written{dropped: append(rows.Dropped, k.dropped),
		rejected: sink.Table(s, output.Rejected, p.RejectedSlices(), writing, k.rejected...)}
	w.facts = append(rows.Facts,
		w.rejected,
		sink.Table(s, output.Removed, slices, writing, rows.Removed...),
	)
	if p.Request.DropNotCompared { // rejected lists these besides unreadable records
		w.dropped[len(w.dropped)-1] = sink.Listed(s, job.Inputs(temp), k.rejected...)
	}
	return w
}

// corpus writes batches of the corpus.
func (p *Plan) corpus(
	s beam.Scope, dropped []flow.Dropped, staged output.Folder, temp string, batches blocks.Range,
) flow.Facts {
	return sink.Corpus(s, p.corpusSlices(), p.writing(staged, temp), p.Reading(), batches, dropped...)
}

func (p *Plan) writing(staged output.Folder, temp string) sink.Params {
	return p.Writing(temp, staged, p.Request.Parts, map[string]string{
		"neardup.method":  p.Request.Method,
		"neardup.same":    string(p.Request.Same),
		"neardup.cluster": p.Request.Cluster,
		"neardup.keep":    strings.Join(p.Request.Keep, " "),
	})
}

// together reports whether one GroupByKey groups all collections of the first read.
func (p *Plan) together() bool { return p.Config.Runner.Traits().Together && !p.Complete }

// sent estimates how many bytes the first read sends.
func (p *Plan) sent() int64 {
	if p.Complete {
		return p.KeyBytes() + p.featureBytes()
	}
	return p.KeyBytes()
}

// expected returns how many estimated bytes a plan may assign to a task that can send at most task bytes: the number of
// documents is an estimate, and tasks do not share quite evenly.
func expected(task int64) int64 { return task * 3 / 4 }

// clusterWorkers returns the minimum number of workers for one job on a cluster; Flink has the narrowest limit per
// task.
func (p *Plan) clusterWorkers() int64 { return p.sent()/expected(job.Flink.Traits().TaskBytes) + 1 }

// checkTasks returns an error if a task would send more than its runner can hold. In phases, reads write to files, and
// checkSent checks each later job by their sizes; but if all pairs are compared, one job groups everything.
func (p *Plan) checkTasks() error {
	if p.phased() && !p.Complete {
		return nil
	}
	return p.checkRead()
}

// checkRead is checkTasks for a run in one job.
func (p *Plan) checkRead() error {
	in, sent, most := p.Listing.Inputs, p.sent(), p.Config.mostOfTask()
	if most == 0 || sent <= expected(most) {
		return nil
	}
	for i := range in.Splits.Len() {
		split := in.Splits.At(i)
		whole := split.Start == 0 && (i+1 == in.Splits.Len() || in.Splits.At(i+1).File != split.File)
		if of := int64(float64(sent) * float64(in.Size(split.File)) / float64(in.Bytes())); whole && of > expected(most) {
			return job.Usage("%s: one task reads the whole file and sends about %d MB, but a task of Beam's Flink runner "+
				"never ends if it sends more than %d MB; split the file, or decompress it",
				in.File(split.File).Path, of>>20, most>>20)
		}
	}
	if sent <= p.Config.sendable() {
		return nil
	}
	return p.tooFew("the first read sends about", sent, most)
}

// checkSent returns an error if a job that groups sent bytes would send more than its tasks can.
func (p *Plan) checkSent(sent int64) error {
	most := p.Config.mostOfTask()
	if most == 0 || sent <= p.Config.sendable() {
		return nil
	}
	return p.tooFew("the next job sends", sent, most)
}

// tooFew returns the error for a job that sends more than its workers can.
func (p *Plan) tooFew(what string, sent, most int64) error {
	return job.Usage("--workers %d: %s %d MB, but a task of Beam's Flink runner never ends if it sends more than %d MB; "+
		"use --workers %d or more",
		cmp.Or(p.Config.InForce.Workers, p.Config.Workers), what, sent>>20, most>>20, sent/expected(most)+1)
}

// joinLarge joins large components, and processes crowds. drawn are documents on which the recall is measured.
func (p *Plan) joinLarge(s beam.Scope, of larger, drawn flow.Drawn, temp string) found {
	parted := crowds.Tell(s, of.profiles, of.samples, p.crowds(temp))
	ofCrowds, ofOthers := spool.Sets(s, of.sets, parted.Crowds, parted.Others, temp)
	others := verify.Large(s, ofOthers, p.verify(temp))
	passed := crowds.Pass(s, ofCrowds, p.crowds(temp))
	f := found{
		pairs: flow.Flatten(s, parted.Pairs, others.Pairs, passed.Pairs), links: passed.Links,
		facts: []flow.Facts{parted.Facts, parted.Named, others.Facts},
	}
	if p.Request.MeasureRecall > 0 {
		measuring := p.measuring(temp)
		sample := source.Fetch(s, measuring.Choose(s, drawn), p.Source(temp))
		f.facts = append(f.facts, measuring.Keep(s, sample, parted.Crowds))
	}
	return f
}

// ofAll returns how the sets of all documents are made.
func (p *Plan) ofAll(temp string) signature.SetsParams {
	return signature.SetsParams{Verifier: p.Verifier(temp),
		Batching: spool.NewBatching(p.sizes(), int64(p.batchBytes(p.Config.cellBytes())))}
}

// sizes estimates how many documents have features of each size, in words of 8 bytes.
func (p *Plan) sizes() map[int]int64 {
	sampled, v := int64(0), p.Verifier("").New()
	all := map[int]int64{}
	for size, n := range p.Sizes {
		sampled += int64(size) * n
		all[v.Words(size)] += n
	}
	for words, n := range all {
		all[words] = int64(math.Ceil(float64(n) * (float64(p.Shingles) / float64(sampled))))
	}
	return all
}

// featureBytes estimates the total size of all documents' features.
func (p *Plan) featureBytes() (bytes int64) {
	for words, n := range p.sizes() {
		bytes += blocks.ShingleBytes * int64(words) * n
	}
	return bytes
}

// batchBytes returns the size of a batch of documents, if a cell has that size: larger if there would be too many
// batches.
func (p *Plan) batchBytes(cell int) int {
	return max(cell, int(p.featureBytes()/job.MostGroups))
}

// joinBytes estimates the maximum of bytes that sets take in transit and in reads if all pairs are compared, in cells
// of the usual size.
func (p *Plan) joinBytes() int64 {
	if !p.Complete {
		return 0
	}
	sizes := p.sizes()
	batching := spool.NewBatching(sizes, int64(p.batchBytes(p.usualCell())))
	cells := make([]setsim.Cell, len(batching))
	for size, n := range sizes {
		first, last := batching.Of(size)
		for b := first; b < last; b++ {
			c := &cells[b]
			c.Smallest = min(cmp.Or(c.Smallest, size), size)
			c.Largest = max(c.Largest, size)
			c.Elements += size * int(n) / (last - first)
		}
	}
	return p.featureBytes() + blocks.ShingleBytes*setsim.CellCost(cells, p.Verifier("").New().MinWords)
}

// Reads returns what each pipeline of a run with these settings reads. p may be the plan of another run with the same
// input.
func Reads(asked *job.Asked, p *job.Plan) (pipelines [][]job.Read) {
	if asked.Prepares() {
		pipelines = append(pipelines, p.Reads(job.First))
	}
	reads := p.Reads(job.First, job.Second)
	if asked.MeasureRecall > 0 {
		reads[1].Bytes *= 2 // the sample is read as well
	}
	if asked.Writes(output.Corpus) {
		reads = append(reads, p.Reads(job.Third)...)
	}
	if pipelines = append(pipelines, reads); asked.MeasureRecall > 0 {
		pipelines = append(pipelines, p.Reads(job.First))
	}
	return pipelines
}

// buildMeasurement builds the pipeline that compares all documents with the sample, which Build's pipeline has written.
func buildMeasurement(s beam.Scope, p *Plan, temp string) {
	_, compared, _ := p.Read(s, temp, blocks.Range{})
	p.measuring(temp).Join(s, compared)
}

func (p *Plan) measuring(temp string) recall.Params {
	return recall.Params{
		Inputs: job.Inputs(temp), Text: p.Spec, Verifier: p.Verifier(temp),
		Sample: p.Request.MeasureRecall, Seed: p.Request.Seed, Temp: p.KeptIn(temp),
	}
}

// candidates sets List, so that copies leave the buckets, unless the list may be too large for a process: it takes 8
// bytes for each copy.
func (p *Plan) candidates(temp string) candidates.Params {
	params := candidates.Params{Inputs: job.Inputs(temp), Index: p.Lookup(temp), ShardBits: p.Layout.ShardBits,
		Tokens: p.Choice.Bands + 1}
	if p.Documents <= 2*p.connectDocuments() && !p.Complete {
		params.List = storage.Join(temp, copiesFile)
	}
	return params
}

func (p *Plan) components(temp string) components.Params {
	return components.Params{Inputs: job.Inputs(temp), Parts: p.parts()}
}

const (
	usualConnected = 1 << 20
	mostGroup      = 64 << 20
	labelBytes     = 26 // of one label in a unionfind.Forest
)

// connectDocuments returns how many documents a part of the graph should have.
func (p *Plan) connectDocuments() int64 { return cmp.Or(p.Config.ConnectDocuments, usualConnected) }

// connectEdges returns how many edges one call may connect: as many as fit the memory share of all steps if each joins
// two labels of its own or, without a limit on memory, as many as a large group has. Results do not depend on it.
func (p *Plan) connectEdges() int64 {
	most := int64(mostGroup / components.EdgeBytes)
	if step := p.Config.Step(); step > 0 {
		most = int64(step) * int64(cmp.Or(p.Config.Workers, runtime.GOMAXPROCS(0))) / (2 * labelBytes)
	}
	return cmp.Or(p.Config.ConnectDocuments, most)
}

func (p *Plan) sets(temp string) sets.Params {
	return sets.Params{Inputs: job.Inputs(temp), Text: p.Spec, MaxSmallDocs: sets.MaxSmallDocs(p.Request.PairBudget),
		Shards: p.componentShards(), Verifier: p.Verifier(temp), Same: p.Request.Same}
}

func (p *Plan) verify(temp string) verify.Params {
	var banding lsh.Banding
	if estimates(p.Request.Asked) {
		banding = p.Choice.Banding
	}
	return verify.Params{
		Inputs: job.Inputs(temp), Verifier: p.Verifier(temp), CellBytes: p.Config.cellBytes(), PruneBytes: p.usualCell(),
		Shards:  p.componentShards(),
		Banding: banding, Seed: p.Request.Seed, Temp: temp,
	}
}

func (p *Plan) deciding(temp string) decide.Params {
	params := decide.Params{
		Inputs: job.Inputs(temp), Shards: p.componentShards(), OnePerCluster: p.Request.Cluster == job.Components,
		Clusters: p.Request.Writes(output.Clusters) || p.Request.Writes(output.Documents), KeepNone: p.Request.KeepNone,
		Verifier: p.Verifier(temp), PairBudget: p.Request.PairBudget,
		Files: p.files(temp, "decide"),
	}
	if p.From != nil {
		params.Verifier = p.told()
	}
	return params
}

func (p *Plan) crowds(temp string) crowds.Params {
	return crowds.Params{
		Params: p.verify(temp), PairBudget: p.Request.PairBudget, ChunkBytes: p.usualCell(), Files: p.files(temp, "crowds"),
		Nearest: p.Request.KeepNone,
	}
}

// files returns where the documents of a large component are sorted.
func (p *Plan) files(temp, name string) sorted.Params {
	return sorted.Params{Temp: temp, Name: name, Held: p.Config.heldRecords()}
}

// usualCell returns the size of a cell, irrespective of memory.
func (p *Plan) usualCell() int { return cmp.Or(p.Config.CellBytes, verify.DefaultCellBytes) }

const (
	edgeBytes = components.EdgeBytes
	// edgesPerDocument is a generous estimate; only copies repeat an edge in each band.
	edgesPerDocument = 4
)

// parts returns the number of groups that edges are spread over. If all documents are copies, they have an edge in each
// band, and groups are up to 16 times as large.
func (p *Plan) parts() int {
	edges := max(edgesPerDocument, int64(max(p.Choice.Bands, p.Pieces.Count))/16)
	return int(max(1, p.Documents*edgeBytes*edges/p.GroupBytes(), p.Documents/p.connectDocuments()))
}

// componentShards returns the number of component shards: each has a few megabytes, even if all documents are compared.
func (p *Plan) componentShards() sets.ComponentShards {
	if p.From != nil {
		return p.decidedShards()
	}
	return sets.ComponentShards(max(job.LeastGroups, min(p.featureBytes()/p.GroupBytes(), job.MostGroups)))
}

const (
	// keyRowBytes is the size of a row with the key of a dropped record.
	keyRowBytes = 18
	// crowdPairs is how many pairs per document transforms/crowds lists.
	crowdPairs = 66
)

// corpusSlices returns the number of groups over which the keys of a corpus batch's dropped records are spread: one,
// unless groups must be small.
func (p *Plan) corpusSlices() int {
	if p.Request.GroupBytes == 0 {
		return 1
	}
	in := p.Listing.Inputs
	documents := float64(p.Documents)
	if !in.LargeCompressed { // if it has any, one piece may hold all documents
		documents *= min(1, source.PieceBytes/float64(max(1, in.BytesOfInputs())))
	}
	return int(max(1, min(math.Ceil(documents*keyRowBytes/float64(p.Request.GroupBytes)), job.MaxSlices)))
}

// pairsPerDocument returns the maximum number of rows in pairs/ per document, on average: a component with fewer pairs
// than the budget lists all of them, a crowd crowdPairs per document. A copy has one.
func (p *Plan) pairsPerDocument() float64 {
	if p.Request.Same != "" {
		return 1
	}
	return max(crowdPairs, min(math.Sqrt(float64(p.Request.PairBudget)/2), float64(p.Documents)/2))
}

// slices returns the number of groups over which the rows of a table shard are spread if each document has up to
// rowsPerDocument rows.
func (p *Plan) slices(rowsPerDocument float64) int {
	return p.Slices(float64(p.Documents)*rowsPerDocument, 0)
}

// documentsSlices is slices for the table documents, whose shards are files.
func (p *Plan) documentsSlices() int {
	in := p.Listing.Inputs
	largest := int64(0)
	for file := in.References(); file < in.Len(); file++ {
		largest = max(largest, in.Size(file))
	}
	share := float64(largest) / float64(max(in.BytesOfInputs(), 1)) * float64(in.Shards) // of a shard's rows
	if in.LargeCompressed {
		share = 1
	}
	return p.Slices(float64(p.Documents+p.UnreadableRecords)*share, float64(p.UnreadableBytes)*share)
}
