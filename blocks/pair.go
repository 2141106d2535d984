package blocks

import "encoding/binary"

// NearPair is a pair of representatives with their exact similarity.
type NearPair struct {
	A, B          Key // A before B in input order
	Score, Shared int // as the verifier defines them; Shared ≤ Score
	// Matches holds one similarity for each rule that has one, the same number for every pair; nil if there are no such
	// rules.
	Matches []float64
}

// AppendNearPair appends a pair to a block.
func AppendNearPair(block []byte, p NearPair) []byte {
	block = binary.AppendUvarint(AppendKey(AppendKey(block, p.A), p.B), uint64(p.Shared))
	block = binary.AppendUvarint(block, uint64(p.Score-p.Shared)) // usually 0
	return floats.write(block, p.Matches)
}

// DecodeNearPairs appends the pairs of a block to dst.
func DecodeNearPairs(dst []NearPair, block []byte) ([]NearPair, error) {
	d := NewDecoder(block)
	for !d.Done() {
		dst = append(dst, d.NearPair())
	}
	return dst, d.Err()
}

// NearPair reads one pair of a block.
func (d *Decoder) NearPair() NearPair {
	p := NearPair{A: d.Key(), B: d.Key(), Shared: int(d.Uvarint())}
	p.Score = p.Shared + int(d.Uvarint())
	p.Matches = floats.read(d, nil)
	return p
}

// PairWriter packs near pairs into blocks under one key.
type PairWriter struct {
	Key  int64
	Emit func(int64, []byte)
	// Written is the number of pairs added.
	Written int64

	block []byte
}

// Add adds a pair of documents, in either order.
func (w *PairWriter) Add(a, b Key, score, shared int, matches []float64) {
	w.block = AppendNearPair(w.block, NearPair{A: min(a, b), B: max(a, b), Score: score, Shared: shared, Matches: matches})
	w.Written++
	if len(w.block) >= BlockBytes {
		w.Flush()
	}
}

// Flush emits the remaining pairs.
func (w *PairWriter) Flush() {
	if len(w.block) > 0 {
		w.Emit(w.Key, w.block)
		w.block = nil
	}
}
