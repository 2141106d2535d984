package copies

import (
	"testing"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
)

// Texts are the same bytes only if their columns are; a text of one column has its own hash.
func TestColumns(t *testing.T) {
	policy, err := textnorm.Parse("default")
	if err != nil {
		t.Fatal(err)
	}
	reader := NewReader(shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 1}, Normalize: policy}, shingle.Set)
	for _, text := range []string{"a b c d", "1 2 3 4"} { // with a letter of ASCII, and without
		var keys, tokens, texts, read []hash.Sum128
		for _, ends := range []string{"", "\x01", "\x03", "\x01\x03", "\x03"} {
			key, ok := reader.Key(Bytes, []byte(text), []byte(ends))
			same, okSame := reader.Key(Tokens, []byte(text), []byte(ends))
			traits, _ := reader.Read([]byte(text), []byte(ends))
			if !ok || !okSame {
				t.Fatalf("%s has no key", text)
			}
			keys, tokens, texts, read = append(keys, key), append(tokens, same), append(texts, traits.Text), append(read, traits.Tokens)
		}
		for i := range keys {
			for j := range i {
				if equal := i == 4 && j == 2; keys[i] == keys[j] != equal || texts[i] != keys[i] || tokens[i] != tokens[j] || read[i] != tokens[i] {
					t.Errorf("%s: %d and %d, keys %v, texts %v, tokens %v %v", text, i, j, keys, texts, tokens, read)
				}
			}
		}
		if keys[0] != hash.Text([]byte(text)) {
			t.Errorf("%s: a text of one column has another hash", text)
		}
	}
}
