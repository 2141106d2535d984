package job

import (
	"context"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/frequencies"
)

// Example reads two documents again and compares them. similar reports whether they reach the threshold; if not, e has
// no similarity.
func (p *Plan) Example(
	ctx context.Context, of verifier.Spec, pair blocks.Edge,
) (e *records.Example, similar bool, err error) {
	toFeatures, err := frequencies.Features(ctx, of)
	if err != nil {
		return nil, false, err
	}
	in, shingler := p.Listing.Inputs, p.Spec.New()
	var ids, texts [2]string
	var features [2][]uint64
	err = source.Lookup(ctx, in, []blocks.Key{pair.A, pair.B}, p.Reading(), func(doc blocks.Document) {
		i := 0
		if doc.Key == pair.B {
			i = 1
		}
		ids[i], texts[i] = in.ID(doc.Key, doc.ID, doc.HasID), string(doc.Text)
		features[i] = toFeatures(shingler.Shingles(nil, doc.Text))
	})
	if err != nil {
		return nil, false, err
	}
	v := of.New()
	e = &records.Example{TextA: texts[0], TextB: texts[1], Pair: records.Pair{
		IDA: ids[0], SourceA: in.Source(pair.A), PositionA: pair.A.Position(), SizeA: int32(v.Len(len(features[0]))),
		IDB: ids[1], SourceB: in.Source(pair.B), PositionB: pair.B.Position(), SizeB: int32(v.Len(len(features[1]))),
	}}
	if len(features[0]) == 0 || len(features[1]) == 0 {
		return e, false, nil
	}
	score, similar := v.Compare(features[0], features[1])
	if similar {
		e.Pair.Similarity = v.Similarity(score, v.Size(features[0]), v.Size(features[1]))
		e.Pair.Shared = int32(v.Shared(score, features[0], features[1]))
	}
	return e, similar, nil
}
