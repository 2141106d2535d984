package signature

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
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

// signFn makes band entries, edges and rejected rows of blocks of documents.
type signFn interface {
	Setup(ctx context.Context) error
	StartBundle(bands func(int64, []byte), edges func([]byte), rejected func(int64, []byte))
	ProcessElement(ctx context.Context, block []byte, bands func(int64, []byte), edges func([]byte), rejected func(int64, []byte)) error
	FinishBundle(ctx context.Context, bands func(int64, []byte), edges func([]byte), rejected func(int64, []byte))
}

// signed is what one bundle emits.
type signed struct {
	bands    map[int64][]blocks.BandEntry
	edges    []blocks.Edge
	rejected []records.Rejected
}

// sign runs documents, in blocks of two, through one bundle.
func sign(t *testing.T, p Params, docs []blocks.Document) (out signed) {
	t.Helper()
	p.Inputs = filepath.Join(storagetest.RunFolder(t), "inputs.json")
	inputs := &blocks.Inputs{Files: []blocks.File{{Source: "a.jsonl", Size: 1000}}, Shards: 1}
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
	edges := func(block []byte) {
		var err error
		if out.edges, err = blocks.DecodeEdges(out.edges, block); err != nil {
			t.Fatal(err)
		}
	}
	rejected := func(_ int64, block []byte) {
		for d := blocks.NewDecoder(block); !d.Done(); {
			var row records.Rejected
			blocks.DecodeFields(blocks.NewDecoder(d.RowPart().Fields), &row)
			out.rejected = append(out.rejected, row)
		}
	}
	var f signFn = &minHashFn{Params: p}
	if p.Same != "" {
		f = &exactFn{Params: p}
	}
	if err := f.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.StartBundle(bands, edges, rejected)
	var block []byte
	for i := range docs {
		block = blocks.AppendDocument(block, &docs[i])
		if i%2 == 1 || i == len(docs)-1 {
			if err := f.ProcessElement(context.Background(), block, bands, edges, rejected); err != nil {
				t.Fatal(err)
			}
			block = nil
		}
	}
	f.FinishBundle(context.Background(), bands, edges, rejected)
	return out
}

func document(position int64, text string) blocks.Document {
	return blocks.Document{Key: blocks.NewKey(0, position), ID: fmt.Append(nil, position), HasID: true, Text: []byte(text)}
}

func params(t *testing.T) Params {
	return Params{Text: spec(t), Banding: lsh.Banding{Signature: 128, Bands: 18, Rows: 5}, Seed: 1, ShardBits: 3}
}

// Each document has one entry a band, in the group and with the key that its signature says.
func TestBandEntries(t *testing.T) {
	p := params(t)
	texts := []string{"one two three four five six seven", "eight nine ten eleven twelve", "single"}
	var docs []blocks.Document
	for i, text := range texts {
		docs = append(docs, document(int64(10*i), text))
	}
	out := sign(t, p, docs)
	total := 0
	for _, entries := range out.bands {
		total += len(entries)
	}
	if want := len(texts) * p.Banding.Bands; total != want {
		t.Errorf("%d band entries, want %d", total, want)
	}
	shingler, signer := p.Text.New(), fss.New(p.Banding.Signature, p.Seed)
	for i, text := range texts {
		values := signer.Sign(nil, shingler.Shingles(nil, []byte(text)))
		for band, key := range lsh.Keys(nil, values, p.Banding.Bands, p.Banding.Rows) {
			group := int64(band)<<3 | int64(key>>61)
			found := false
			for _, e := range out.bands[group] {
				found = found || e.Document == docs[i].Key && e.Key == key<<3>>24
			}
			if !found {
				t.Errorf("document %d has no entry for its key of band %d", i, band)
			}
		}
	}
}

func TestEqualSequencesCollapse(t *testing.T) {
	out := sign(t, params(t), []blocks.Document{
		document(0, "one two three four five six"),
		document(10, "One, two, THREE four five six!"),
		document(20, "one two three four five six"), // in the next block
	})
	want := blocks.Edge{A: blocks.NewKey(0, 0), B: blocks.NewKey(0, 10)}
	if len(out.edges) != 1 || out.edges[0] != want {
		t.Errorf("edges %v, want %v", out.edges, want)
	}
	of := map[blocks.Key]int{}
	for _, entries := range out.bands {
		for _, e := range entries {
			of[e.Document]++
		}
	}
	if of[want.A] == 0 || of[want.B] > 0 || of[blocks.NewKey(0, 20)] != of[want.A] {
		t.Errorf("band entries by document: %v", of)
	}
}

func TestNoTokenIsRejected(t *testing.T) {
	out := sign(t, params(t), []blocks.Document{document(0, "..."), document(5, "word")})
	if len(out.rejected) != 1 {
		t.Fatalf("%d rejected rows, want 1", len(out.rejected))
	}
	row := out.rejected[0]
	if row.Reason != records.ReasonNoToken || row.Unreadable() || row.ID == nil || *row.ID != "0" || row.Source != "a.jsonl" || row.Position != 0 {
		t.Errorf("rejected %+v", row)
	}
}
