package token

import (
	"iter"
	"unicode"
	"unicode/utf8"

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
		short, omitted := shortened(text)
		for at := 0; at < len(short); {
			// Given the whole text, SplitFunc neither asks for more nor fails.
			n, _, _ := sentences.SplitFunc(short[at:], true)
			n = max(n, 1)
			at += n
			for ; len(omitted) > 0 && omitted[0].at <= at; omitted = omitted[1:] {
				n += omitted[0].bytes
			}
			if !yield(text[:n:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// An omission is a number of bytes omitted before a place.
type omission struct{ at, bytes int }

// longRow is the number of spaces in a row, or of quotation marks and brackets, from which more do not change where
// sentences end. From each of them that follows a full stop, the annex looks for a small letter, so without a limit a
// long row would take quadratic time.
const longRow = 16

// shortened returns text without the parts of rows beyond longRow.
func shortened(text []byte) (short []byte, omitted []omission) {
	copied, row, kind := 0, 0, rowless
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if next := rowOf(r); next != kind || next == rowless {
			row, kind = 0, next
		}
		if row++; row > longRow {
			short = append(short, text[copied:i]...)
			copied = i + n
			if last := len(omitted) - 1; last >= 0 && omitted[last].at == len(short) {
				omitted[last].bytes += n
			} else {
				omitted = append(omitted, omission{len(short), n})
			}
		}
		i += n
	}
	if len(omitted) == 0 {
		return text, nil
	}
	return append(short, text[copied:]...), omitted
}

const (
	rowless = iota
	spaces  // Sp in the annex
	closing // most of Close
)

// rowOf returns the kind of rows that r is in.
func rowOf(r rune) int {
	switch {
	case r == '\n', r == '\r', r == '\u0085', r == '\u2028', r == '\u2029':
		return rowless
	case unicode.IsSpace(r):
		return spaces
	case r == '"', r == '\'', unicode.In(r, unicode.Ps, unicode.Pe, unicode.Pi, unicode.Pf):
		return closing
	}
	return rowless
}
