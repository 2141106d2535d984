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
	// In the second read, Component is the component that the document is read for, and Of the number of documents in
	// it; Of is 0 for a copy of the document Component. Both are 0 in the first read.
	Component Key
	Of        int
	// Copied reports that the document has copies; set in the second read.
	Copied bool
	// Rank orders documents for the decision where input order does not; set in the second read.
	Rank []byte
	Text []byte
	// Ends holds the ends of the text's columns if there are several, as in codec.Document.
	Ends []byte
	// Values are the values by which the document is matched with others, one per rule in the order of the rules,
	// packed by AppendBytes; missing values are empty.
	Values []byte
	// Wanted holds the reasons why a step asked to read the document again, packed by AppendBytes.
	Wanted []byte
}

// AppendDocument appends doc to a block of documents. A block holds any number of documents, which spreads an element's
// fixed cost.
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

// Documents yields the documents of a block up to the first corrupt one; call Err afterwards.
func (d *Decoder) Documents() iter.Seq[Document] {
	return func(yield func(Document) bool) {
		for !d.Done() {
			if doc := d.Document(); d.failed || !yield(doc) {
				return
			}
		}
	}
}
