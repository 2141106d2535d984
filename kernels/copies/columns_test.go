package copies

import (
	"encoding/binary"
	"testing"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
)

// Texts are equal in bytes only if their columns are; a text with one column has its own hash.
func TestColumns(t *testing.T) {
	policy, err := textnorm.Parse("default")
	if err != nil {
		t.Fatal(err)
	}
	reader := NewReader(shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 1}, Normalize: policy}, (*shingle.Shingler).Set)
	for _, text := range []string{"a b c d", "1 2 3 4"} { // with ASCII letters, and without
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

// Documents with several fields differ in what any of their texts has, and not in other columns.
func TestTraitsOfFields(t *testing.T) {
	rules, err := match.Parse([]string{"year=equal", "title=word:1,.5", "author=word:1,.5"})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := shingle.Field(rules[1])
	if err != nil {
		t.Fatal(err)
	}
	spec.Rules, spec.Field = []match.Rule{rules[0], rules[2]}, true
	reader := NewReader(spec, (*shingle.Shingler).Set)
	read := func(title, author, year string) Traits {
		var values []byte
		for _, value := range []string{year, author} {
			values = append(binary.AppendUvarint(values, uint64(len(value))), value...)
		}
		reader.Apart(1, values)
		whole, _ := reader.Read([]byte(title), nil)
		if lean := reader.ReadCopy(Bytes, []byte(title), nil); lean.Symbols != whole.Symbols || lean.Numbers != whole.Numbers {
			t.Errorf("%s, %s: traits %v of a copy, want %v", title, author, lean, whole)
		}
		return whole
	}
	first := read("Part 1", "N. N.", "1999")
	for _, tt := range []struct {
		title, author, year string
		symbols, numbers    bool
	}{
		{"Part 1", "N. N.", "2000", false, false},
		{"Part 2", "N. N.", "1999", false, true},
		{"Part 1", "N. N. 2", "1999", false, true},
		{"Part", "N. N. 1", "1999", false, true},
		{"Part 1", "N+ N+", "1999", true, false},
	} {
		other := read(tt.title, tt.author, tt.year)
		if (other.Symbols != first.Symbols) != tt.symbols || (other.Numbers != first.Numbers) != tt.numbers {
			t.Errorf("%+v: %v beside %v", tt, other, first)
		}
	}
}
