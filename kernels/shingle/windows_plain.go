//go:build !amd64 || purego

package shingle

func hashWindows(dst, tokens []uint64, k int) { hashWindowsPlain(dst, tokens, k) }
