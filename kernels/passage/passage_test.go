package passage_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/passage"
	"github.com/neardup/neardup/kernels/passage/passagetest"
)

// choices returns the choices of a text.
func choices(c *passage.Chooser, tokens []uint64) (all []passage.Choice) {
	c.Begin(tokens)
	for some := c.Next(); len(some) > 0; some = c.Next() {
		all = append(all, some...)
	}
	return all
}

// find returns the same as the oracle, using minimizers and hashes.
func find(docs [][]uint64, length int) (all [][]passage.Passage, broken int64) {
	chosen := map[uint64]int{}
	chooser := passage.NewChooser(length)
	for _, doc := range docs {
		for _, c := range choices(chooser, doc) {
			chosen[c.Value]++
		}
	}
	firsts := map[hash.Sum128]passage.Place{}
	repeats := map[hash.Sum128]bool{}
	each := func(do func(d, p int, sum hash.Sum128)) {
		for d, doc := range docs {
			for _, c := range choices(chooser, doc) {
				for p := c.First; p <= c.Last && chosen[c.Value] > 1; p++ {
					do(d, p, passage.Hash(doc[p:p+length]))
				}
			}
		}
	}
	each(func(d, p int, sum hash.Sum128) {
		place := passage.Place{Document: int64(d), Position: p}
		first, ok := firsts[sum]
		if !ok {
			firsts[sum] = place
		}
		repeats[sum] = repeats[sum] || ok && place.Repeats(first, length)
	})
	all = make([][]passage.Passage, len(docs))
	of := 0
	passages := passage.Passages{Length: length, Emit: func(p passage.Passage) { all[of] = append(all[of], p) }}
	each(func(d, p int, sum hash.Sum128) {
		if d != of {
			broken += passages.Close()
			of = d
		}
		place, first := passage.Place{Document: int64(d), Position: p}, firsts[sum]
		switch {
		case place == first && repeats[sum]:
			passages.First(p)
		case place.Repeats(first, length):
			passages.Add(p, first)
		}
	})
	return all, broken + passages.Close()
}

// Random corpora of few words have ties, runs and overlapping repeats; short ones have borders.
func TestPassagesAreThoseOfTheDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	found, broken := 0, int64(0)
	for range 20_000 {
		length, words := 1+random.IntN(8), 1+random.IntN(4)
		docs := make([][]uint64, 1+random.IntN(4))
		for d := range docs {
			n := random.IntN(4 * length)
			if random.IntN(4) == 0 {
				n = length // a document of exactly L words
			}
			for range n {
				docs[d] = append(docs[d], hash.Mix(random.Uint64N(uint64(words))))
			}
			if d > 0 && random.IntN(3) == 0 { // insert a piece of another document
				from := docs[random.IntN(d)]
				begin := random.IntN(len(from) + 1)
				docs[d] = append(docs[d], from[begin:]...)
			}
		}
		want, wantBroken := passagetest.Passages(docs, length)
		got, gotBroken := find(docs, length)
		if !reflect.DeepEqual(got, want) || gotBroken != wantBroken {
			t.Fatalf("L = %d of %v:\n%v, %d broken, want\n%v, %d", length, docs, got, gotBroken, want, wantBroken)
		}
		for _, p := range want {
			found += len(p)
		}
		broken += wantBroken
	}
	if found < 1000 || broken < 1000 {
		t.Errorf("only %d passages, and %d broken L-grams", found, broken)
	}
}

// words returns the tokens of a text, one per letter.
func words(text string) (tokens []uint64) {
	for _, b := range []byte(text) {
		tokens = append(tokens, hash.Mix(uint64(b)))
	}
	return tokens
}

// The table of docs/algorithms/passages.md.
func TestExamples(t *testing.T) {
	for _, tt := range []struct {
		docs []string
		want string
	}{
		{[]string{"xabcy", "abc"}, "[[] [{0 3 0 1 4}]] 0"},
		{[]string{"abc", "abcde", "abcde"}, "[[] [{0 3 0 0 3}] [{0 3 0 0 3} {3 5 1 3 5}]] 1"},
		{[]string{"hhhhhhhhhh"}, "[[{2 10 0 0 2}]] 0"},
		{[]string{"ababa"}, "[[{2 5 0 0 3}]] 1"},
		{[]string{"a", ""}, "[[] []] 0"},
	} {
		var docs [][]uint64
		for _, d := range tt.docs {
			docs = append(docs, words(d))
		}
		for name, f := range map[string]func([][]uint64, int) ([][]passage.Passage, int64){"oracle": passagetest.Passages[uint64], "find": find} {
			all, broken := f(docs, 2)
			if got := fmt.Sprint(all, broken); got != tt.want {
				t.Errorf("%s of %q: %s, want %s", name, tt.docs, got, tt.want)
			}
		}
	}
}

// Every window has one choice, and equal windows have equal choices.
func TestChoices(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		length := 1 + random.IntN(12)
		var tokens []uint64
		for range random.IntN(60) {
			tokens = append(tokens, random.Uint64N(3))
		}
		seen := map[string]uint64{}
		next := 0
		for _, c := range choices(passage.NewChooser(length), tokens) {
			if c.First != next || c.Last < c.First {
				t.Fatalf("L = %d: %+v begins after %d L-grams", length, c, next)
			}
			next = c.Last + 1
			for p := c.First; p <= c.Last; p++ {
				gram := fmt.Sprint(tokens[p : p+length])
				if value, ok := seen[gram]; ok && value != c.Value {
					t.Fatalf("equal L-grams %s have the values %d and %d", gram, value, c.Value)
				}
				seen[gram] = c.Value
			}
		}
		if want := max(0, len(tokens)-length+1); next != want {
			t.Fatalf("L = %d of %d words: choices for %d L-grams, want %d", length, len(tokens), next, want)
		}
	}
}

// A long text has the choices of its L-grams, wherever it is divided, and few are chosen if all words are equal.
func TestChoicesOfLongTexts(t *testing.T) {
	const n, length = 20_000, 50
	if chosen := len(choices(passage.NewChooser(length), make([]uint64, n))); chosen != (n-length+1+34)/35 { // k is 16
		t.Errorf("of %d equal words %d are chosen", n, chosen)
	}
	random := rand.New(rand.NewPCG(5, 6))
	var tokens []uint64
	for range n {
		tokens = append(tokens, hash.Mix(random.Uint64N(100)))
	}
	next := 0
	for _, c := range choices(passage.NewChooser(length), tokens) {
		if c.First != next || c.Last < c.First {
			t.Fatalf("%+v begins after %d L-grams", c, next)
		}
		for next = c.First; next <= c.Last; next++ {
			alone := choices(passage.NewChooser(length), tokens[next:next+length])
			if len(alone) != 1 || alone[0].Value != c.Value {
				t.Fatalf("the L-gram at %d has the value %v by itself, and %d in the text", next, alone, c.Value)
			}
		}
	}
	if next != n-length+1 {
		t.Errorf("choices for %d L-grams", next)
	}
}

// Polynomials modulo 2^64 confuse the words of the Thue–Morse sequence with those of its complement.
func TestHashTellsThueMorse(t *testing.T) {
	const n = 1024
	var one, other []uint64
	a, b := hash.Bytes([]byte("a")), hash.Bytes([]byte("b"))
	var sumOne, sumOther uint64
	for i := range uint(n) {
		x, y := a, b
		if bits.OnesCount(i)%2 == 1 {
			x, y = b, a
		}
		one, other = append(one, x), append(other, y)
		const odd = 0x9e3779b97f4a7c15
		sumOne, sumOther = sumOne*odd+x, sumOther*odd+y
	}
	if sumOne != sumOther {
		t.Error("the polynomials differ, so this shows nothing")
	}
	if passage.Hash(one) == passage.Hash(other) {
		t.Error("the hashes are equal")
	}
}

// A run of equal words is one passage, and its state does not grow with it.
func TestEqualWordsAreOnePassage(t *testing.T) {
	const n, length = 10_000_000, 50
	var got []passage.Passage
	p := passage.Passages{Length: length, Emit: func(p passage.Passage) { got = append(got, p) }}
	p.First(0)
	for at := length; at+length <= n; at++ {
		p.Add(at, passage.Place{Document: 7})
	}
	if broken := p.Close(); broken != 0 {
		t.Errorf("%d broken", broken)
	}
	if want := []passage.Passage{{Start: length, End: n, From: 7, FromStart: 0, FromEnd: length}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
