package shuffle

import (
	"encoding/binary"

	"github.com/neardup/neardup/runners/local/internal/spill"
)

// blockSize is the approximate size of a block on disk: small enough for a merge of many runs to keep one block of each
// in memory.
const blockSize = 64 << 10

// blockWriter writes records to blocks.
type blockWriter struct {
	file    *spill.File
	indexed bool
	block   []byte
	blocks  []spill.Ref
	firsts  [][]byte
}

// append adds an encoded record. A record that fills a block by itself is not copied.
func (w *blockWriter) append(record []byte) error {
	if len(w.block) > 0 && len(w.block)+len(record) > blockSize {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if len(w.block) == 0 && w.indexed {
		key, _ := cut(record)
		w.firsts = append(w.firsts, append([]byte(nil), key...))
	}
	if len(record) >= blockSize {
		return w.write(record)
	}
	w.block = append(w.block, record...)
	return nil
}

func (w *blockWriter) flush() error {
	if len(w.block) == 0 {
		return nil
	}
	err := w.write(w.block)
	w.block = w.block[:0]
	return err
}

func (w *blockWriter) write(block []byte) error {
	ref, err := w.file.Write(block)
	if err == nil {
		w.blocks = append(w.blocks, ref)
	}
	return err
}

// finish returns the blocks written since the last call.
func (w *blockWriter) finish() (blocks []spill.Ref, firsts [][]byte, err error) {
	if err := w.flush(); err != nil {
		return nil, nil, err
	}
	blocks, firsts = w.blocks, w.firsts
	w.blocks, w.firsts = nil, nil
	return blocks, firsts, nil
}

// appendRecord appends a record in its form on disk.
func appendRecord(b, key, value []byte) []byte {
	b = append(appendUvarint(b, len(key)), key...)
	return append(appendUvarint(b, len(value)), value...)
}

func appendUvarint(b []byte, n int) []byte {
	if n < 0x80 { // nearly always
		return append(b, byte(n))
	}
	return binary.AppendUvarint(b, uint64(n))
}

func uvarintSize(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}
