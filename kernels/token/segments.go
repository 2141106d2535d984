package token

import (
	"iter"

	"github.com/clipperhouse/uax29/v2/sentences"

	"github.com/neardup/neardup/kernels/spans"
)

// Segments yields the tokens of Words, or of WordsAndSymbols if symbols is set, before they are hashed. They share
// memory with text.
func Segments(text []byte, symbols bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for part, raw := range spans.Marked(text) {
			if raw && !yield(part) {
				return
			}
			if raw {
				continue
			}
			for segment, token := range Parts(part, symbols) {
				if token && !yield(segment) {
					return
				}
			}
		}
	}
}

// Parts yields all of text, which must be UTF-8, in order: the tokens of Segments, and what is between them, in one or
// more parts. The parts share memory with text.
func Parts(text []byte, symbols bool) iter.Seq2[[]byte, bool] {
	return func(yield func(part []byte, token bool) bool) {
		for len(text) > 0 {
			n, end := segment(text), 0 // end of what was yielded
			put := func(start int, token []byte) bool {
				between := text[end:start:start]
				end = start + len(token)
				return (len(between) == 0 || yield(between, false)) && yield(token, true)
			}
			if word, ok := wordIn(text[:n:n]); ok {
				if !put(n-len(word), word) {
					return
				}
			} else if symbols {
				for start, symbol := range symbolsIn(text[:n:n]) {
					if !put(start, symbol) {
						return
					}
				}
			}
			if end < n && !yield(text[end:n:n], false) {
				return
			}
			text = text[n:]
		}
	}
}

// Sentences yields all of text in order, divided into the sentences of Unicode Standard Annex #29. They share memory
// with text.
func Sentences(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			// Given the whole text, SplitFunc neither asks for more nor fails.
			n, _, _ := sentences.SplitFunc(text, true)
			if n = max(n, 1); !yield(text[:n:n]) {
				return
			}
			text = text[n:]
		}
	}
}
