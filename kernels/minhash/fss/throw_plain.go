//go:build !amd64 || purego

package fss

func throw(sig, shingles []uint64, mask, round uint64) (filled uint64) {
	return throwPlain(sig, shingles, mask, round)
}
