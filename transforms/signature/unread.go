package signature

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/match"
)

func init() {
	flow.Register[unreadFn]()
}

// Unread counts the documents with a value that a rule cannot read, by column, and quotes the first one. inputs is the
// path of the shared blocks.Inputs.
//
//	blocks of documents → facts
//
// There is one fact per block and column. Its name begins with the key of the first document, in 20 digits.
func Unread(s beam.Scope, docs flow.Documents, rules []match.Rule, inputs string) flow.Facts {
	fn := &unreadFn{Inputs: inputs, Rules: rules}
	return flow.Facts(beam.ParDo(s.Scope("signature.Unread"), fn, beam.PCollection(docs)))
}

type unreadFn struct {
	Inputs string
	Rules  []match.Rule
}

// mostShown is the maximum number of bytes quoted from a value.
const mostShown = 60

func (f *unreadFn) ProcessElement(ctx context.Context, block []byte, emit func([]byte)) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	facts := make([]blocks.Fact, len(f.Rules))
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		for i, value := range match.Unread(f.Rules, doc.Values) {
			if fact := &facts[i]; fact.Counts == nil {
				file := in.File(doc.Key.File())
				shown := strings.ToValidUTF8(string(value[:min(len(value), mostShown)]), "")
				*fact = blocks.Fact{
					Kind: blocks.FactValues, Name: fmt.Sprintf("%020d %s", doc.Key, f.Rules[i].Column),
					Counts: map[string]int64{}, Note: fmt.Sprintf("%s: %q", file.Place(doc.Key.Position()), shown),
				}
			}
			facts[i].Counts[blocks.CountValues]++
		}
	}
	for _, fact := range facts {
		if fact.Counts != nil {
			if err := fact.Emit(emit); err != nil {
				return err
			}
		}
	}
	return d.Err()
}
