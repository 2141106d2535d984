package sets

import (
	"context"
	"encoding/binary"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/sorted"
)

// Groups sorts documents by set. They are in sorted records, so that the memory is bounded.
type Groups struct{ records sorted.Records }

// Document is a document of a group. Packed is its encoded profile, with which the profile shares memory.
type Document struct {
	blocks.Profile
	Packed []byte
}

// Open reads a packed profile.
func Open(packed []byte) Document { return Document{blocks.NewDecoder(packed).Profile(), packed} }

// Hold sets d to a copy of a packed document.
func (d *Document) Hold(packed []byte) { *d = Open(append(d.Packed[:0], packed...)) }

// Group describes the documents of one set.
type Group struct {
	// First is the first document, the representative. Words is the number of features in the set.
	First blocks.Key
	Words int
	// Best is the profile of the preferred document, copies included. It has at least the key and the rank.
	Best *blocks.Profile
	// Documents is the number of documents, copies included.
	Documents int
}

const orderBytes = 3 * 8 // a hash and a key

// Read reads profiles, and discards those read before.
func (g *Groups) Read(ctx context.Context, files sorted.Params, profiles func(*[]byte) bool) error {
	g.records.Begin(ctx, files)
	var record, block []byte
	for profiles(&block) {
		for d := blocks.NewDecoder(block); !d.Done(); {
			begin := len(block) - d.Left()
			p := d.Profile()
			if err := d.Err(); err != nil {
				return err
			}
			record = binary.BigEndian.AppendUint64(record[:0], p.Hash.Hi)
			record = blocks.AppendOrdered(binary.BigEndian.AppendUint64(record, p.Hash.Lo), p.Key)
			if err := g.records.Add(append(record, block[begin:len(block)-d.Left()]...)); err != nil {
				return err
			}
		}
	}
	return g.records.End()
}

// Each calls do with each group, which is valid until the next.
func (g *Groups) Each(in *blocks.Inputs, do func(*Group) error) error {
	var of Group
	var best Document
	end := func() error {
		if of.Documents == 0 {
			return nil
		}
		of.Best = best.Preferred()
		return do(&of)
	}
	for record, err := range g.records.All() {
		if err != nil {
			return err
		}
		d := Open(record[orderBytes:])
		first := of.Documents == 0 || d.Hash != best.Hash
		if first {
			if err := end(); err != nil {
				return err
			}
			of = Group{First: d.Key, Words: d.Words}
		}
		if first || in.Preferred(d.Preferred(), best.Preferred()) < 0 {
			best.Hold(d.Packed)
		}
		of.Documents += 1 + d.Copies
	}
	return end()
}
