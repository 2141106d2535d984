package signature

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/minhash/salted"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/records"
)

func spec(t *testing.T) shingle.Spec {
	t.Helper()
	normalize, err := textnorm.Parse("default")
	if err != nil {
		t.Fatal(err)
	}
	return shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 5}, Normalize: normalize}
}

// signed is what one bundle emits.
type signed struct {
	bands    map[int64][]blocks.BandEntry
	others   []blocks.Document // passed on
	firsts   []blocks.First
	copies   []blocks.Member
	rejected []records.Rejected
}

// signBundle runs documents, in blocks of two, through one bundle.
func signBundle(t *testing.T, p Params, docs []blocks.Document) (out signed) {
	t.Helper()
	p.Inputs = filepath.Join(storagetest.RunFolder(t), "inputs.json")
	p.HashShards = 7
	inputs := &blocks.Inputs{Shards: 1}
	inputs.Add(&blocks.File{Source: "a.jsonl", Size: 1000}, []int64{40}, nil)
	if err := storage.WriteShared(t.Context(), p.Inputs, inputs); err != nil {
		t.Fatal(err)
	}
	out.bands = map[int64][]blocks.BandEntry{}
	bands := func(group int64, block []byte) {
		var err error
		if out.bands[group], err = blocks.DecodeBands(out.bands[group], block); err != nil {
			t.Fatal(err)
		}
	}
	firsts := func(shard int64, block []byte) {
		found, err := blocks.DecodeFirsts(nil, block)
		for _, f := range found {
			if err != nil || shard != int64(f.Hash.Hi%7) {
				t.Fatalf("%v was sent to shard %d, error %v", f, shard, err)
			}
		}
		out.firsts = append(out.firsts, found...)
	}
	copied := func(split int64, block []byte) {
		found, err := blocks.DecodeMembers(nil, block)
		for _, m := range found {
			if err != nil || split != int64(inputs.Split(m.Key)) || m.Of != 0 {
				t.Fatalf("%v was sent to split %d, error %v", m, split, err)
			}
		}
		out.copies = append(out.copies, found...)
	}
	others := func(block []byte) {
		for doc := range blocks.NewDecoder(block).Documents() {
			out.others = append(out.others, doc)
		}
	}
	rejected := func(_ int64, block []byte) {
		for d := blocks.NewDecoder(block); !d.Done(); {
			var row records.Rejected
			blocks.DecodeFields(blocks.NewDecoder(d.RowPart().Fields), &row)
			out.rejected = append(out.rejected, row)
		}
	}
	var packed [][]byte
	for pair := range slices.Chunk(docs, 2) {
		var block []byte
		for i := range pair {
			block = blocks.AppendDocument(block, &pair[i])
		}
		packed = append(packed, block)
	}
	ctx := t.Context()
	fail := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if p.Same == "" && p.Family != Classic {
		f := &signFn{Params: p}
		fail(f.Setup(ctx))
		for _, block := range packed {
			fail(f.ProcessElement(ctx, block, bands, firsts, copied, rejected))
		}
		f.FinishBundle(ctx, bands, firsts, copied, rejected)
		return out
	}
	f := &copiesFn{Params: p}
	fail(f.Setup(ctx))
	for _, block := range packed {
		fail(f.ProcessElement(ctx, block, others, firsts, copied, rejected))
	}
	f.FinishBundle(ctx, others, firsts, copied, rejected)
	return out
}

func document(position int64, text string) blocks.Document {
	return blocks.Document{Key: blocks.NewKey(0, position), ID: fmt.Append(nil, position), HasID: true, Text: []byte(text)}
}

func params(t *testing.T) Params {
	return Params{Text: spec(t), Family: FSS, Banding: lsh.Banding{Signature: 128, Bands: 18, Rows: 5}, Seed: 1, ShardBits: 3}
}

// Each document has one entry per band, in the group and with the key that its signature determines, for each family
// that needs only the text.
func TestBandEntries(t *testing.T) {
	p := params(t)
	shingler := p.Text.New()
	fast := fss.New(p.Banding.Signature, p.Seed)
	salty, err := salted.New(p.Banding.Signature, p.Seed)
	if err != nil {
		t.Fatal(err)
	}
	testBandEntries(t, p, func(text string) []uint64 { return fast.Sign(nil, shingler.Shingles(nil, []byte(text))) })
	p.Family = Salted
	testBandEntries(t, p, func(text string) []uint64 { return salty.Sign(nil, shingler.Texts([]byte(text))) })
}

func testBandEntries(t *testing.T, p Params, signature func(text string) []uint64) {
	t.Helper()
	texts := []string{"one two three four five six seven", "eight nine ten eleven twelve", "single"}
	var docs []blocks.Document
	for i, text := range texts {
		docs = append(docs, document(int64(10*i), text))
	}
	out := signBundle(t, p, docs)
	total := 0
	for _, entries := range out.bands {
		total += len(entries)
	}
	if want := len(texts) * p.Banding.Bands; total != want {
		t.Errorf("%d band entries, want %d", total, want)
	}
	for i, text := range texts {
		for band, key := range lsh.Keys(nil, signature(text), p.Banding.Bands, p.Banding.Rows) {
			group := int64(band)<<3 | int64(key>>61)
			found := false
			for _, e := range out.bands[group] {
				found = found || e.Document == docs[i].Key && e.Key == key<<3>>24
			}
			if !found {
				t.Errorf("%s: document %d has no entry for its key of band %d", p.Family, i, band)
			}
		}
	}
}

// Of documents of a block with the same tokens, the first is signed, and is reported once to have copies. Those of
// other blocks are signed, and found by hash.
func TestEqualTokensCollapse(t *testing.T) {
	out := signBundle(t, params(t), []blocks.Document{
		document(0, "one two three four five six"), document(10, "One, two, THREE four five six!"),
		document(20, "one two three four five six"), document(30, "another text"),
	})
	first, copied, other := blocks.NewKey(0, 0), blocks.NewKey(0, 10), blocks.NewKey(0, 20)
	if want := []blocks.Member{{Key: first, Component: first}, {Key: copied, Component: first}}; !slices.Equal(out.copies, want) {
		t.Errorf("copies %v, want %v", out.copies, want)
	}
	hashes := map[blocks.Key]blocks.Hash{}
	for _, f := range out.firsts {
		hashes[f.Key] = f.Hash
	}
	if len(hashes) != 3 || hashes[first] != hashes[other] || hashes[blocks.NewKey(0, 30)] == hashes[first] {
		t.Errorf("firsts %v", out.firsts)
	}
	of := map[blocks.Key]int{}
	for _, entries := range out.bands {
		for _, e := range entries {
			of[e.Document]++
		}
	}
	if of[first] == 0 || of[copied] > 0 || of[other] != of[first] {
		t.Errorf("band entries by document: %v", of)
	}
}

// Of three copies in a block, the first is reported once.
func TestFirstIsToldOnce(t *testing.T) {
	var found []blocks.Member
	in := &blocks.Inputs{Shards: 1}
	in.Add(&blocks.File{Source: "a"}, nil, nil)
	c := NewCollapse(in, 1)
	copies := func(_ int64, block []byte) {
		var err error
		if found, err = blocks.DecodeMembers(found, block); err != nil {
			t.Fatal(err)
		}
	}
	none := func(int64, []byte) {}
	for range 2 { // blocks
		c.Begin()
		for key := range blocks.Key(3) {
			if got := c.IsCopy(hash.Sum128{Hi: 5}, key, none, copies); got != (key > 0) {
				t.Errorf("document %v is a copy: %v", key, got)
			}
		}
	}
	c.Flush(none, copies)
	block := []blocks.Member{{Key: 0}, {Key: 1}, {Key: 2}}
	if want := slices.Concat(block, block); !slices.Equal(found, want) {
		t.Errorf("copies %v, want %v", found, want)
	}
}

// TestManyCopies uses consecutive blocks of documents, two of which have the same half of a hash.
func TestManyCopies(t *testing.T) {
	in := &blocks.Inputs{Shards: 1}
	in.Add(&blocks.File{Source: "a"}, nil, nil)
	c := NewCollapse(in, 1)
	none := func(int64, []byte) {}
	const n = 1000
	for block := range uint64(2) {
		c.Begin()
		for key := range blocks.Key(2 * n) {
			i := uint64(key % n)
			if got, want := c.IsCopy(hash.Sum128{Hi: i + block, Lo: i / 2}, key, none, none), key >= n; got != want {
				t.Fatalf("document %v of block %d is a copy: %v, want %v", key, block, got, want)
			}
		}
	}
}

func TestNoTokenIsRejected(t *testing.T) {
	out := signBundle(t, params(t), []blocks.Document{document(0, "..."), document(5, "word")})
	if len(out.rejected) != 1 {
		t.Fatalf("%d rejected rows, want 1", len(out.rejected))
	}
	row := out.rejected[0]
	if row.Reason != records.ReasonNoToken || row.Unreadable() || row.ID == nil || *row.ID != "0" || row.Source != "a.jsonl" || row.Position != 0 {
		t.Errorf("rejected %+v", row)
	}
}
