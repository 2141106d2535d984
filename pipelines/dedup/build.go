package dedup

import (
	"cmp"
	"math"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/candidates"
	"github.com/neardup/neardup/transforms/components"
	"github.com/neardup/neardup/transforms/crowds"
	"github.com/neardup/neardup/transforms/decide"
	"github.com/neardup/neardup/transforms/recall"
	"github.com/neardup/neardup/transforms/sets"
	"github.com/neardup/neardup/transforms/signature"
	"github.com/neardup/neardup/transforms/spool"
	"github.com/neardup/neardup/transforms/together"
	"github.com/neardup/neardup/transforms/verify"
)

// Files of a run's temporary folder.
const (
	ledgerFile   = "ledger.jsonl"
	exceededFile = "exceeded.json"
	copiesFile   = "copies.json"
)

// Plan is what the pipeline is built from.
type Plan struct {
	*job.Plan
	Config Config
}

// Build builds the pipeline, as docs/architecture.md draws it. temp is the run's temporary
// folder, where the shared inputs are; the ledger will be there when the job is complete.
func Build(s beam.Scope, p *Plan, staged output.Folder, temp string) {
	inputs, reading := job.Inputs(temp), p.Source(temp)
	writing := sink.Params{Inputs: inputs, Output: staged, Sync: p.Config.Runner.Traits().OnCluster, Temp: temp, GroupRows: p.groupRows(), HeldRows: p.Config.heldRows(), Pack: p.Request.GroupBytes > 0, Write: p.Request.Parts, Metadata: p.metadata()}

	docs, compared, rejected := p.Read(s, temp)
	read := firstRead{Documents: docs, compared: compared, rejected: rejected}
	var rows decide.Rows
	var facts []flow.Facts
	switch p.Request.Method {
	case job.Exact:
		read.sign(signature.Sign(s, compared, p.Signature(temp)))
		copies := candidates.Copies(s, together.Alone(s.Scope("candidates.Copies"), read.signed.Firsts), candidates.Params{Inputs: inputs})
		profiles, copied := sets.Profiles(s, source.Fetch(s, flow.Flatten(s, read.signed.Copies, copies), reading), p.Request.Same, p.sets(temp))
		rows = decide.Copies(s, profiles, copied, p.decide(temp))
	case job.MinHash, job.SimHash, job.Complete:
		edges, copies := p.edges(s, &read, temp)
		connected := components.Connect(s, edges, p.components(inputs))
		features := sets.Make(s, source.Fetch(s, flow.Flatten(s, copies, connected), reading), p.sets(temp))
		small, tooLarge, tooLargeProfiles := verify.Small(s, features.Sets, p.verify(temp))
		large := p.joinLarge(s, features, flow.Flatten(s, features.LargeSets, tooLarge), flow.Flatten(s, features.LargeProfiles, tooLargeProfiles), temp)
		rows = decide.Survivors(s, features.Profiles, flow.Flatten(s, small.Pairs, large.pairs), large.links, features.Copies, p.decide(temp))
		facts = append(large.facts, small.Facts)
		if p.Request.MeasureRecall > 0 {
			measuring := p.measuring(temp)
			sample := source.Fetch(s, measuring.Choose(s, compared), reading)
			facts = append(facts, measuring.Keep(s, sample, large.crowds))
		}
	}

	rejectedFacts := sink.Table(s, output.Rejected, p.rejectedSlices(), writing, read.rejected...)
	facts = append(append(facts, rows.Facts...),
		read.Facts,
		rejectedFacts,
		sink.Table(s, output.Pairs, p.slices(p.pairsPerDocument()), writing, rows.Pairs...),
		sink.Table(s, output.Clusters, p.slices(1), writing, rows.Clusters...),
		sink.Table(s, output.Removed, p.slices(1), writing, rows.Removed...),
	)
	if p.Request.DropNotCompared {
		read.Dropped = sink.Listed(s, inputs, read.rejected...)
	}
	if p.Request.Writes(output.Corpus) {
		facts = append(facts, sink.Corpus(s, p.corpusSlices(), writing, p.Reading(), append(rows.Dropped, read.Dropped)...))
	}
	sink.FailOnUnreadable(s, inputs, storage.Join(temp, exceededFile), p.Request.MaxRejected, read.Facts, rejectedFacts)
	sink.Ledger(s, storage.Join(temp, ledgerFile), facts...)
}

// firstRead is what the first read leaves.
type firstRead struct {
	source.Documents
	compared flow.Documents
	rejected []flow.Rows[records.Rejected]
	signed   signature.Signed
}

func (r *firstRead) sign(signed signature.Signed) {
	r.signed = signed
	r.rejected = append(r.rejected, signed.Rejected...)
}

// edges finds which documents are to be compared: those that share a band key or, if all are compared, that have a pair. And it finds
// the copies.
func (p *Plan) edges(s beam.Scope, r *firstRead, temp string) (flow.Edges, flow.Members) {
	if p.Complete {
		sized, signed := signature.Sets(s, r.compared, p.Signature(temp), p.ofAll(temp))
		r.sign(signed)
		batches, same := spool.All(s, sized, temp)
		copies := candidates.Copies(s, together.Alone(s.Scope("candidates.Copies"), signed.Firsts), candidates.Params{Inputs: job.Inputs(temp)})
		return flow.Flatten(s, same, verify.Connect(s, batches, p.verify(temp))), flow.Flatten(s, signed.Copies, copies)
	}
	r.sign(signature.Sign(s, r.compared, p.Signature(temp)))
	params := p.candidates(temp)
	if p.together() {
		bands, firsts := r.together(s)
		return candidates.Buckets(s, bands, params), flow.Flatten(s, r.signed.Copies, candidates.Copies(s, firsts, params))
	}
	bands, copies := r.signed.Bands, candidates.Copies(s, together.Alone(s.Scope("candidates.Copies"), r.signed.Firsts), params)
	if params.List != "" {
		bands = candidates.List(s, bands, copies, params)
	}
	return candidates.Buckets(s, together.Alone(s.Scope("candidates.Buckets"), bands), params), flow.Flatten(s, r.signed.Copies, copies)
}

// together reports whether all that the first read leaves is grouped by one GroupByKey.
func (p *Plan) together() bool { return p.Config.Runner.Traits().Together && !p.Complete }

// sent is about how much the first read sends.
func (p *Plan) sent() int64 {
	if p.Complete {
		return p.KeyBytes() + p.featureBytes()
	}
	return p.KeyBytes()
}

// expected is what a plan may expect of a task that sends so much at most: its documents are estimated.
func expected(task int64) int64 { return task * 3 / 4 }

// clusterWorkers is the minimum number of workers of a job on a cluster, of which Flink has the narrowest tasks.
func (p *Plan) clusterWorkers() int64 { return p.sent()/expected(job.Flink.Traits().TaskBytes) + 1 }

// checkTasks refuses a job with so many workers, 0 for an unknown number, of which a task would send more than its runner can hold.
func (p *Plan) checkTasks(workers int) error {
	in, sent, most := p.Listing.Inputs, p.sent(), p.Config.Runner.Traits().TaskBytes
	if most == 0 || sent <= expected(most) {
		return nil
	}
	for i := range in.Splits.Len() {
		split := in.Splits.At(i)
		whole := split.Start == 0 && (i+1 == in.Splits.Len() || in.Splits.At(i+1).File != split.File)
		if of := int64(float64(sent) * float64(in.Size(split.File)) / float64(in.Bytes())); whole && of > expected(most) {
			return job.Usage("%s: one task reads the whole file and sends about %d MB, but a task of Beam's runner for Flink that sends more than %d MB never ends; cut the file into smaller ones, or decompress it",
				in.File(split.File).Path, of>>20, most>>20)
		}
	}
	if least := sent/expected(most) + 1; int64(workers) < least {
		return job.Usage("--workers %d: the first read sends about %d MB, but a task of Beam's runner for Flink that sends more than %d MB never ends; give --workers %d or more",
			workers, sent>>20, most>>20, least)
	}
	return nil
}

// together has all that the read leaves go through one GroupByKey, and returns the groups of band entries and of firsts.
func (r *firstRead) together(s beam.Scope) (bands, firsts together.Groups) {
	shuffle := together.New(s)
	bands.Lane, firsts.Lane = together.Add(shuffle, r.signed.Bands), together.Add(shuffle, r.signed.Firsts)
	copies, dropped, facts := together.Add(shuffle, r.signed.Copies), together.Add(shuffle, r.Dropped), shuffle.AddFacts(r.Facts)
	rejected := make([]together.Lane, len(r.rejected))
	for i, rows := range r.rejected {
		rejected[i] = together.Add(shuffle, rows)
	}
	all := shuffle.Done()
	bands.All, firsts.All = all, all
	r.signed.Copies = together.Leave[flow.Members](s, all, copies)
	r.Dropped, r.Facts = together.Leave[flow.Dropped](s, all, dropped), together.LeaveFacts(s, all, facts)
	for i, lane := range rejected {
		r.rejected[i] = together.Leave[flow.Rows[records.Rejected]](s, all, lane)
	}
	return bands, firsts
}

// joined is what is known of large components.
type joined struct {
	pairs  flow.NearPairs
	links  flow.Links
	crowds flow.Turns
	facts  []flow.Facts
}

// joinLarge joins large components, and goes through crowds.
func (p *Plan) joinLarge(s beam.Scope, of sets.Features, large flow.LargeSets, profiles flow.LargeProfiles, temp string) joined {
	told := crowds.Tell(s, profiles, of.Samples, p.crowds(job.Inputs(temp), temp))
	ofCrowds, ofOthers := spool.Sets(s, large, told.Crowds, told.Others, temp)
	others := verify.Large(s, ofOthers, p.verify(temp))
	passed := crowds.Pass(s, ofCrowds, p.crowds(job.Inputs(temp), temp))
	return joined{
		pairs: flow.Flatten(s, told.Pairs, others.Pairs, passed.Pairs), links: passed.Links, crowds: told.Crowds,
		facts: []flow.Facts{told.Facts, told.Named, others.Facts},
	}
}

// ofAll says how the sets of all documents are made.
func (p *Plan) ofAll(temp string) signature.SetsParams {
	return signature.SetsParams{Verifier: p.Verifier(temp), Batching: spool.NewBatching(p.sizes(), int64(p.batchBytes(p.Config.cellBytes())))}
}

// sizes estimates how many documents have features of so many words.
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

// featureBytes estimates the size of the features of all documents.
func (p *Plan) featureBytes() (bytes int64) {
	for words, n := range p.sizes() {
		bytes += blocks.ShingleBytes * int64(words) * n
	}
	return bytes
}

// batchBytes is the size of a batch of all documents, if it is not to be larger than a cell.
func (p *Plan) batchBytes(cell int) int {
	return max(cell, int(p.featureBytes()/job.MostGroups))
}

// joinBytes is about how many bytes of sets are sent and read at most if all documents are compared, in cells of the usual size.
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

// Reads are those of all pipelines of a run that is asked so; the plan, be it for the run or for another, is of the same input.
func Reads(asked *job.Asked, p *job.Plan) (pipelines [][]job.Read) {
	if asked.Prepares() {
		pipelines = append(pipelines, p.Reads(job.First))
	}
	reads := p.Reads(job.First, job.Second)
	if asked.MeasureRecall > 0 {
		reads[1].Bytes *= 2 // the sample is read besides
	}
	if asked.Writes(output.Corpus) {
		reads = append(reads, p.Reads(job.Third)...)
	}
	if pipelines = append(pipelines, reads); asked.MeasureRecall > 0 {
		pipelines = append(pipelines, p.Reads(job.First))
	}
	return pipelines
}

// buildMeasurement builds the pipeline that compares the sample, which that of Build has written,
// with all documents.
func buildMeasurement(s beam.Scope, p *Plan, temp string) {
	_, compared, _ := p.Read(s, temp)
	p.measuring(temp).Join(s, compared)
}

func (p *Plan) measuring(temp string) recall.Params {
	return recall.Params{
		Inputs: job.Inputs(temp), Text: p.Spec, Verifier: p.Verifier(temp),
		Sample: p.Request.MeasureRecall, Seed: p.Request.Seed, Temp: temp,
	}
}

// candidates lists copies unless they may be too many for each process to hold, 8 bytes for each document, or are found at the same time
// as buckets.
func (p *Plan) candidates(temp string) candidates.Params {
	params := candidates.Params{Inputs: job.Inputs(temp)}
	if p.Documents <= 2*p.connectDocuments() && !p.together() {
		params.List = storage.Join(temp, copiesFile)
	}
	return params
}

func (p *Plan) components(inputs string) components.Params {
	return components.Params{
		Inputs: inputs, Parts: p.parts(), Documents: p.Documents, Limit: p.connectDocuments(),
	}
}

// connectDocuments is how many documents one worker connects at most.
func (p *Plan) connectDocuments() int64 {
	return cmp.Or(p.Config.ConnectDocuments, components.DefaultLimit)
}

func (p *Plan) sets(temp string) sets.Params {
	return sets.Params{Inputs: job.Inputs(temp), Text: p.Spec, MaxSmallDocs: sets.MaxSmallDocs(p.Request.PairBudget), Shards: p.componentShards(), Verifier: p.Verifier(temp)}
}

func (p *Plan) verify(temp string) verify.Params {
	var banding lsh.Banding
	if estimates(p.Request.Asked) {
		banding = p.Choice.Banding
	}
	return verify.Params{
		Verifier: p.Verifier(temp), CellBytes: p.Config.cellBytes(), PeelBytes: p.usualCell(), Shards: p.componentShards(),
		Banding: banding, Seed: p.Request.Seed, Temp: temp,
	}
}

func (p *Plan) decide(temp string) decide.Params {
	return decide.Params{
		Inputs: job.Inputs(temp), Shards: p.componentShards(), OnePerCluster: p.Request.Cluster == job.Components, Clusters: p.Request.Writes(output.Clusters),
		Verifier: p.Verifier(temp), PairBudget: p.Request.PairBudget,
	}
}

func (p *Plan) crowds(inputs, temp string) crowds.Params {
	return crowds.Params{
		Inputs: inputs, Params: p.verify(temp), PairBudget: p.Request.PairBudget, ChunkBytes: p.usualCell(),
	}
}

// usualCell is the size of a cell whatever memory there is.
func (p *Plan) usualCell() int { return cmp.Or(p.Config.CellBytes, verify.DefaultCellBytes) }

// metadata is what each Parquet file says of how it came to be.
func (p *Plan) metadata() map[string]string {
	return p.Metadata(map[string]string{
		"neardup.method":  p.Request.Method,
		"neardup.same":    string(p.Request.Same),
		"neardup.cluster": p.Request.Cluster,
		"neardup.keep":    p.Request.Keep,
	})
}

const (
	edgeBytes = 16
	// Edges are mostly far fewer than documents; among copies each band repeats them.
	edgesPerDocument = 4
)

// parts is the number of groups that edges are spread over. If all documents are copies they have an edge
// in each band, and groups are up to 16 times as large.
func (p *Plan) parts() int {
	edges := max(edgesPerDocument, int64(max(p.Choice.Bands, p.Pieces.Count))/16)
	return int(max(1, p.Documents*edgeBytes*edges/p.GroupBytes(), p.Documents/p.connectDocuments()))
}

// componentShards is the number of component shards: few megabytes each, even if all documents are
// compared.
func (p *Plan) componentShards() sets.ComponentShards {
	return sets.ComponentShards(max(job.LeastGroups, min(p.featureBytes()/p.GroupBytes(), job.MostGroups)))
}

const (
	rowBytes = 64 // of a row, beside two ids and two sources
	// Of the row of a dropped record's key.
	keyRowBytes = 18
	usualSlice  = 16 << 20
	maxSlices   = 256
	// usualGroupRows is below the 64 MB of a group: more rows are in files, a small one for each slice.
	usualGroupRows = 48 << 20
	// Crowds list so many pairs for each document (crowds).
	crowdPairs = 66
)

// sliceBytes is the size of the rows of a slice: where groups are to be small, of one.
func (p *Plan) sliceBytes() int64 { return cmp.Or(p.Request.GroupBytes, usualSlice) }

// groupRows is how many bytes of the rows of all slices go on in a group, and not in files.
func (p *Plan) groupRows() int64 {
	if p.Config.SliceRows > 0 {
		return 0
	}
	return cmp.Or(p.Request.GroupBytes, usualGroupRows)
}

// corpusSlices is the number of groups that the keys of a corpus batch's dropped records are spread over: one, unless groups are to be
// small.
func (p *Plan) corpusSlices() int {
	if p.Request.GroupBytes == 0 {
		return 1
	}
	in := p.Listing.Inputs
	documents := float64(p.Documents)
	if !in.LargeCompressed { // else all may be in one piece
		documents *= min(1, source.PieceBytes/float64(max(1, in.Bytes())))
	}
	return int(max(1, min(math.Ceil(documents*keyRowBytes/float64(p.Request.GroupBytes)), maxSlices)))
}

// pairsPerDocument is the most that pairs/ lists of each document on average: a component of fewer
// pairs than the budget has all of them, of a larger one those of crowds are listed. A copy has one.
func (p *Plan) pairsPerDocument() float64 {
	if p.Request.Same != "" {
		return 1
	}
	return max(crowdPairs, min(math.Sqrt(float64(p.Request.PairBudget)/2), float64(p.Documents)/2))
}

// slices is the number of groups that the rows of a table shard are spread over, if each document
// may have so many.
func (p *Plan) slices(rowsPerDocument float64) int {
	return p.slicesOf(float64(p.Documents)*rowsPerDocument, 0)
}

// rejectedSlices is slices of the table rejected: each document may be in it, and each unreadable record is,
// with its bytes.
func (p *Plan) rejectedSlices() int {
	return p.slicesOf(float64(p.Documents+p.UnreadableRecords), float64(p.UnreadableBytes))
}

// slicesOf is the number of groups that the rows of a table shard are spread over, if the table has so many
// rows, and so many bytes that are neither ids nor sources.
func (p *Plan) slicesOf(rows, raw float64) int {
	in := p.Listing.Inputs
	// In a compressed file, positions beyond the listed size are in one shard. Small ones are in many.
	if !in.LargeCompressed {
		rows, raw = rows/float64(in.Shards), raw/float64(in.Shards)
	}
	source := 0
	for _, name := range in.Names() {
		source = max(source, len(name))
	}
	n := (rows*float64(rowBytes+2*(p.IDBytes+source)) + raw) / float64(p.sliceBytes())
	if p.Config.SliceRows > 0 {
		n = rows / float64(p.Config.SliceRows)
	}
	return int(max(1, min(math.Ceil(n), maxSlices)))
}
