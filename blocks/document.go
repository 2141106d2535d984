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
	// documents that has; 0 in the first. In the second read, Of is 0 for a copy of the document Component.
	Component Key
	Of        int
	// Copied: others are copies of it; known in the second read.
	Copied bool
	// Rank orders documents for the decision, where the order of the input does not; in the second
	// read.
	Rank []byte
	Text []byte
	// Ends says where its columns end, if it has several, as codec.Document does.
	Ends []byte
	// Values are those that it is matched by with others, in the order of the rules: byte strings, as AppendBytes packs
	// them, empty where there is none.
	Values []byte
	// Wanted is what it was read again for, where that was asked: byte strings, as AppendBytes packs them.
	Wanted []byte
}

// AppendDocument appends doc to a block of documents. A block is any number of documents one
// after another, so that an element of the pipeline is worth its fixed cost.
func AppendDocument(block []byte, doc *Document) []byte {
	block = AppendKey(block, doc.Key)
	of := uint64(doc.Of) << 1
	if doc.Copied {
		of |= 1
	}
	block = binary.AppendUvarint(binary.AppendUvarint(block, uint64(doc.Component)), of)
	block = AppendOptional(block, doc.ID, doc.HasID)
	block = AppendBytes(block, doc.Rank)
	return AppendBytes(AppendBytes(AppendBytes(AppendBytes(block, doc.Text), doc.Ends), doc.Values), doc.Wanted)
}

// Document reads one document of a block; its bytes share memory with the block.
func (d *Decoder) Document() (doc Document) {
	doc.Key = d.Key()
	doc.Component = Key(d.Uvarint())
	of := d.Uvarint()
	doc.Of, doc.Copied = int(of>>1), of&1 == 1
	doc.ID, doc.HasID = d.Optional()
	doc.Rank = d.Bytes()
	doc.Text = d.Bytes()
	doc.Ends = d.Bytes()
	doc.Values = d.Bytes()
	doc.Wanted = d.Bytes()
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
