package signature

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
)

func init() {
	flow.Register[longEnoughFn]()
}

// reject adds a row for a document that is not compared, unless it is a reference.
func reject(
	rows *blocks.Buffers, in *blocks.Inputs, doc *blocks.Document, reason, detail string, emit func(int64, []byte),
) {
	if in.IsReference(doc.Key) {
		return
	}
	id := in.ID(doc.Key, doc.ID, doc.HasID)
	row := records.Rejected{
		Source: in.Source(doc.Key), Position: doc.Key.Position(),
		ID: &id, Reason: reason, Detail: detail,
	}
	blocks.AddRow(rows, int64(in.Shard(doc.Key)), doc.Key, doc.Key, &row, emit)
}

// RejectEmpty adds a row for a document that has no tokens.
func RejectEmpty(
	rows *blocks.Buffers, in *blocks.Inputs, doc *blocks.Document, text shingle.Spec, emit func(int64, []byte),
) {
	if !text.TooLarge(doc.Text) {
		reject(rows, in, doc, records.ReasonNoToken, "", emit)
		return
	}
	reject(rows, in, doc, records.ReasonTooLarge,
		fmt.Sprintf("%d bytes of text, more when normalised; --max-doc-bytes is %d",
			len(doc.Text), text.MaxBytes), emit)
}

// LongEnough passes on the documents whose normalised text has at least the given number of words, and rejects the
// others. inputs is the path of the shared blocks.Inputs.
//
//	blocks of documents → blocks of documents, KV<table shard, rejected rows>
func LongEnough(
	s beam.Scope, docs flow.Documents, inputs string, text shingle.Spec, words int,
) (flow.Documents, flow.Rows[records.Rejected]) {
	s = s.Scope("signature.LongEnough")
	long, rejected := beam.ParDo2(s, &longEnoughFn{Inputs: inputs, Text: text, Least: words}, beam.PCollection(docs))
	return flow.Documents(long), flow.Rows[records.Rejected](rejected)
}

// longEnoughFn counts the words of documents; see LongEnough for the shapes.
type longEnoughFn struct {
	Inputs string
	Text   shingle.Spec
	Least  int

	inputs   *blocks.Inputs
	words    *shingle.Shingler
	rejected blocks.Buffers
}

func (f *longEnoughFn) Setup(ctx context.Context) (err error) {
	f.words = f.Text.OfWords().New()
	f.inputs, err = storage.Shared[blocks.Inputs](ctx, f.Inputs)
	return err
}

func (f *longEnoughFn) ProcessElement(block []byte, long func([]byte), rejected func(int64, []byte)) error {
	var out []byte
	all := true
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		if words := len(f.words.Tokenise(doc.Text)); words < f.Least && !f.Text.TooLarge(doc.Text) {
			all = false
			reject(&f.rejected, f.inputs, &doc, records.ReasonTooShort,
				fmt.Sprintf("%s; --min-words is %d", records.Plural(words, "word"), f.Least), rejected)
			continue
		}
		out = blocks.AppendDocument(out, &doc)
	}
	f.words.Trim()
	switch {
	case all:
		long(block)
	case len(out) > 0:
		long(out)
	}
	return d.Err()
}

func (f *longEnoughFn) FinishBundle(_ func([]byte), rejected func(int64, []byte)) {
	f.rejected.Flush(rejected)
}
