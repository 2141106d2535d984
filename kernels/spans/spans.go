// Package spans cuts a text that is not all UTF-8.
package spans

import (
	"iter"
	"unicode/utf8"
)

// Of yields the parts of text, each as long as it can be without a byte that is not part of valid
// UTF-8, and each such byte by itself, with valid false. The parts share memory with text.
func Of(text []byte) iter.Seq2[[]byte, bool] {
	return func(yield func(part []byte, valid bool) bool) {
		begin := 0
		for i := 0; i < len(text); {
			r, n := utf8.DecodeRune(text[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			if begin < i && !yield(text[begin:i], true) || !yield(text[i:i+1], false) {
				return
			}
			i++
			begin = i
		}
		if begin < len(text) {
			yield(text[begin:], true)
		}
	}
}
