//go:build !amd64 || purego

package jsonl

func plain(b []byte) (n int, wide bool) { return plainWords(b) }
