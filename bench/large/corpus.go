package main

import (
	"bufio"
	"io"
	"math/rand/v2"
	"strconv"
)

// Of each hundred documents, the last ones are planted. The others are of their own.
const (
	block = 100
	copied,
	near, // two
	variants,
	pages = 95, 96, 98, 99
)

// A document has fewestWords to mostWords words. A planted one differs from what it was made of in one word at an end,
// which is one shingle of five words: s-1 of s+1 are shared, 0.82 or more.
const (
	fewestWords, mostWords = 14, 20
	shingle                = 5
)

// vocabulary is so large that two documents of their own have no shingle in common.
const vocabulary = 1 << 16

// template and page stand where no document does.
const template, page = -1, -2

// A generator writes documents. Each follows from its number alone, so a corpus of any size is made in no memory.
type generator struct {
	seed   uint64
	source rand.PCG
	line   []byte
}

// write writes documents as JSON Lines. An id has what checks need: its kind, its number, and that of the family, of
// which all documents are similar.
func (g *generator) write(w io.Writer, documents int) error {
	out := bufio.NewWriterSize(w, 1<<20)
	for i := range documents {
		if _, err := out.Write(g.document(i)); err != nil {
			return err
		}
	}
	return out.Flush()
}

func (g *generator) document(i int) []byte {
	switch i % block {
	case copied:
		of := g.earlier(i)
		return g.row("copy", i, of, g.words(of), 0)
	case near, near + 1:
		of := g.earlier(i)
		return g.row("near", i, of, g.words(of), 1+i%2)
	case variants:
		return g.row("variant", i, template, g.words(template), 2)
	case pages:
		return g.row("page", i, page, g.words(page), 0)
	default:
		return g.row("own", i, i, g.words(i), 0)
	}
}

// earlier is a document of its own before i.
func (g *generator) earlier(i int) int {
	r := g.random(i)
	return r.IntN(i/block+1)*block + r.IntN(copied)
}

// random gives the numbers that a document follows from.
func (g *generator) random(i int) *rand.Rand {
	g.source.Seed(g.seed, uint64(i))
	return rand.New(&g.source)
}

// words are those of the text that a document is, or was made of.
func (g *generator) words(i int) []uint32 {
	r := g.random(i)
	words := make([]uint32, fewestWords+r.IntN(mostWords-fewestWords+1))
	for at := range words {
		words[at] = r.Uint32N(vocabulary)
	}
	return words
}

// row is a document of words. The first of them (edited 1) or the last (edited 2) becomes one that no other document
// has.
func (g *generator) row(kind string, i, family int, words []uint32, edited int) []byte {
	b := append(append(g.line[:0], `{"id":"`...), kind...)
	b = strconv.AppendInt(append(b, '/'), int64(i), 10)
	b = strconv.AppendInt(append(b, '/'), int64(family), 10)
	b = append(b, `","text":"`...)
	for at, word := range words {
		if at > 0 {
			b = append(b, ' ')
		}
		if edited == 1 && at == 0 || edited == 2 && at == len(words)-1 {
			b = strconv.AppendInt(append(b, 'x'), int64(i), 10)
		} else {
			b = appendWord(b, word)
		}
	}
	g.line = append(b, "\"}\n"...)
	return g.line
}

// appendWord spells a word, in syllables.
func appendWord(b []byte, word uint32) []byte {
	const consonants, vowels = "bcdfghjklmnprstz", "aeio" // 16 and 4: 6 bits a syllable
	for ; ; word >>= 6 {
		b = append(b, consonants[word&15], vowels[word>>4&3])
		if word < 1<<6 {
			return b
		}
	}
}
