//go:build !amd64 || purego

package jsonl

func plain(b []byte) int { return plainWords(b) }
