package main

import (
	"bufio"
	"io"
	"math/rand/v2"
	"strconv"
)

// The last documents of each hundred are planted. The others resemble no other document.
const (
	block = 100
	copied,
	near, // two of them
	variants,
	pages = 95, 96, 98, 99
)

// A document has fewestWords to mostWords words. A planted one differs from its original in one word at an end, which
// is one shingle of five words: they share s-1 of s+1 shingles, 0.82 or more.
const (
	fewestWords, mostWords = 14, 20
	shingle                = 5
)

// vocabulary is so large that two unrelated documents share no shingle.
const vocabulary = 1 << 16

// template and page are numbers of texts that are no documents of their own.
const template, page = -1, -2

// A generator writes documents. Each depends only on its number, so a corpus of any size needs no memory.
type generator struct {
	seed   uint64
	source rand.PCG
	line   []byte
}

// write writes documents as JSON Lines. An id has what the checks need: the document's kind and number, and the number
// of its family, whose members are all similar.
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

// earlier returns a document before i that is not planted.
func (g *generator) earlier(i int) int {
	r := g.random(i)
	return r.IntN(i/block+1)*block + r.IntN(copied)
}

// random returns the random numbers that determine a document.
func (g *generator) random(i int) *rand.Rand {
	g.source.Seed(g.seed, uint64(i))
	return rand.New(&g.source)
}

// words returns the words of a document, or of its original.
func (g *generator) words(i int) []uint32 {
	r := g.random(i)
	words := make([]uint32, fewestWords+r.IntN(mostWords-fewestWords+1))
	for at := range words {
		words[at] = r.Uint32N(vocabulary)
	}
	return words
}

// row returns a document with the given words. If edited is 1 or 2, it replaces the first or the last word by one that
// no other document has.
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

// appendWord appends the syllables of a word.
func appendWord(b []byte, word uint32) []byte {
	const consonants, vowels = "bcdfghjklmnprstz", "aeio" // 16 and 4: 6 bits per syllable
	for ; ; word >>= 6 {
		b = append(b, consonants[word&15], vowels[word>>4&3])
		if word < 1<<6 {
			return b
		}
	}
}
