package passages

import (
	"cmp"
	"math"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/passage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/candidates"
	"github.com/neardup/neardup/transforms/exchange"
	steps "github.com/neardup/neardup/transforms/passages"
)

// rereads is the maximum number of times that documents are read again: for their L-grams, for first places, for
// passages, and for the most frequent ones.
const rereads = 4

// build builds the pipeline. Its elements are byte records that sort in the order of their content; io/sorted reads a
// group of them in order, through files if it is large.
//
//	source.Read            first read
//	passages.Choose        words → minimizers; of a block's copies, only the first has some
//	  ├─ KV<hash shard, records>            hash of a k-gram, document: 16 bytes
//	  ├─ KV<hash shard, firsts>, KV<split, members>   copies, by the text; candidates.Copies finds those of other
//	  │                                               blocks
//	  ├─ KV<table shard, rejected rows>     no token
//	  └─ [] fact                            words, documents, short ones
//	  │ GroupByKey hash shard
//	passages.Repeated      hashes that were chosen twice → documents to read again, and a filter: a file of bits
//	                       for each shard, which is there before a group of members is whole
//	  └─ KV<split, members>
//	  │ GroupByKey split
//	source.Fetch           second read
//	passages.Grams         L-grams whose minimizer is in the filter; of a copy one passage for each column
//	  ├─ KV<hash shard, records>            128-bit hash, place: 28 bytes
//	  └─ KV<split, passages>, KV<split, wanted>, [] fact
//	  │ GroupByKey hash shard
//	passages.Decide        with --drop-covered: numbers of repeated L-grams, all of them in one group, and the
//	                       same records with numbers for hashes
//	  │ GroupByKey hash shard
//	passages.Firsts        the first of each hash's places
//	  └─ KV<split, records>                 a repeated L-gram and its first place: 24 bytes; a first place itself
//	  │ GroupByKey split
//	passages.Passages      passages of each document, in words, with the first places that they want
//	  ├─ KV<split, passages>
//	  ├─ KV<split, wanted>                  first places by their own split, each once for a split that wants it,
//	  │                                     with how often
//	  └─ [] fact
//	  │ GroupByKey split
//	source.FetchWanted     third read, of the documents with first places │ passages.Origins: bytes and ids
//	  ├─ KV<split, origins>
//	  └─ KV<gather.Key, frequent ones>      1,000 of a bundle at most │ passages.Most: 1,000 of all │
//	                                        source.FetchWanted │ passages.Repeats: rows
//	  │ CoGroupByKey split (passages, origins): passages.Join │ GroupByKey split
//	source.FetchWanted     fourth read, of the documents with passages │ passages.Rows
//	  ├─ KV<table shard, rows>              passages, coverage
//	  ├─ KV<corpus batch, cuts>             with --cut: sink.Edited copies pieces, and codecs put other texts
//	  │                                     into records (codec.Editor)
//	  └─ [] fact
func (r *Job) build(s beam.Scope, temp string, staged output.Folder) {
	p, params, reading := r.plan, r.params(temp), r.plan.Source(temp)
	docs, compared, rejected := p.Read(s, temp, blocks.Range{})
	chosen := steps.Choose(s, compared, params)
	firsts := exchange.Alone(s.Scope("candidates.Copies"), chosen.Firsts)
	members := flow.Flatten(s, chosen.Copies, steps.Repeated(s, chosen.Chosen, params),
		candidates.Copies(s, firsts, candidates.Params{Inputs: job.Inputs(temp)}))
	grams, sizes, copied := steps.Grams(s, source.Fetch(s, members, reading), params)
	if params.DropCovered > 0 {
		grams = steps.Decide(s, grams, sizes, params)
	}
	others := steps.Passages(s, steps.Firsts(s, grams, params), params)

	wanted := flow.Flatten(s, copied.Wanted, others.Wanted)
	origins, frequent := steps.Origins(s, source.FetchWanted(s, wanted, reading, params.Files), params)
	found := steps.Join(s, flow.Flatten(s, copied.Passages, others.Passages), origins)
	tables := steps.Rows(s, source.FetchWanted(s, found, reading, params.Files), params)
	repeats := steps.Repeats(s, source.FetchWanted(s, steps.Most(s, frequent, params), reading, params.Files), params)

	to := r.writing(staged, temp)
	rejects := r.reject(s, to, docs.Facts, append(rejected, chosen.Rejected)...)
	facts := []flow.Facts{
		docs.Facts, chosen.Facts, copied.Facts, others.Facts, tables.Facts, rejects,
		sink.Table(s, output.Passages, p.Slices(r.mostPassages(), 0), to, tables.Passages),
		sink.Table(s, output.Coverage, p.Slices(float64(p.Documents), 0), to, tables.Coverage),
		sink.Table(s, output.Repeats, 1, to, repeats),
	}
	if params.DropCovered > 0 {
		facts = append(facts, sink.Table(s, output.Removed, p.Slices(float64(p.Documents), 0), to, tables.Removed))
	}
	facts = append(facts, r.corpus(s, to, tables.Cuts, docs.Dropped, tables.Dropped)...)
	sink.Ledger(s, storage.Join(temp, ledgerFile), facts...)
}

// reject writes the table rejected, and ends the run if it has more unreadable records than the run accepts.
func (r *Job) reject(
	s beam.Scope, to sink.Params, read flow.Facts, rejected ...flow.Rows[records.Rejected],
) flow.Facts {
	rejects := sink.Table(s, output.Rejected, r.plan.RejectedSlices(), to, rejected...)
	r.plan.FailOnUnreadable(s, to.Temp, read, rejects)
	return rejects
}

// corpus writes the input without what is cut and dropped, if a corpus is written.
func (r *Job) corpus(s beam.Scope, to sink.Params, cuts flow.Cuts, dropped ...flow.Dropped) []flow.Facts {
	switch reading := r.plan.Reading(); {
	case r.cuts():
		return []flow.Facts{sink.Edited(s, to, reading, cuts, flow.Flatten(s, dropped...))}
	case r.writes():
		return []flow.Facts{sink.Corpus(s, 1, to, reading, blocks.Range{}, dropped...)}
	}
	return nil
}

// mostPassages estimates the maximum number of passages.
func (r *Job) mostPassages() float64 {
	return max(float64(r.plan.Documents), float64(r.units())/float64(*r.config.Length))
}

func (r *Job) writing(staged output.Folder, temp string) sink.Params {
	to := r.plan.Writing(temp, staged, r.parts(), map[string]string{
		"neardup.length": strconv.Itoa(*r.config.Length), "neardup.shingle": cmp.Or(r.config.Whole, "word"),
	})
	to.Paragraphs = steps.Whole(r.config.Whole) == steps.Paragraphs
	return to
}

const (
	// Bytes of a chosen k-gram, and of an L-gram, sent to their groups.
	chosenBytes, gramBytes = 16, 28
	// Bytes of a repeated L-gram sent back to its document.
	repeatBytes = 24
	// Bytes of a repeated L-gram sent to the decision, and then, marked, to its group.
	decideBytes = 20 + 28
	// repeatedShare is the assumed percentage of words in L-grams that are looked at. It only sizes their groups.
	repeatedShare = 25
	// unitWords is about how many words a line or a paragraph has.
	unitWords = 8
	// filterShare is the divisor of the memory for the filter of repeated k-grams.
	filterShare = 16
	usualFilter = 32 << 20
	// numbersShare is the divisor of the memory for what --drop-covered holds.
	numbersShare = 8
)

// units estimates the number of words of all documents, or of the lines or paragraphs in place of words.
func (r *Job) units() int64 {
	if r.config.Whole != "" {
		return r.plan.Shingles / unitWords
	}
	return r.plan.Shingles
}

// chosen estimates the total bytes of chosen k-grams.
func (r *Job) chosen() int64 {
	return int64(float64(r.units()) * passage.Density(*r.config.Length) * chosenBytes)
}

// most returns the total bytes of chosen k-grams and L-grams if all are repeated: sent to their groups, and back to the
// documents.
func (r *Job) most() int64 {
	each := int64(gramBytes + repeatBytes)
	if r.config.DropCovered > 0 {
		each += decideBytes
	}
	return r.chosen() + r.units()*each
}

func (r *Job) params(temp string) steps.Params {
	shards := func(bytes int64) int {
		return int(max(job.LeastGroups, min(bytes/r.plan.GroupBytes(), job.MostGroups)))
	}
	filter, numbers := int64(usualFilter), int64(math.MaxInt64)
	if bytes := r.config.Budget().Bytes; bytes > 0 {
		filter, numbers = min(filter, bytes/filterShare), bytes/numbersShare
	}
	return steps.Params{
		Inputs: job.Inputs(temp), Text: r.plan.Spec, Length: *r.config.Length,
		Whole: steps.Whole(r.config.Whole), Cut: steps.Cut(r.config.Cut),
		HashShards: r.plan.Layout.HashShards, ChosenShards: shards(r.chosen()),
		GramShards: shards(r.units() * gramBytes * repeatedShare / 100),
		Filter:     storage.Join(temp, filterFile), FilterBytes: filter,
		DropCovered: r.config.DropCovered, MostNumbers: numbers,
		Files: sorted.Params{Temp: temp, Name: "records", Held: r.config.HeldRows()},
	}
}
