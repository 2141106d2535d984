package compare

import (
	"context"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/frequencies"
)

// exampleCount is how many pairs are shown with their texts.
const exampleCount = 3

// examples are the first pairs in input order, with their texts and what they share. A pair that only the signatures
// take for one is none.
func (r *run) examples(ctx context.Context, pairs []blocks.Edge) ([]records.Example, error) {
	pairs = pairs[:min(len(pairs), exampleCount)]
	var keys []blocks.Key
	for _, pair := range pairs {
		keys = append(keys, pair.A, pair.B)
	}
	slices.Sort(keys)
	of := r.plan.Verifier(r.temp)
	featuresOf, err := frequencies.Features(ctx, of)
	if err != nil {
		return nil, err
	}
	type document struct {
		id, text string
		features []uint64
	}
	in, shingler, verifier := r.plan.Listing.Inputs, r.plan.Spec.New(), of.New()
	documents := map[blocks.Key]document{}
	err = source.Lookup(ctx, in, slices.Compact(keys), r.plan.Request.Decoding(), func(doc blocks.Document) {
		shingler.Tokenise(doc.Text)
		documents[doc.Key] = document{
			in.ID(doc.Key, doc.ID, doc.HasID), string(doc.Text), slices.Clone(featuresOf(shingler.InPlace())),
		}
	})
	if err != nil {
		return nil, err
	}
	var examples []records.Example
	for _, pair := range pairs {
		a, b := documents[pair.A], documents[pair.B]
		score, ok := verifier.Compare(a.features, b.features)
		if !ok {
			continue
		}
		sizeA, sizeB := verifier.Size(a.features), verifier.Size(b.features)
		examples = append(examples, records.Example{TextA: a.text, TextB: b.text, Pair: records.Pair{
			IDA: a.id, SourceA: in.Source(pair.A), PositionA: pair.A.Position(),
			IDB: b.id, SourceB: in.Source(pair.B), PositionB: pair.B.Position(),
			Similarity: verifier.Similarity(score, sizeA, sizeB), Shared: int32(verifier.Shared(score, a.features, b.features)),
			SizeA: int32(verifier.Len(len(a.features))), SizeB: int32(verifier.Len(len(b.features))),
		}})
	}
	return examples, nil
}
