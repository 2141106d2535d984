//go:build !(amd64 || arm64) || purego

package blocks

// inPlace returns none: values travel in little-endian order.
func (p *SetPart) inPlace() (set []uint64, ok bool) { return nil, false }

// appendShingles appends shingles as they travel.
func appendShingles(block []byte, set []uint64) []byte {
	for _, v := range set {
		block = AppendUint64(block, v)
	}
	return block
}
