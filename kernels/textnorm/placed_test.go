package textnorm

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// A placed text equals the result of Append, and its places are characters of the original, in order.
func TestPlacedIsAppended(t *testing.T) {
	var placed Placed
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy").KeepSpace().KeepMarkup()
		text := bytes.ToValidUTF8(interesting().Draw(t, "text"), nil)
		p.Placed(&placed, text)
		if want := p.Append(nil, text); !bytes.Equal(placed.Text, want) {
			t.Fatalf("%s of %+q: %+q, want %+q", p, text, placed.Text, want)
		}
		last := Span{}
		for i, from := range placed.From {
			if from.Start < last.Start || from.End < last.End || from.Start >= from.End || from.End > len(text) ||
				!isStart(text, from.Start) || !isStart(text, from.End) {
				t.Fatalf("%s of %+q: byte %d is from %+v, after one from %+v", p, text, i, from, last)
			}
			last = from
		}
	})
}

func isStart(text []byte, at int) bool { return at == len(text) || text[at]&0xC0 != 0x80 }

func TestPlaces(t *testing.T) {
	for _, tt := range []struct{ policy, in, normal, letters string }{ // by letter of normal, the characters that it is from
		{"default", "A\u0301\u00adb", "áb", "A\u0301|A\u0301|b"},
		{"default", "x½", "x1 2", "x|½|½|½"}, // U+2044, a symbol, becomes a space
		{"lower", "ȺB", "ⱥb", "Ⱥ|Ⱥ|Ⱥ|B"},
	} {
		var placed Placed
		policy(t, tt.policy).KeepSpace().Placed(&placed, []byte(tt.in))
		var letters [][]byte
		for _, from := range placed.From {
			letters = append(letters, []byte(tt.in)[from.Start:from.End])
		}
		got := bytes.Join(letters, []byte("|"))
		if string(placed.Text) != tt.normal || string(got) != tt.letters {
			t.Errorf("%s of %q: %q of %q, want %q of %q", tt.policy, tt.in, placed.Text, got, tt.normal, tt.letters)
		}
	}
}
