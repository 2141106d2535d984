// Package overlap counts the features that each two documents of a small collection share, under several settings, in
// one read.
package overlap

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[featuresFn]()
	flow.Register[countFn]()
	flow.Register[documentsFn]()
}

// Setting defines the features of documents.
type Setting struct {
	Text shingle.Spec
	// Replicas counts a shingle as often as it occurs.
	Replicas bool
}

// features returns the features of shingles, in their memory.
func (s *Setting) features(shingles []uint64) []uint64 {
	if s.Replicas {
		return shingle.Bag(shingles)
	}
	return shingle.Set(shingles)
}

// Params configure what is counted, and where it is written.
type Params struct {
	Settings []Setting
	// Ranges is the number of ranges of feature values, which are counted separately for each setting.
	Ranges int
	// Dir is the folder for the files that Open and Documents read.
	Dir string
	// Most is the maximum number of documents; Documents returns a *TooManyError if there are more.
	Most int
}

// Count counts the features that each two documents share, and writes the files that Open and Documents read.
// Two GroupByKeys.
//
//	blocks of documents → nothing
func Count(s beam.Scope, docs flow.Documents, p Params) {
	s = s.Scope("overlap.Count")
	features, listed := beam.ParDo2(s, &featuresFn{Params: p}, beam.PCollection(docs))
	beam.ParDo0(s, &countFn{p}, beam.GroupByKey(s, features))
	beam.ParDo0(s, &documentsFn{p}, beam.PCollection(gather.All(s, gather.Values(listed))))
}

// rangeOf returns the range of a feature.
func (p *Params) rangeOf(feature uint64) int {
	return int(feature >> 32 * uint64(p.Ranges) >> 32)
}

// maxNumbers bounds the features in one element.
const maxNumbers = 8 << 10

// featuresFn sends the features of documents to their ranges, and lists the documents.
//
//	blocks of documents → KV<setting and range, features>, KV<gather.Key, documents>
type featuresFn struct {
	Params Params

	shinglers []*shingle.Shingler
	reader    *copies.Reader
	out       blocks.Buffers
}

func (f *featuresFn) Setup() {
	for _, setting := range f.Params.Settings {
		f.shinglers = append(f.shinglers, setting.Text.New())
	}
	f.reader = copies.NewReader(f.Params.Settings[0].Text.OfWords(), (*shingle.Shingler).Set)
}

func (f *featuresFn) ProcessElement(block []byte, features, listed func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		traits, _ := f.reader.Read(doc.Text, doc.Ends)
		document := Document{Key: doc.Key, ID: doc.ID, HasID: doc.HasID, Text: blocks.Hash(traits.Text),
			Same: blocks.Hash(traits.Tokens)}
		for i, setting := range f.Params.Settings {
			tokens := f.shinglers[i].Tokenise(doc.Text)
			document.Tokens = append(document.Tokens, int64(len(tokens)))
			set := setting.features(f.shinglers[i].InPlace())
			document.Sizes = append(document.Sizes, int64(len(set)))
			f.send(i, doc.Key, set, features)
			f.shinglers[i].Trim()
		}
		f.reader.Trim()
		if err := gather.EmitJSON(&document, listed); err != nil {
			return err
		}
	}
	return d.Err()
}

// send sends the sorted features of a document.
func (f *featuresFn) send(setting int, doc blocks.Key, set []uint64, features func(int64, []byte)) {
	for part := range f.Params.Ranges {
		n, _ := slices.BinarySearchFunc(set, part+1,
			func(feature uint64, end int) int { return f.Params.rangeOf(feature) - end })
		for some := range slices.Chunk(set[:n], maxNumbers) {
			f.out.Add(int64(setting*f.Params.Ranges+part), func(block []byte) []byte {
				return blocks.AppendNumbers(block, doc, some)
			}, features)
		}
		set = set[n:]
	}
}

func (f *featuresFn) FinishBundle(features, _ func(int64, []byte)) { f.out.Flush(features) }

// countFn counts the features of a range that each two documents share, and writes the counts to a file.
//
//	KV<setting and range, features> → nothing
type countFn struct{ Params Params }

func (f *countFn) ProcessElement(ctx context.Context, number int64, packed func(*[]byte) bool) error {
	byKey := map[blocks.Key][]uint64{}
	err := gather.Each(packed, func(d *blocks.Decoder) {
		key, numbers := d.Numbers(nil)
		byKey[key] = append(byKey[key], numbers...)
	})
	if err != nil {
		return err
	}
	if len(byKey) > f.Params.Most {
		return nil // documentsFn reports it
	}
	keys := slices.Sorted(maps.Keys(byKey))
	// Sets are in reverse order, so that a row has what a document shares with later ones.
	last := len(keys) - 1
	sets := make([][]uint64, len(keys))
	for i, key := range keys {
		sets[last-i] = shingle.Set(byKey[key]) // the parts come in any order
	}
	rows := make([][]int32, len(keys))
	setsim.Overlaps(sets, func(i int, shared []int32) {
		row := slices.Clone(shared)
		slices.Reverse(row)
		rows[last-i] = row
	})
	out := binary.AppendUvarint(nil, uint64(len(keys)))
	for _, key := range keys {
		out = blocks.AppendKey(out, key)
	}
	for _, row := range rows {
		for _, n := range row {
			out = binary.AppendUvarint(out, uint64(n))
		}
	}
	return storage.WriteBytes(ctx, f.Params.file(number), out)
}

func (p *Params) file(number int64) string {
	return storage.Join(p.Dir, fmt.Sprintf("shared-%05d", number))
}
