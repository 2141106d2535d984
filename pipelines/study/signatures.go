package study

import (
	"context"
	"math"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/overlap"
	"github.com/neardup/neardup/transforms/signature"
)

// sign signs the documents under the first setting, with the largest requested number of values: any part of these is a
// shorter signature.
func (r *Job) sign(ctx context.Context) (all []signatureError, err error) {
	if len(r.config.Signatures) == 0 {
		return nil, nil
	}
	r.study.Signature = string(r.config.Signature)
	most := slices.Max(r.config.Signatures)
	r.plan.Choice.Banding = lsh.Banding{Bands: most, Rows: 1, Signature: most}
	if _, err := r.plan.Prepare(ctx, r.launch, r.temp); err != nil {
		return nil, err
	}
	path := storage.Join(r.temp, "signatures")
	pipeline, scope := beam.NewPipelineWithRoot()
	docs, _ := r.plan.ReadAlone(scope, r.temp)
	signed, _ := signature.Values(scope, docs, r.plan.Signature(r.temp))
	overlap.WriteSignatures(scope, signed, path)
	if _, err := r.config.Execute(ctx, r.launch, pipeline, r.temp); err != nil {
		return nil, err
	}
	signatures, err := overlap.ReadSignatures(ctx, path, r.documents)
	for _, n := range r.config.Signatures {
		all = append(all, signatureError{values: n, signatures: signatures})
	}
	return all, err
}

// signatureError sums up the errors of estimates by signatures of a given length.
type signatureError struct {
	values     int
	signatures [][]uint64 // at least that long; nil for a document without a token

	estimates, squares, expected, bias float64
}

// add adds a pair with a similarity: one estimate for each run of values.
func (e *signatureError) add(a, b int, similarity float64) {
	one, other := e.signatures[a], e.signatures[b]
	n := float64(e.values)
	for min(len(one), len(other)) >= e.values {
		difference := float64(fss.Equal(one[:e.values], other[:e.values]))/n - similarity
		e.estimates++
		e.squares += difference * difference
		e.bias += difference
		e.expected += similarity * (1 - similarity) / n
		one, other = one[e.values:], other[e.values:]
	}
}

func (e *signatureError) describe() records.SignatureError {
	n := max(e.estimates, 1)
	return records.SignatureError{Values: e.values, RMS: math.Sqrt(e.squares / n),
		Expected: math.Sqrt(e.expected / n), Bias: e.bias / n}
}
