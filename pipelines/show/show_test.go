package show_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/internal/deduptest"
	"github.com/neardup/neardup/pipelines/show"
	"github.com/neardup/neardup/records"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

// made returns documents of single letters, many of them similar and some with the same letters in another order.
func made(n int) (texts []string) {
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		letters := strings.Split("abcdefgh", "")
		for range r.IntN(4) {
			letters[r.IntN(len(letters))] = string(rune('a' + r.IntN(26)))
		}
		if r.IntN(3) == 0 {
			r.Shuffle(len(letters), func(i, j int) { letters[i], letters[j] = letters[j], letters[i] })
		}
		texts = append(texts, strings.Join(letters, " "))
	}
	return texts
}

// similar returns the Jaccard similarity of the words of two texts.
func similar(a, b string) float64 {
	in := map[string]int{}
	for _, word := range strings.Fields(a) {
		in[word] |= 1
	}
	for _, word := range strings.Fields(b) {
		in[word] |= 2
	}
	shared := 0
	for _, both := range in {
		if both == 3 {
			shared++
		}
	}
	return float64(shared) / float64(len(in))
}

// For every document, the similarities are those of its text with each member's, where they reach the threshold, copies
// included; and each removed one has the listed similarity to the kept one.
func TestClusterEqualsPlain(t *testing.T) {
	texts := made(120)
	input := filepath.Join(t.TempDir(), "in.jsonl")
	var lines strings.Builder
	for i, text := range texts {
		fmt.Fprintf(&lines, "{\"id\": %d, \"text\": %q}\n", i, text)
	}
	if err := os.WriteFile(input, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	const threshold = .75
	dir := deduptest.Finished(t, input, "--method", "complete", "--shingle", "word:1", "--threshold", fmt.Sprint(threshold))
	number := func(id string) (i int) {
		if _, err := fmt.Sscan(id, &i); err != nil {
			t.Fatal(err)
		}
		return i
	}
	linked, removed, examples := 0, 0, 0
	for i, text := range texts {
		c, err := show.Cluster(context.Background(), show.Config{Output: dir, Document: fmt.Sprint(i), Most: 1000, Texts: 3})
		if err != nil {
			t.Fatal(err)
		}
		in := map[int]*records.Member{}
		for k, m := range c.Members {
			in[number(m.ID)] = &c.Members[k]
		}
		kept := 0
		for j, other := range texts {
			want, m := similar(text, other), in[j]
			if i == j && m == nil && c.State == records.StateAlone {
				continue
			}
			switch {
			case want >= threshold && m == nil:
				t.Errorf("%d is %v similar to %d, and is not in its cluster", j, want, i)
			case m == nil:
			case want >= threshold && (m.Similarity == nil || *m.Similarity != want):
				t.Errorf("%d and %d: similarity %v, want %v", i, j, m.Similarity, want)
			case want < threshold && m.Similarity != nil:
				t.Errorf("%d and %d: similarity %v, but they are %v", i, j, *m.Similarity, want)
			default:
				linked++
			}
			if m == nil {
				continue
			}
			if m.Kept {
				kept++
			}
			if m.Kept != (m.InPlace == nil) {
				t.Errorf("%d: kept %v, in place %v", j, m.Kept, m.InPlace)
			}
			if p := m.InPlace; p != nil {
				removed++
				if want := similar(texts[number(p.ID)], other); p.Similarity == nil || *p.Similarity != want {
					t.Errorf("%d is kept for %d: similarity %v, want %v", number(p.ID), j, p.Similarity, want)
				}
			}
		}
		for _, e := range c.Examples {
			p := e.Pair
			want := similar(e.TextA, e.TextB)
			if got := float64(p.Shared) / float64(p.SizeA+p.SizeB-p.Shared); p.Similarity != want || got != want {
				t.Errorf("example %+v: similarity %v, want %v", p, got, want)
			}
			examples++
		}
		if c.State == records.StateClustered && (int(c.Documents) != len(in) || int(c.Kept) != kept) {
			t.Errorf("%d: %d documents, %d kept; members say %d and %d", i, c.Documents, c.Kept, len(in), kept)
		}
	}
	if linked < 1000 || removed < 100 || examples < 50 {
		t.Errorf("only %d links, %d removed documents and %d examples: the test says little", linked, removed, examples)
	}
}
