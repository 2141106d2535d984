//go:build (amd64 || arm64) && !purego

package blocks

import "unsafe"

// inPlace returns the shingles in the block's memory if the part is a whole set. These processors are little endian and
// allow unaligned access.
func (p *SetPart) inPlace() (set []uint64, ok bool) {
	if len(p.Values) != ShingleBytes*p.Total {
		return nil, false
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(p.Values))), p.Total), true
}

// appendShingles appends shingles in little-endian order.
func appendShingles(block []byte, set []uint64) []byte {
	return append(block, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(set))), ShingleBytes*len(set))...)
}
