package token

import (
	"bytes"
	"iter"
	"unicode"
)

// Segments are the words of text as Words has them, before they are hashed. They share memory with
// text.
func Segments(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			n := segment(text)
			if isWord(text[:n]) && !yield(bytes.TrimLeftFunc(text[:n:n], unicode.IsSpace)) {
				return
			}
			text = text[n:]
		}
	}
}
