//go:build !purego

package token

import "testing"

// TestFoldedAVX2 tests what processors with AVX-512 do not use.
func TestFoldedAVX2(t *testing.T) {
	if !hasAVX512 {
		t.Skip("the other tests do")
	}
	hasAVX512 = false
	defer func() { hasAVX512 = true }()
	for name, test := range map[string]func(*testing.T){
		"texts": TestFoldedASCII, "bytes": TestFoldedASCIIBytes, "lengths": TestFoldedASCIILengths, "room": TestFoldedASCIIRoom,
	} {
		t.Run(name, test)
	}
}
