package blocks

import (
	"encoding/binary"
	"iter"
)

// Document is one document on its way from a reader to the kernels.
type Document struct {
	Key   Key
	ID    []byte
	HasID bool
	// Component is the component the document was read for, in the second read, and Of how many
	// documents that has; 0 in the first.
	Component Key
	Of        int
	// Rank orders documents for the decision, where the order of the input does not; in the second
	// read.
	Rank []byte
	Text []byte
	// Ends says where its columns end, if it has several, as codec.Document does.
	Ends []byte
}

// AppendDocument appends doc to a block of documents. A block is any number of documents one
// after another, so that an element of the pipeline is worth its fixed cost.
func AppendDocument(block []byte, doc *Document) []byte {
	block = AppendKey(block, doc.Key)
	block = binary.AppendUvarint(binary.AppendUvarint(block, uint64(doc.Component)), uint64(doc.Of))
	block = AppendOptional(block, doc.ID, doc.HasID)
	block = AppendBytes(block, doc.Rank)
	return AppendBytes(AppendBytes(block, doc.Text), doc.Ends)
}

// Document reads one document of a block; its bytes share memory with the block.
func (d *Decoder) Document() (doc Document) {
	doc.Key = d.Key()
	doc.Component, doc.Of = Key(d.Uvarint()), int(d.Uvarint())
	doc.ID, doc.HasID = d.Optional()
	doc.Rank = d.Bytes()
	doc.Text = d.Bytes()
	doc.Ends = d.Bytes()
	return doc
}

// Documents yields the documents of a block, up to one that does not fit; ask Err afterwards.
func (d *Decoder) Documents() iter.Seq[Document] {
	return func(yield func(Document) bool) {
		for !d.Done() {
			if doc := d.Document(); d.failed || !yield(doc) {
				return
			}
		}
	}
}
