package dedup

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/salted"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
	"github.com/neardup/neardup/transforms/verify"
)

// Plan is a Config and what follows from it and the input, before any of it is read in earnest.
type Plan struct {
	Config  Config
	Listing *source.Listing
	// Documents is the estimate of their number that sizes the groups.
	Documents int64
	// Shingles is the estimate of the sum of their sets' sizes.
	Shingles  int64
	Threshold setsim.Threshold
	Text      shingle.Spec
	Choice    lsh.Choice

	idle    []string // patterns to prefer files by that match none
	idBytes int      // of an id, on average
}

// NewPlan lists the input, samples it and chooses the parameters. It depends on Config and the
// input alone.
func NewPlan(ctx context.Context, c Config) (*Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	listing, err := source.Plan(ctx, c.Inputs, c.Source())
	if broken := (*reading.ContentError)(nil); errors.As(err, &broken) {
		return nil, err
	}
	if err != nil {
		return nil, &UsageError{err}
	}
	p := &Plan{Config: c, Listing: listing}
	if p.Text, err = c.text(); err != nil {
		return nil, err
	}
	if p.Threshold, err = setsim.ParseThreshold(c.Threshold); err != nil {
		return nil, err
	}
	keep, err := parseKeep(c.Keep)
	if err != nil {
		return nil, err
	}
	p.idle = keep.prefer(listing.Inputs.Files)
	sets, shingles, sampled, err := p.sample(ctx)
	if err != nil {
		return nil, err
	}
	if sampled.Bytes > 0 {
		p.Documents = int64(float64(sampled.Documents) / float64(sampled.Bytes) * float64(listing.Inputs.Bytes()))
		p.Shingles = int64(float64(shingles) / float64(sampled.Bytes) * float64(listing.Inputs.Bytes()))
	}
	p.Documents = max(p.Documents, sampled.Documents, 1)
	p.idBytes = int(sampled.IDs / max(sampled.Documents, 1))
	if c.Limit > 0 && c.Limit < p.Documents {
		p.Shingles = int64(float64(p.Shingles) / float64(p.Documents) * float64(c.Limit))
		p.Documents = c.Limit
	}
	return p, p.choose(sets[:min(len(sets), p.sampleSets())])
}

// sampleSets is how many sets the background is estimated from: those of smallest hash, which
// are as good as drawn by lot and do not depend on the order of reading. Their pairs grow as the
// documents do: else what is not known of the background would decide the choice for many of these.
func (p *Plan) sampleSets() int {
	const sets, documents = 2000, 300_000
	return int(sets * math.Sqrt(max(1, float64(p.Documents)/documents)))
}

// sample returns the distinct shingle sets of the planner's sample, by hash, and the sum of all
// sets' sizes.
func (p *Plan) sample(ctx context.Context) (sets [][]uint64, size int, sampled source.Sampled, err error) {
	shingler := p.Text.New()
	type hashed struct {
		hash hash.Sum128
		set  []uint64
	}
	byHash := map[hash.Sum128][]uint64{}
	var shingles []uint64
	sampled, err = source.Sample(ctx, p.Listing.Inputs, p.Config.Source(), func(text []byte) {
		shingles = shingler.Shingles(shingles[:0], text)
		if len(shingles) > 0 {
			set := shingle.Set(shingles)
			size += len(set)
			sum := hash.Sequence(set)
			if byHash[sum] == nil {
				byHash[sum] = slices.Clone(set)
			}
		}
	})
	if err != nil {
		return nil, 0, sampled, err
	}
	var all []hashed
	for sum, set := range byHash {
		all = append(all, hashed{sum, set})
	}
	slices.SortFunc(all, func(a, b hashed) int { return a.hash.Compare(b.hash) })
	for _, h := range all {
		sets = append(sets, h.set)
	}
	return sets, size, sampled, nil
}

// choose sets the number of bands and rows.
func (p *Plan) choose(sets [][]uint64) (err error) {
	c := &p.Config
	switch c.Method {
	case "exact":
		// One key, of the whole signature: equal sets always share it, and verification at t = 1
		// has the last word.
		p.Threshold = setsim.Threshold{Num: 1, Den: 1}
		p.Choice = lsh.Choice{
			Params:         lsh.Params{Bands: 1, Rows: exactSignature, Signature: exactSignature},
			ExpectedRecall: 1, Reason: "method exact: one key, the whole signature",
		}
	default:
		in := lsh.Input{
			Threshold: c.Threshold, Recall: c.Recall, Documents: p.Documents,
			Background: setsim.Background(sets, c.Threshold/2, lsh.MaxSignature),
		}
		if c.Bands > 0 {
			p.Choice, err = lsh.Assess(in, c.Bands, c.Rows)
		} else {
			p.Choice, err = lsh.Solve(in)
		}
		if err != nil {
			return &UsageError{err}
		}
		if c.Signature != "fss" { // only those need a power of two
			p.Choice.Signature = p.Choice.Bands * p.Choice.Rows
		}
	}
	if c.Signature == string(signature.Salted) {
		if _, err := salted.New(p.Choice.Signature, c.Seed); err != nil {
			return usage("--signature salted: %w", err)
		}
	}
	return nil
}

const exactSignature = 64

// Groups are sized so that each is a few megabytes.
const (
	groupBytes = 4 << 20
	entryBytes = 9
	edgeBytes  = 16
	// Edges are mostly far fewer than documents; among copies each band repeats them.
	edgesPerDocument = 4
	maxShardBits     = 12
	// A shingle on its way to the dictionary and back.
	shingleBytes = 10
	leastGroups  = 8 // so that there is work for several workers
	mostGroups   = 1 << 16
)

// shardBits: each band's entries are spread over 1<<shardBits groups.
func (p *Plan) shardBits() int {
	groups := p.Documents * entryBytes / groupBytes
	return min(bits.Len64(uint64(groups)), maxShardBits)
}

// parts is the number of groups that edges are spread over.
func (p *Plan) parts() int {
	return int(max(1, p.Documents*edgeBytes*edgesPerDocument/groupBytes))
}

// componentGroups is the number of groups of components: few megabytes each, even if all documents
// are compared.
func (p *Plan) componentGroups() verify.Groups {
	return verify.Groups(max(leastGroups, min(8*p.Shingles/groupBytes, mostGroups)))
}

// dictionaryGroups are the numbers of groups that shingles are spread over, by hash and by document.
func (p *Plan) dictionaryGroups() (ranges, groups int) {
	n := int(max(leastGroups, min(p.Shingles*shingleBytes/groupBytes, mostGroups)))
	return n, n
}

const (
	rowBytes   = 64 // of a row, beside two ids and two sources
	sliceBytes = 16 << 20
	maxSlices  = 256
	// Crowds list so many pairs for each document (verify).
	crowdPairs = 66
)

// pairsPerDocument is the most that pairs/ lists of each document on average: a component of fewer
// pairs than the budget has all of them, of a larger one those of crowds are listed.
func (p *Plan) pairsPerDocument() float64 {
	return max(crowdPairs, min(math.Sqrt(float64(p.Config.PairBudget)/2), float64(p.Documents)/2))
}

// slices is the number of groups that the rows of a table shard are spread over, if each document
// may have so many.
func (p *Plan) slices(rowsPerDocument float64) int {
	in := p.Listing.Inputs
	rows := float64(p.Documents) * rowsPerDocument
	// In compressed files, positions beyond the listed size are in one shard.
	if !slices.ContainsFunc(in.Files, func(f blocks.File) bool { return f.Compression != "" }) {
		rows /= float64(in.Shards)
	}
	source := 0
	for i := range in.Files {
		source = max(source, len(in.Files[i].Source))
	}
	n := rows * float64(rowBytes+2*(p.idBytes+source)) / sliceBytes
	if p.Config.SliceRows > 0 {
		n = rows / float64(p.Config.SliceRows)
	}
	return int(max(1, min(math.Ceil(n), maxSlices)))
}

// Warnings say what of the input or of the choice may not be as it was meant.
func (p *Plan) Warnings() (warnings []string) {
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	if n := len(p.Listing.Skipped); n > 0 {
		warn("not read, since the names are of no asked format: %d of the files in input folders, such as %s", n, p.Listing.Skipped[0])
	}
	if p.Choice.Percolates {
		warn("%s", p.Choice.Reason)
	}
	for _, glob := range p.idle {
		warn("--keep %s: %s matches no input file; patterns are matched with paths below %s", p.Config.Keep, glob, p.Listing.Inputs.Root)
	}
	for _, path := range p.Listing.Repeated {
		warn("%s is named more than once and is read once", path)
	}
	return warnings
}

// chosen is what run.json says of the choice.
func (p *Plan) chosen() records.Chosen {
	return records.Chosen{
		Bands: p.Choice.Bands, Rows: p.Choice.Rows, Signature: p.Choice.Signature,
		ExpectedRecall: p.Choice.ExpectedRecall, Documents: p.Documents,
		BackgroundEdges: p.Choice.BackgroundEdges, Reason: p.Choice.Reason,
	}
}
