//go:build !purego

package jsonl

import "golang.org/x/sys/cpu"

// TZCNT belongs to BMI1.
var hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1

func plain(b []byte) int {
	if hasAVX2 && len(b) >= 32 {
		return plainAVX2(b)
	}
	return plainWords(b)
}

// plainAVX2 is plainWords of 32 bytes or more, and takes as many at a time.
//
//go:noescape
func plainAVX2(b []byte) int
