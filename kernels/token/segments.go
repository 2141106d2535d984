package token

import (
	"iter"

	"github.com/neardup/neardup/kernels/spans"
)

// Segments are the tokens of text as Words has them, or WordsAndSymbols, before they are hashed. They
// share memory with text.
func Segments(text []byte, symbols bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for part, raw := range spans.Marked(text) {
			if raw && !yield(part) {
				return
			}
			for !raw && len(part) > 0 {
				n := segment(part)
				if token, ok := tokenIn(part[:n:n], symbols); ok && !yield(token) {
					return
				}
				part = part[n:]
			}
		}
	}
}
