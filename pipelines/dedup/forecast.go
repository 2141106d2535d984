package dedup

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/pipelines/curve"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// forecast is what the run is expected to do, by a survey.
func (p *Plan) forecast(ctx context.Context, inForce records.InForce) (*records.Forecast, error) {
	begun := time.Now()
	s, err := p.takeSurvey(ctx)
	if err != nil {
		return nil, err
	}
	f := &records.Forecast{
		Sampled: int64(len(s.documents)), TextBytes: s.text, Whole: s.whole,
		Documents: s.of(), Bytes: p.Listing.Inputs.Bytes(),
		Lengths: s.lengths(), Scripts: shares(s.scripts), Encodings: shares(s.encodings), Columns: s.columns,
		Short: s.short(), Workers: p.clusterWorkers(),
	}
	if p.Choice.Rows > 0 {
		if f.Curve, err = curve.Of(curve.Config{Bands: p.Choice.Bands, Rows: p.Choice.Rows}); err != nil {
			return nil, err
		}
	}
	p.expect(f, s)
	if inForce.Memory > 0 {
		f.Memory = job.MostMemory(inForce.Memory)
	}
	// The input is read three times, and signed once; the survey does as much as the first two.
	workers := cmp.Or(inForce.Workers, runtime.GOMAXPROCS(0))
	f.Seconds = time.Since(begun).Seconds() * s.times() * 3 / 2 / float64(workers)
	return f, nil
}

// of estimates the number of all documents, with those that are not compared.
func (s *survey) of() int64 {
	n := s.sampled.Documents
	if seen := n + s.sampled.Unreadable; !s.whole && seen > 0 {
		n = max(n, int64(math.Round(float64(n)/float64(seen)*float64(s.sampled.Records))))
	}
	if limit := s.plan.Request.Limit; limit > 0 {
		n = min(n, limit)
	}
	return n
}

// times is how many times the survey the input is.
func (s *survey) times() float64 { return max(1, float64(s.of())/float64(max(1, s.sampled.Documents))) }

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

// shares are the parts of a sum, largest first.
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

// What a part of the survey sends, and how many of its documents do.
const (
	bandSent = iota
	firstSent
	edgeSent
	setSent
	profileSent
	copySent
	edges
	treeEdges // edges that a forest of the documents needs
	readAgain
	figures
)

// sending is what some documents send, in bytes, or their number.
type sending [figures]float64

// lanes are the collections that travel, in the order of the graph.
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
	all := make([]int, len(s.documents))
	var halves [2][]int
	for i := range all {
		all[i] = i
		half := i * runs / len(all) % 2
		halves[half] = append(halves[half], i)
	}
	whole := s.send(all)
	expected, half, most := whole, sending{}, s.most()
	if x := s.times(); x > 1 {
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
		low, high := interval(whole[edges], whole[treeEdges], s.times())
		high = min(high, most[edges]*s.times())
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
	f.Flowing = round(max(expected[bandSent]+expected[firstSent], expected[setSent]+expected[profileSent]+expected[copySent]))
}

func round(v float64) int64 { return int64(math.Round(v)) }

// most is what the documents of the survey send at most, as if each had an edge in each band, were read again, and were a copy as well:
// a figure that grows as the square ends there.
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
		t[setSent] += float64(d.setBytes())
		t[profileSent] += float64(d.profileBytes(0))
		t[copySent] += float64(d.copyBytes(d.key, s.plan))
	}
	if s.keyer != nil {
		t[edges] = t[readAgain] * float64(s.keyer.Len())
		t[edgeSent] = edgeBytes * t[edges] * float64(1+s.plan.levels())
	}
	return t
}

// runs are so many parts of the survey, in input order, of which every other one is a half of it: what is near in the input stays together.
const runs = 64

// grow extrapolates a figure to x times the survey. What comes of single documents, or of those that are near each other, grows as the
// documents do, and what comes of two from anywhere as their square: a figure is a·n + b·n², and the survey and the mean of its halves
// give a and b. Where clusters are of many documents of which the survey has one or two, it is too large.
func grow(whole, half, x float64) float64 {
	linear, square := parts(whole, half)
	return linear*x + square*x*x
}

// parts are what of a figure grows linearly, and what as the square.
func parts(whole, half float64) (linear, square float64) {
	linear = min(max(0, 4*half-whole), whole)
	return linear, whole - linear
}

// interval is wide enough for what the halves may not show: edges grow at least as documents do, as in clusters that have grown beyond what
// the survey sees, and at most as their square. Two standard errors of the number in the survey, n, go to either side: edges of the same
// documents come together, so that n varies as its n/forest-fold, of those that a forest needs. Where there is none, up to three may have been
// missed (with a probability of 1/20).
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

// send computes what documents of the survey send, as the steps of the graph do: those of one part of the input, as if it were all.
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

// grouped is which documents are copies, and which are in a component.
type grouped struct {
	firsts []int // of their blocks: they are signed
	// copyOf names the first document with what copies have in common; copies are those of each.
	copyOf map[int]int
	copies map[int]int
	// root is the first document of a component, and documents how many it has that are no copies.
	root      func(i int) blocks.Key
	documents map[blocks.Key]int
}

// group finds copies.
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

// A band block has a header for each file and shard, and an entry for each document.
const bandHeader, bandEntry = 16, 9

// bandBytes is what the band entries of documents take.
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
	return float64(bands) * float64(bandEntry*len(firsts)+bandHeader*headers)
}

// connect finds the edges of buckets, and the components.
func (s *survey) connect(g *grouped, t *sending) {
	p := s.plan
	listed := p.candidates("").List != ""
	type entry struct {
		bucket   uint64
		document blocks.Key
	}
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
		slices.SortFunc(entries, func(a, b entry) int {
			return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.document, b.document))
		})
		for i, e := range entries {
			if i > 0 && entries[i-1].bucket == e.bucket {
				chained = append(chained, blocks.Edge{A: entries[i-1].document, B: e.document})
				if forest.Union(int64(entries[i-1].document), int64(e.document)) {
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

const fanIn = 4 // of components.Connect

// levels is how often the tree of components.Connect sends forests on, which have no more edges than what they are made of.
func (p *Plan) levels() (n int) {
	for parts := p.parts(); parts > 1; parts = (parts + fanIn - 1) / fanIn {
		n++
	}
	return n
}

// inForests is how many edges the forests of a tree of groups have, on their way from so many parts to one.
func inForests(sent []blocks.Edge, parts int) (n int) {
	type grouped struct {
		part int
		edge blocks.Edge
	}
	var level []grouped
	for _, e := range sent {
		level = append(level, grouped{int(hash.Mix(uint64(e.B)) % uint64(parts)), e})
	}
	for ; parts > 1; parts = (parts + fanIn - 1) / fanIn {
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
					level = append(level, grouped{part / fanIn, blocks.Edge{A: blocks.Key(root), B: blocks.Key(key)}})
				}
			}
		}
		n += len(level)
	}
	return n
}

// sendAgain adds what documents send that are read again: copies, and what has copies or an edge.
func (s *survey) sendAgain(numbers []int, g *grouped, t *sending) {
	type sentSet struct {
		component blocks.Key
		set       uint64
	}
	sent := map[sentSet]bool{} // of a block
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
			t[setSent] += float64(d.setBytes())
		}
	}
}

// profile is one of a document, of which only the length matters.
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

// copyBytes is what a document takes that is a copy of one, or that one.
func (d *surveyed) copyBytes(of blocks.Key, p *Plan) int {
	c := blocks.Copy{Of: of, Profile: d.profile(0)}
	if of == d.key || p.Request.Same == copies.Set {
		c.Profile.Traits.Tokens.Hi = 1
	}
	return len(blocks.AppendCopy(nil, &c))
}

func (d *surveyed) setBytes() (n int) {
	blocks.SetParts(nil, d.key, blocks.Hash{}, make([]uint64, d.words), func(part []byte) { n += len(part) })
	return n
}
