package corpusgen

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

type document struct{ ID, Kind, Of, Text string }

func read(t *testing.T, s Spec) (docs []document) {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s); err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(&b); d.More(); {
		var doc document
		if err := d.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	return docs
}

// Copies are copies, edited ones differ in about as many words as requested, and the shares are right.
func TestWrite(t *testing.T) {
	s := Spec{Documents: 20_000, Seed: 3, Copies: 0.2, Near: 0.3, Edits: 0.05, Crowd: 500, CrowdEdits: 0.1}
	docs := read(t, s)
	if len(docs) != s.Documents {
		t.Fatalf("%d documents", len(docs))
	}
	byID := map[string]document{}
	kinds := map[string]int{}
	var words, edits int
	for _, d := range docs {
		byID[d.ID] = d
		kinds[d.Kind]++
		switch of := byID[d.Of]; d.Kind {
		case "copy":
			if d.Text != of.Text {
				t.Errorf("%s is no copy of %s", d.ID, d.Of)
			}
		case "near":
			a, b := strings.Fields(d.Text), strings.Fields(of.Text)
			for i := range a {
				words++
				if a[i] != b[i] {
					edits++
				}
			}
		}
	}
	if kinds["crowd"] != s.Crowd {
		t.Errorf("%d documents of the crowd, want %d", kinds["crowd"], s.Crowd)
	}
	about := func(what string, got, want float64) {
		if math.Abs(got-want) > want/10 {
			t.Errorf("%s: %.3f, want %.3f", what, got, want)
		}
	}
	rest := float64(s.Documents - s.Crowd)
	about("copies", float64(kinds["copy"])/rest, s.Copies)
	about("near", float64(kinds["near"])/rest, s.Near)
	about("edits", float64(edits)/float64(words), s.Edits) // an edit may draw the same word again
}

// The same Spec gives the same bytes, and another seed other ones.
func TestSameBytes(t *testing.T) {
	write := func(seed uint64) string {
		var b bytes.Buffer
		if err := Write(&b, Spec{Documents: 100, Seed: seed, Copies: 0.5}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	first := write(1)
	if write(1) != first {
		t.Error("other bytes for the same Spec")
	}
	if write(2) == first {
		t.Error("the same bytes for another seed")
	}
}

func TestWordsAreDifferent(t *testing.T) {
	seen := map[string]uint32{}
	for w := range uint32(vocabulary) {
		text := string(appendWord(nil, w))
		if other, ok := seen[text]; ok {
			t.Fatalf("words %d and %d are both %q", other, w, text)
		}
		seen[text] = w
	}
}
