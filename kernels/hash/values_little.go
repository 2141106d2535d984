//go:build (amd64 || arm64) && !purego

package hash

import "unsafe"

// valuesFast implements Values on processors whose memory is little endian.
func valuesFast(values []uint64) Sum128 {
	return Text(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 8*len(values)))
}
