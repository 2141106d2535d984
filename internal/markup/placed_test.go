package markup

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Words have the right places: the part of the page from the first byte of a word to its last one shows that word, and
// no smaller part does.
func TestPlaces(t *testing.T) {
	pieces := []string{
		"a", "Zebra", "5", " ", "\n", "\r\n", "\r", "é", "中", "<b>", "</b>", "<p>", "</p>", "<br>", "<td>", "<!-- x y -->", "<a href='x y'>", "<pre>", "</pre>",
		"&amp;", "&eacute;", "&#8364;", "&#x41;", "&copy;", "&nGt;", "&", "&x;", ";", "<", "< ", "<script>x y</script>", "<![CDATA[b  C ]]>", "CDATA",
	}
	rapid.Check(t, func(t *rapid.T) {
		r, pieces := Reader{XML: rapid.Bool().Draw(t, "xml")}, pieces
		if !r.XML { // these are references in HTML, too
			pieces = append(pieces, "&#x41", "&copy", "&copy2", "&notit;")
		}
		page := []byte(strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces"), ""))
		text, places := r.Placed(page)
		if want, _ := r.Append(nil, page); !bytes.Equal(text, want) {
			t.Fatalf("%q: %q, want %q", page, text, want)
		}
		last, at := Span{}, 0
		for word := range bytes.FieldsSeq(text) {
			start := at + bytes.Index(text[at:], word)
			at = start + len(word)
			span := places.Span(start, at)
			if span.Start < last.End || span.End > len(page) {
				t.Fatalf("%q: %q at %v, after %v", page, word, span, last)
			}
			last = span
			if shown, _ := r.Append(nil, page[span.Start:span.End]); !bytes.Equal(bytes.TrimSpace(shown), word) {
				t.Fatalf("%q: %q at %v, which shows %q", page, word, span, shown)
			}
		}
	})
}

// Places of long texts take little memory, and places in texts that are decoded in another way are rough.
func TestPlacesAreFew(t *testing.T) {
	_, places := Reader{}.Placed([]byte("<p>" + strings.Repeat("some words\n", 1000)))
	if len(places) != 1 {
		t.Errorf("%d places", len(places))
	}
	page := "<plaintext>a &amp;\r\nb"
	text, places := Reader{}.Placed([]byte(page))
	if want := (Span{11, len(page)}); string(text) != "a &amp; b" || places.Span(2, 7) != want || places.Span(8, 9) != want {
		t.Errorf("%q, %v", text, places)
	}
}
