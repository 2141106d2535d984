//go:build !(amd64 || arm64) || purego

package blocks

// inPlace returns no set: encoded values are little endian, which these processors may not be.
func (p *SetPart) inPlace() (set []uint64, ok bool) { return nil, false }

// appendShingles appends shingles in little-endian order.
func appendShingles(block []byte, set []uint64) []byte {
	for _, v := range set {
		block = AppendUint64(block, v)
	}
	return block
}
