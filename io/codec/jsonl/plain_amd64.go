//go:build !purego

package jsonl

import "golang.org/x/sys/cpu"

// TZCNT and BLSMSK belong to BMI1.
var hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1

func plain(b []byte) (n int, wide bool) {
	if hasAVX2 && len(b) >= 32 {
		return plainAVX2(b)
	}
	return plainWords(b)
}

// plainAVX2 is plainWords for at least 32 bytes, 32 at a time.
//
//go:noescape
func plainAVX2(b []byte) (n int, wide bool)
