package shingle

import (
	"slices"
	"testing"
)

// Items are unchanged lines under every policy, and each is a shingle.
func TestItems(t *testing.T) {
	s := shingler(t, "item", "default")
	const text = "I like you\ni like you\n\n  a\xff \nI like you\n"
	var got []string
	for item := range s.Texts([]byte(text)) {
		got = append(got, string(item))
	}
	if want := []string{"I like you", "i like you", "", "  a\xff "}; !slices.Equal(got, want) {
		t.Errorf("items %q, want %q", got, want)
	}
	if hashes := s.Shingles(nil, []byte(text)); len(hashes) != 5 || hashes[0] != hashes[4] || len(set(s, text)) != len(got) {
		t.Errorf("shingles %x of %q", hashes, text)
	}
	if none := s.Shingles(nil, nil); len(none) > 0 {
		t.Errorf("shingles %x of no item", none)
	}
}
