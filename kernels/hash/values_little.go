//go:build (amd64 || arm64) && !purego

package hash

import "unsafe"

// valuesFast is Values where values are little-endian bytes in memory, too.
func valuesFast(values []uint64) Sum128 {
	return Text(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 8*len(values)))
}
