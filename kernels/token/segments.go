package token

import (
	"iter"

	"github.com/neardup/neardup/kernels/spans"
)

// Segments are the tokens of text as Words has them, or WordsAndSymbols, before they are hashed. They
// share memory with text.
func Segments(text []byte, symbols bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for part, valid := range spans.Of(text) {
			if !valid && !yield(part) {
				return
			}
			for valid && len(part) > 0 {
				n := segment(part)
				if token, ok := tokenIn(part[:n:n], symbols); ok && !yield(token) {
					return
				}
				part = part[n:]
			}
		}
	}
}
