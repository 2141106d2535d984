package blocks

import "encoding/binary"

// AppendNumbers appends a document and its numbers to a block: the hashes of its shingles, their numbers in a
// dictionary, or its signature.
func AppendNumbers(block []byte, key Key, numbers []uint64) []byte {
	block = binary.AppendUvarint(AppendKey(block, key), uint64(len(numbers)))
	for _, n := range numbers {
		block = binary.AppendUvarint(block, n)
	}
	return block
}

// Numbers reads one document of a block and appends its numbers to dst.
func (d *Decoder) Numbers(dst []uint64) (Key, []uint64) {
	key := d.Key()
	for n := d.Uvarint(); n > 0 && !d.failed; n-- {
		dst = append(dst, d.Uvarint())
	}
	return key, dst
}
