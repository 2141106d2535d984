package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type document struct{ ID, Text string }

func documents(t *testing.T, seed uint64, n int) (of []document) {
	t.Helper()
	var corpus bytes.Buffer
	if err := (&generator{seed: seed}).write(&corpus, n); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(corpus.Bytes()) {
		var d document
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatal(err)
		}
		of = append(of, d)
	}
	return of
}

func shingles(d document) (set []string) {
	words := strings.Fields(d.Text)
	for at := range len(words) - shingle + 1 {
		set = append(set, strings.Join(words[at:at+shingle], " "))
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// Documents of a family have a similarity of at least 0.8 to its first document, which comes before them. Documents of
// different families have no shingle in common.
func TestPlanted(t *testing.T) {
	const n = 2*block*block + near // not a whole block at the end
	first, families := map[string][]string{}, map[string]string{}
	removed := map[string]int{}
	for i, d := range documents(t, 1, n) {
		kind, family := split(d.ID)
		set := shingles(d)
		for _, s := range set {
			if other, ok := families[s]; ok && other != family {
				t.Fatalf("%s and a document of family %s have %q", d.ID, other, s)
			}
			families[s] = family
		}
		of, ok := first[family]
		if !ok {
			first[family] = set
			if kind != "own" && i > block {
				t.Errorf("%s is the first of its family", d.ID)
			}
			continue
		}
		removed[kind]++
		shared := 0
		for _, s := range set {
			if _, ok := slices.BinarySearch(of, s); ok {
				shared++
			}
		}
		exact := kind == "copy" || kind == "page"
		similarity := float64(shared) / float64(len(of)+len(set)-shared)
		if similarity < 0.8 || exact != (similarity == 1) {
			t.Errorf("%s is %v similar to the first of its family", d.ID, similarity)
		}
	}
	want := map[string]int{}
	for _, p := range planted(n) {
		want[p.kind] = p.number
	}
	if diff := cmp.Diff(want, removed); diff != "" {
		t.Errorf("planted (-said, +are):\n%s", diff)
	}
}

func TestSeed(t *testing.T) {
	first := documents(t, 1, block)
	if diff := cmp.Diff(first, documents(t, 1, 2*block)[:block]); diff != "" {
		t.Errorf("a larger corpus begins otherwise:\n%s", diff)
	}
	if cmp.Equal(first, documents(t, 2, block)) {
		t.Error("another seed makes the same")
	}
}
