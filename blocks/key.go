// Package blocks defines what flows between the steps of a pipeline: document keys, the inputs that all steps share,
// and the values that travel in blocks, with their byte layouts. The layouts may change from version to version;
// package records defines what files contain.
//
// docs/glossary.md explains the words (document, split, copy, cluster, kept, removed, ...).
package blocks

import (
	"encoding/binary"
	"fmt"
)

// Limits of a document key: a run reads at most MaxFiles files, and a record begins before
// MaxPosition in its (decompressed) file.
const (
	positionBits = 40
	MaxFiles     = 1 << 23
	MaxPosition  = 1 << positionBits
)

// Key identifies a document of a run: the file's ordinal in input order (23 bits) and the
// record's byte position in the decompressed file (40 bits); the sign is 0. Keys therefore
// sort in input order.
type Key int64

// NewKey returns the key of the record at position of file. Both must be within the limits,
// which the planner and the reader check.
func NewKey(file int, position int64) Key {
	return Key(int64(file)<<positionBits | position)
}

// File returns the ordinal of the document's file.
func (k Key) File() int { return int(k >> positionBits) }

// Position returns the byte offset of the record in its decompressed file, or its row.
func (k Key) Position() int64 { return int64(k) & (MaxPosition - 1) }

// AppendOrdered appends a key so that the byte order of records is the order of their keys.
func AppendOrdered(dst []byte, key Key) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(key))
}

// OrderedKey returns the key that a record begins with, and the rest of the record.
func OrderedKey(record []byte) (Key, []byte, error) {
	if len(record) < 8 {
		return 0, nil, ErrCorrupt
	}
	return Key(binary.BigEndian.Uint64(record)), record[8:], nil
}

func (k Key) String() string { return fmt.Sprintf("%d@%d", k.File(), k.Position()) }
