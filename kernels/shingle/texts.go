package shingle

import (
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/neardup/neardup/kernels/spans"
	"github.com/neardup/neardup/kernels/token"
)

// Texts yields the distinct shingles of text as UTF-8, in order of first occurrence: words joined by a space, or the
// characters or bytes of the normalised text. They are the shingles that Shingles hashes. Each is valid until the next.
func (s *Shingler) Texts(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		hashes := s.Shingles(nil, text)
		if len(hashes) == 0 {
			return
		}
		normal := s.normalise(nil, text)
		tokens, separator := s.cut(normal)
		// Match words with their hashes, which say where shingles begin.
		var words []uint64
		if s.config.Kind == Stop {
			words = s.appendWords(nil, normal)
		}
		seen := make(map[uint64]bool, len(hashes))
		var joined []byte
		give := func(tokens [][]byte) bool {
			h := hashes[0]
			hashes = hashes[1:]
			if seen[h] {
				return true
			}
			seen[h] = true
			joined = joined[:0]
			for i, t := range tokens {
				if i > 0 {
					joined = append(joined, separator...)
				}
				joined = append(joined, t...)
			}
			return yield(joined)
		}
		whole := true
		for i := 0; i+s.config.K <= len(tokens); i++ {
			if s.config.Kind == Stop && !s.stop[words[i]] {
				continue
			}
			whole = false
			if !give(tokens[i : i+s.config.K]) {
				return
			}
		}
		if whole {
			give(tokens)
		}
	}
}

// cut cuts a normalised text into tokens. separator is what joins two tokens of a shingle.
func (s *Shingler) cut(text []byte) (tokens [][]byte, separator string) {
	switch s.config.Kind {
	case Word, Stop:
		for word := range token.Segments(text, s.policy.KeepsSymbols()) {
			tokens = append(tokens, word)
		}
		return tokens, " "
	case Item:
		return slices.AppendSeq(tokens, items(text)), ""
	case Byte:
		for part := range spans.Marked(text) {
			for i := range part {
				tokens = append(tokens, part[i:i+1])
			}
		}
	default:
		for part := range spans.Marked(text) {
			for len(part) > 0 {
				_, n := utf8.DecodeRune(part)
				tokens = append(tokens, part[:n])
				part = part[n:]
			}
		}
	}
	return tokens, ""
}
