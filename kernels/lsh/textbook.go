package lsh

import (
	"fmt"
	"hash/crc32"
	"strconv"
)

// appendText appends the values of a band as text, joined by _ (15_355_89_2).
func appendText(dst []byte, values []uint64) []byte {
	for i, v := range values {
		if i > 0 {
			dst = append(dst, '_')
		}
		dst = strconv.AppendUint(dst, v, 10)
	}
	return dst
}

// Label returns the values of a band of a signature as text: 15_355_89_2.
func (b Banding) Label(sig []uint64, band int) string {
	return string(appendText(nil, sig[band*b.Rows:(band+1)*b.Rows]))
}

// Bucket returns a key as text: 8 hexadecimal digits of a CRC-32, 16 of other keys.
func (b Banding) Bucket(key uint64) string {
	if b.AsText {
		return fmt.Sprintf("%08x", key>>32)
	}
	return fmt.Sprintf("%016x", key)
}

// textKeys is like Keys, but each key is the CRC-32 (IEEE) of the band's values as text, in the upper half, which holds
// the bits that identify buckets. Keys of different bands can coincide, so a bucket is identified by its band and key.
func textKeys(dst, sig []uint64, b, r int) []uint64 {
	dst = dst[:0]
	var text []byte
	for band := range b {
		text = appendText(text[:0], sig[band*r:(band+1)*r])
		dst = append(dst, uint64(crc32.ChecksumIEEE(text))<<32)
	}
	return dst
}
