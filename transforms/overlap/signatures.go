package overlap

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[writeSignaturesFn]()
	beam.RegisterFunction(gatherFn)
}

// WriteSignatures writes signatures to a file that ReadSignatures reads. One GroupByKey.
//
//	blocks of signatures → nothing
func WriteSignatures(s beam.Scope, signed flow.Signatures, path string) {
	s = s.Scope("overlap.WriteSignatures")
	all := gather.Values(beam.ParDo(s, gatherFn, beam.PCollection(signed)))
	beam.ParDo0(s, &writeSignaturesFn{Path: path}, beam.PCollection(gather.All(s, all)))
}

// gatherFn keys blocks for one call.
//
//	block → KV<gather.Key, block>
func gatherFn(block []byte, emit func(int64, []byte)) { emit(gather.Key, block) }

// writeSignaturesFn writes signatures in the order in which they arrive.
//
//	KV<gather.Key, blocks of signatures> → nothing
type writeSignaturesFn struct{ Path string }

func (f *writeSignaturesFn) ProcessElement(ctx context.Context, _ int64, packed func(*[]byte) bool) error {
	var all, block []byte
	for packed(&block) {
		all = append(all, block...)
	}
	return storage.WriteBytes(ctx, f.Path, all)
}

// ReadSignatures returns the signatures of documents, nil for documents that have none.
func ReadSignatures(ctx context.Context, path string, documents []Document) ([][]uint64, error) {
	data, err := storage.ReadFile(ctx, path)
	if err != nil {
		return nil, err
	}
	places := make(map[blocks.Key]int, len(documents))
	for i, doc := range documents {
		places[doc.Key] = i
	}
	signatures := make([][]uint64, len(documents))
	d := blocks.NewDecoder(data)
	for !d.Done() {
		key, values := d.Numbers(nil)
		if i, ok := places[key]; ok {
			signatures[i] = values
		}
	}
	return signatures, d.Err()
}
