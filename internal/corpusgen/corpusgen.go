// Package corpusgen writes corpora with known duplicates, for tests and benchmarks. It streams them, and writes the
// same bytes for the same Spec.
package corpusgen

import (
	"bufio"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
)

// Spec describes a corpus. Shares are of all documents; the remaining documents are unique.
type Spec struct {
	Documents int
	Words     int // average per document; 0: 100
	Seed      uint64

	// Copies is the share of exact copies of an earlier document.
	Copies float64
	// Near is the share of edited copies of an earlier document, with the share Edits of its words replaced.
	Near, Edits float64
	// OnePage makes all copies copies of the first document.
	OnePage bool
	// Crowd is the number of documents, spread over the corpus, that are variants of one template, with the share
	// CrowdEdits of its words replaced.
	Crowd      int
	CrowdEdits float64
}

// vocabulary is the number of distinct words, which are drawn by Zipf's law.
const vocabulary = 50_000

const defaultWords = 100

// remembered is how many documents, the first ones, can have copies, so that memory does not grow with the corpus.
const remembered = 10_000

// Write writes the corpus as JSON Lines with the columns id, kind ("own", "copy", "near" or "crowd"), of (the id of the
// document it was made from, if any) and text.
func Write(w io.Writer, s Spec) error {
	if s.Words == 0 {
		s.Words = defaultWords
	}
	r := rand.New(rand.NewPCG(s.Seed, 0x6e656172647570))
	g := &generator{spec: s, random: r, zipf: rand.NewZipf(r, 1.07, 8, vocabulary-1)}
	out := bufio.NewWriterSize(w, 1<<20)
	for i := range s.Documents {
		g.document(i)
		if _, err := out.Write(g.line); err != nil {
			return err
		}
	}
	return out.Flush()
}

type generator struct {
	spec     Spec
	random   *rand.Rand
	zipf     *rand.Zipf
	template []uint32
	early    []text // in the order of their creation
	line     []byte
}

type text struct {
	id    int
	words []uint32
}

func (g *generator) document(i int) {
	s := g.spec
	// The variants of the template are at equal distances.
	if s.Crowd > 0 && i*s.Crowd/s.Documents != (i+1)*s.Crowd/s.Documents {
		if g.template == nil {
			g.template = g.words()
		}
		g.write(i, "crowd", -1, g.edited(g.template, s.CrowdEdits))
		return
	}
	if draw := g.random.Float64(); len(g.early) > 0 && draw < s.Copies+s.Near {
		of := g.early[0]
		if !s.OnePage {
			of = g.early[g.random.IntN(len(g.early))]
		}
		if draw < s.Copies {
			g.write(i, "copy", of.id, of.words)
		} else {
			g.write(i, "near", of.id, g.edited(of.words, s.Edits))
		}
		return
	}
	words := g.words()
	if len(g.early) < remembered {
		g.early = append(g.early, text{i, words})
	}
	g.write(i, "own", -1, words)
}

// words returns the words of a new document: its length is log-normal around the average.
func (g *generator) words() []uint32 {
	const sigma = 0.5
	n := int(float64(g.spec.Words) * math.Exp(sigma*g.random.NormFloat64()-sigma*sigma/2))
	words := make([]uint32, max(n, 1))
	for i := range words {
		words[i] = uint32(g.zipf.Uint64())
	}
	return words
}

func (g *generator) edited(words []uint32, share float64) []uint32 {
	words = append([]uint32(nil), words...)
	for i := range words {
		if g.random.Float64() < share {
			words[i] = uint32(g.zipf.Uint64())
		}
	}
	return words
}

func (g *generator) write(id int, kind string, of int, words []uint32) {
	b := append(g.line[:0], `{"id":"`...)
	b = strconv.AppendInt(b, int64(id), 10)
	b = append(append(append(b, `","kind":"`...), kind...), '"')
	if of >= 0 {
		b = append(b, `,"of":"`...)
		b = append(strconv.AppendInt(b, int64(of), 10), '"')
	}
	b = append(b, `,"text":"`...)
	for i, w := range words {
		if i > 0 {
			b = append(b, ' ')
		}
		b = appendWord(b, w)
	}
	g.line = append(b, "\"}\n"...)
}

// appendWord appends the spelling of a word: frequent words are short, and no two are equal.
func appendWord(b []byte, w uint32) []byte {
	const consonants, vowels = "bcdfghjklmnprstvwz", "aeiou"
	for {
		b = append(b, consonants[w%uint32(len(consonants))])
		w /= uint32(len(consonants))
		b = append(b, vowels[w%uint32(len(vowels))])
		if w /= uint32(len(vowels)); w == 0 {
			return b
		}
		w-- // so that words of different length are different
	}
}
