package dedup

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/radix"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/components"
)

// forecast surveys the input and estimates what the run will do.
func (p *Plan) forecast(ctx context.Context, inForce records.InForce) (*records.Forecast, error) {
	s, err := p.takeSurvey(ctx)
	if err != nil {
		return nil, err
	}
	f := &records.Forecast{
		Sampled: int64(len(s.documents)), TextBytes: s.text, Whole: s.whole,
		Documents: s.total(), Bytes: p.Listing.Inputs.Bytes(),
		Lengths: s.lengths(), Scripts: shares(s.scripts), Encodings: shares(s.encodings), Columns: s.columns,
		Short: s.short(), Workers: p.clusterWorkers(),
	}
	if p.Choice.Rows > 0 {
		if f.Curve, err = CurveOf(CurveConfig{Bands: p.Choice.Bands, Rows: p.Choice.Rows}); err != nil {
			return nil, err
		}
	}
	p.expect(f, s)
	if p.phased() {
		f.Kept = p.phaseBytes() + p.Listing.Inputs.BytesOfInputs()
	}
	if p.Request.Append {
		documents, text := s.ofInputs()
		bands := p.Choice.Bands
		f.Appended = round(text+documents*float64(keyBytes*bands+rowBytes)) + int64(fileBytes*(bands+2))
	}
	f.Memory = memory.Budget{Bytes: inForce.Memory}.Most()
	workers := cmp.Or(inForce.Workers, runtime.GOMAXPROCS(0))
	if f.Seconds, err = p.seconds(ctx, s); err != nil {
		return nil, err
	}
	f.Seconds /= float64(workers)
	return f, nil
}

// What an index takes at most besides the texts: for each document, its keys, one per band, and its row, both before
// compression; and for each file of a band or a table.
const (
	keyBytes  = 16
	rowBytes  = 100
	fileBytes = 4 << 10
)

// seconds estimates the CPU seconds of the run. The constants were fitted to twelve corpora on one machine; costs that
// grow with the input are measured by the survey, on this machine.
func (p *Plan) seconds(ctx context.Context, s *survey) (float64, error) {
	const (
		run      = .1    // to start and end a run
		file     = .0003 // to open a file and write its counterpart
		signed   = .8    // share of a survey's time per document
		packed   = 10e-9 // to compress a byte
		readMore = 1.2   // factor for documents that are read again
		appended = 30e-9 // to write a byte of text to an index
	)
	in := p.Listing.Inputs
	signing := signed * s.signing * s.ratio()
	reading := s.reading * float64(in.Bytes()) / float64(max(1, s.sampled.Stored))
	_, text := s.ofInputs()
	own := text / max(1, float64(s.text)*s.ratio())
	keyed := p.Request.Index != nil && p.Request.Index.HasKeys()
	if keyed { // the run reads few documents of the index
		signing, reading, own = own*signing, own*reading, 1
	}
	cpu := run + file*float64(in.Len()) + signing + readMore*reading
	if p.Request.Append { // the run also reads the input once more, and then what it wrote to the index
		cpu += 2*own*reading + appended*text
		if keyed {
			cpu += signing
		}
	}
	if !p.Request.Writes(output.Corpus) || in.Len() == 0 {
		return cpu, nil
	}
	// Most inputs have files of one kind.
	compressed, err := in.MayUnpack(ctx, 0)
	if compressed {
		cpu += packed * float64(s.text) * s.ratio()
	}
	return cpu, err
}

// total estimates the number of all documents, including those not compared.
func (s *survey) total() int64 {
	n := s.sampled.Documents
	if read := n + s.sampled.Unreadable; !s.whole && read > 0 {
		n = max(n, int64(math.Round(float64(n)/float64(read)*float64(s.sampled.Records))))
	}
	if limit := s.plan.Request.Limit; limit > 0 {
		n = min(n, limit)
	}
	return n
}

// ofInputs estimates the number of documents in the input, without references, and the bytes of their texts.
func (s *survey) ofInputs() (documents, text float64) {
	for i := range s.documents {
		if d := &s.documents[i]; !s.plan.Listing.Inputs.IsReference(d.key) {
			documents++
			text += float64(d.text)
		}
	}
	return documents * s.ratio(), text * s.ratio()
}

// ratio returns how many documents the input has for each one in the survey.
func (s *survey) ratio() float64 {
	return max(1, float64(s.total())/float64(max(1, s.sampled.Documents)))
}

var quantiles = []float64{0, .05, .25, .5, .75, .95, 1}

func (s *survey) lengths() (all []records.Length) {
	if len(s.bytes) == 0 {
		return nil
	}
	bytes, words := slices.Sorted(slices.Values(s.bytes)), slices.Sorted(slices.Values(s.words))
	for _, q := range quantiles {
		at := int(q * float64(len(bytes)-1))
		all = append(all, records.Length{Quantile: q, Bytes: int64(bytes[at]), Words: int64(words[at])})
	}
	return all
}

// shares returns each count's share of their sum, the largest first.
func shares(counts map[string]int64) (all []records.Share) {
	var sum int64
	for _, n := range counts {
		sum += n
	}
	for name, n := range counts {
		all = append(all, records.Share{Name: name, Share: float64(n) / float64(sum)})
	}
	slices.SortFunc(all, func(a, b records.Share) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// Indexes of the figures of a sending.
const (
	// Bytes of the collections in lanes.
	bandSent = iota
	firstSent
	edgeSent
	setSent
	profileSent
	copySent

	edges     // number of edges between neighbours in buckets
	treeEdges // number of these edges in a spanning forest
	readAgain // number of documents
	figures
)

// sending holds what some documents of the survey would send if they were the whole input.
type sending [figures]float64

// lanes lists the collections that are grouped, in the order of the graph: the figure with their bytes, their names,
// and the steps between which they travel.
var lanes = []struct {
	figure         int
	name, from, to string
}{
	{bandSent, "bands", "signature.Sign", "candidates.Buckets"},
	{firstSent, "firsts", "signature.Sign", "candidates.Copies"},
	{edgeSent, "edges", "candidates.Buckets", "components.Connect"},
	{setSent, "sets", "sets.Make", "verify"},
	{profileSent, "profiles", "sets.Make", "decide.Survivors"},
	{copySent, "copies", "sets.Make", "sets.Summarise, decide"},
}

// expect fills in what the run is expected to send.
func (p *Plan) expect(f *records.Forecast, s *survey) {
	all := make([]int, len(s.documents)) // numbers of documents
	var halves [2][]int
	for i := range all {
		all[i] = i
		half := i * runs / len(all) % 2
		halves[half] = append(halves[half], i)
	}
	whole := s.send(all)
	expected, half, most := whole, sending{}, whole
	if x := s.ratio(); x > 1 {
		most = s.most()
		for _, of := range halves {
			t := s.send(of)
			for i, n := range t {
				half[i] += n / 2
			}
		}
		for i := range expected {
			expected[i] = min(grow(whole[i], half[i], x), most[i]*x)
		}
	}
	known := s.keyer != nil || p.Request.Same != ""
	if s.keyer != nil {
		low, high := interval(whole[edges], whole[treeEdges], s.ratio())
		high = min(high, most[edges]*s.ratio())
		f.Edges = &records.Expected{Low: round(low), Expected: round(expected[edges]), High: round(high)}
	}
	if known {
		f.ReadAgain = min(round(expected[readAgain]), f.Documents)
	}
	for _, lane := range lanes {
		if n := round(expected[lane.figure]); n > 0 && (known || lane.figure == firstSent) {
			f.Shuffled = append(f.Shuffled, records.Shuffled{Name: lane.name, From: lane.from, To: lane.to, Bytes: n})
		}
	}
	f.Flowing = round(max(expected[bandSent]+expected[firstSent],
		expected[setSent]+expected[profileSent]+expected[copySent]))
}

func round(v float64) int64 { return int64(math.Round(v)) }

// most returns an upper bound of what the documents of the survey send: each has an edge in each band, is read again,
// and is a copy as well. The bound caps figures that are extrapolated as the square; a figure without a bound is
// infinite.
func (s *survey) most() (t sending) {
	for i := range t {
		t[i] = math.Inf(1)
	}
	t[setSent], t[profileSent], t[copySent], t[readAgain] = 0, 0, 0, 0
	for i := range s.documents {
		d := &s.documents[i]
		if d.words == 0 {
			continue
		}
		t[readAgain]++
		t[setSent] += float64(blocks.SetBytes(int(d.words)))
		t[profileSent] += float64(d.profileBytes(0))
		t[copySent] += float64(d.copyBytes(d.key, s.plan))
	}
	if s.keyer != nil {
		t[edges] = t[readAgain] * float64(s.keyer.Len())
		t[edgeSent] = edgeBytes * t[edges] * float64(1+s.plan.levels())
	}
	return t
}

// runs is the number of parts, in input order, that the survey is cut into. Every other part belongs to the same half,
// so documents that are near each other in the input stay together.
const runs = 64

// grow extrapolates a figure to x times the survey. A figure of single documents, or of pairs that are near each other
// in the input, grows with the number of documents n; a figure of pairs anywhere grows with its square. So a figure is
// a·n + b·n², and the survey and the mean of its halves give a and b. The result is too large if the survey has only
// one or two documents of large clusters.
func grow(whole, half, x float64) float64 {
	linear, square := terms(whole, half)
	return linear*x + square*x*x
}

// terms returns the two terms of a figure: a·n, and b·n².
func terms(whole, half float64) (linear, square float64) {
	linear = min(max(0, 4*half-whole), whole)
	return linear, whole - linear
}

// interval bounds the number of edges of x times the survey, which has n. Halves do not show everything, so the lower
// end assumes growth with the number of documents, and the upper end growth with its square. Each end is two standard
// errors away. The edges of a component occur together: only as many are independent as a spanning forest has, each for
// n/forest edges, so the variance of n is n²/forest. If the survey has no edge, it may have missed three (with a
// probability of 1/20).
func interval(n, forest, x float64) (low, high float64) {
	if x <= 1 {
		return n, n
	}
	if n == 0 {
		return 0, 3 * x * x
	}
	deviation := 2 * n / math.Sqrt(forest) * math.Sqrt(1-1/x)
	return max(n, (n-deviation)*x), (n + deviation) * x * x
}

// send computes what documents of the survey, by their numbers, would send if they were the whole input. It follows the
// steps of the graph.
func (s *survey) send(numbers []int) (t sending) {
	g := s.group(numbers)
	t[firstSent] = float64(len(blocks.AppendFirst(nil, blocks.First{})) * len(g.firsts))
	t[bandSent] = s.bandBytes(g.firsts)
	if s.keyer == nil && s.plan.Request.Same == "" {
		return t
	}
	if s.keyer != nil {
		s.connect(&g, &t)
	}
	s.sendAgain(numbers, &g, &t)
	return t
}

// grouped says which documents of the survey are copies, and which are in one component. Documents are named by their
// numbers.
type grouped struct {
	firsts []int       // documents that are not a copy within their block: these are signed
	copyOf map[int]int // for each copy, the first document of its group
	copies map[int]int // for each first document, the number of its copies
	// root returns the key of the first document of a document's component; documents counts, by root, those that are not
	// copies.
	root      func(i int) blocks.Key
	documents map[blocks.Key]int
}

// group finds copies. Each document is a component of its own until connect has found edges.
func (s *survey) group(numbers []int) grouped {
	g := grouped{copyOf: map[int]int{}, copies: map[int]int{}, documents: map[blocks.Key]int{}}
	g.root = func(i int) blocks.Key { return s.documents[i].key }
	first := map[uint64]int{}
	inBlock := map[uint64]bool{}
	block := int32(-1)
	for _, i := range numbers {
		d := &s.documents[i]
		if d.words == 0 {
			continue
		}
		if d.block != block {
			block = d.block
			clear(inBlock)
		}
		if !inBlock[d.copied] {
			inBlock[d.copied] = true
			g.firsts = append(g.firsts, i)
		}
		if f, ok := first[d.copied]; ok {
			g.copyOf[i] = f
			g.copies[f]++
		} else {
			first[d.copied] = i
		}
	}
	return g
}

// bandBytes returns the size of the band entries of documents: one for each band, with a header for each band, file and
// shard.
func (s *survey) bandBytes(firsts []int) float64 {
	p := s.plan
	bands := max(p.Choice.Bands, p.Pieces.Count)
	if p.Request.Same != "" || p.Complete {
		return 0
	}
	shards := 1 << p.Signature("").ShardBits
	headers, inFile, file := 0, 0, -1
	for _, i := range firsts {
		if f := s.documents[i].key.File(); f != file {
			file, inFile = f, 0
		}
		if inFile++; inFile <= shards {
			headers++
		}
	}
	return float64(bands) * float64(blocks.BandBytes(len(firsts), headers))
}

// connect finds the edges between neighbours in buckets, and the components that they form.
func (s *survey) connect(g *grouped, t *sending) {
	p := s.plan
	listed := p.candidates("").List != ""
	type entry struct {
		Key      uint64 // of the bucket
		Document blocks.Key
	}
	var sorter radix.Sorter[entry, blocks.Key]
	params, n := p.Signature(""), s.keyer.Len()
	cut := 64 - blocks.BandKeyBits - params.ShardBits
	var entries []entry
	var chained []blocks.Edge
	var forest unionfind.Forest
	for band := range n {
		entries = entries[:0]
		for _, i := range g.firsts {
			if _, isCopy := g.copyOf[i]; !isCopy || !listed {
				entries = append(entries, entry{s.keys[i*n+band] >> cut, s.documents[i].key})
			}
		}
		sorted := sorter.Sort(entries, cut, radix.ByKeyAndDocument)
		for i, e := range sorted {
			if i > 0 && sorted[i-1].Key == e.Key {
				chained = append(chained, blocks.Edge{A: sorted[i-1].Document, B: e.Document})
				if forest.Union(int64(sorted[i-1].Document), int64(e.Document)) {
					t[treeEdges]++
				}
			}
		}
	}
	t[edges] = float64(len(chained))
	t[edgeSent] = float64(edgeBytes * (len(chained) + inForests(chained, p.parts())))
	g.root = func(i int) blocks.Key { return blocks.Key(forest.Find(int64(s.documents[i].key))) }
	for _, i := range g.firsts {
		if _, isCopy := g.copyOf[i]; !isCopy {
			g.documents[g.root(i)]++
		}
	}
}

// levels returns how many times the tree of components.Connect sends forests on, from its parts to one group.
func (p *Plan) levels() (n int) {
	for parts := p.parts(); parts > 1; parts = groupsOf(parts) {
		n++
	}
	return n
}

// groupsOf returns the number of groups that the parts become at one level of the tree.
func groupsOf(parts int) int { return (parts + components.FanIn - 1) / components.FanIn }

// inForests returns how many edges the forests on all levels of the tree have in total, if it begins with these parts
// and edges.
func inForests(edges []blocks.Edge, parts int) (n int) {
	type sent struct {
		part int // the edge's destination
		edge blocks.Edge
	}
	var level []sent
	for _, e := range edges {
		level = append(level, sent{int(hash.Mix(uint64(e.B)) % uint64(parts)), e})
	}
	for ; parts > 1; parts = groupsOf(parts) {
		forests := map[int]*unionfind.Forest{}
		for _, g := range level {
			if forests[g.part] == nil {
				forests[g.part] = &unionfind.Forest{}
			}
			forests[g.part].Union(int64(g.edge.A), int64(g.edge.B))
		}
		level = level[:0]
		for part, forest := range forests {
			for key, root := range forest.All() {
				if key != root {
					level = append(level, sent{part / components.FanIn, blocks.Edge{A: blocks.Key(root), B: blocks.Key(key)}})
				}
			}
		}
		n += len(level)
	}
	return n
}

// sendAgain adds what documents send after the second read: copies, and those with copies or an edge.
func (s *survey) sendAgain(numbers []int, g *grouped, t *sending) {
	type sentSet struct {
		component blocks.Key
		set       uint64
	}
	sent := map[sentSet]bool{} // within the current block, each set is sent once
	filled, file := 0, -1
	for _, i := range numbers {
		d := &s.documents[i]
		_, isCopy := g.copyOf[i]
		inComponent := !isCopy && g.documents[g.root(i)] > 1
		if d.words == 0 || !isCopy && !inComponent && g.copies[i] == 0 {
			continue
		}
		t[readAgain]++
		if filled += int(d.text + d.id); d.key.File() != file || filled >= blocks.BlockBytes {
			filled, file = 0, d.key.File()
			clear(sent)
		}
		switch {
		case isCopy:
			t[copySent] += float64(d.copyBytes(s.documents[g.copyOf[i]].key, s.plan))
			continue
		case g.copies[i] > 0:
			t[copySent] += float64(d.copyBytes(d.key, s.plan))
		}
		t[profileSent] += float64(d.profileBytes(g.copies[i]))
		set := sentSet{g.root(i), d.set}
		if inComponent && !sent[set] {
			sent[set] = true
			t[setSent] += float64(blocks.SetBytes(int(d.words)))
		}
	}
}

// profile returns a profile as large as the document's. Only its encoded size matters, not its values.
func (d *surveyed) profile(copies int) blocks.Profile {
	return blocks.Profile{
		Key: d.key, ID: make([]byte, d.id), HasID: d.hasID, Size: int(d.size), Words: int(d.words), Copies: copies,
		Traits: blocks.Traits{Symbols: 1},
	}
}

func (d *surveyed) profileBytes(copies int) int {
	p := d.profile(copies)
	return len(blocks.AppendProfile(nil, &p))
}

// copyBytes returns the number of bytes that d sends as a copy of the document with key of. A document that has copies
// passes its own key.
func (d *surveyed) copyBytes(of blocks.Key, p *Plan) int {
	c := blocks.Copy{Of: of, Profile: d.profile(0)}
	if of == d.key || p.Request.Same == copies.Set {
		c.Profile.Traits.Tokens.Hi = 1
	}
	return len(blocks.AppendCopy(nil, &c))
}
