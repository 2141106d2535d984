package bytefile

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/charset"
	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
)

// inEncoding is a Reader for files in a given encoding.
type inEncoding struct {
	Reader
	name string
}

func (r inEncoding) Inspect(ctx context.Context, file *blocks.File, o reading.Options) error {
	o.Encoding = r.name
	return r.Reader.Inspect(ctx, file, o)
}

// words are pairs of words whose bytes look like line ends, quotes, brackets and delimiters.
var words = map[string][2]string{
	"utf-16le":     {"\u0A0A\u220A\u0A22\u7B5B", "\u5C22\U0001F40A\u092C\u2C09"},
	"utf-16be":     {"\u0A0A\u220A\u0A22\u7B5B", "\u5C22\U0001F40A\u092C\u2C09"},
	"shift_jis":    {"表ソボマ", "ー充能欺ｱ"},
	"gbk":          {"乗乢亅俓", "僜乗歔玕"},
	"gb18030":      {"乗乢\U0001F40A\u0A0A", "僜\u00E4"},
	"big5":         {"功許蓋", "么兝沔"},
	"euc-jp":       {"表ソ丂ｱ", "充能"},
	"euc-kr":       {"가각똠", "힝"},
	"windows-1251": {"один", "два"},
	"koi8-r":       {"один", "два"},
	"windows-1252": {"één", "œuf"},
}

func encode(t *testing.T, name, text string) string {
	t.Helper()
	e, err := htmlindex.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	coded, err := e.NewEncoder().String(text)
	if err != nil {
		t.Fatalf("%s: %q: %v", name, text, err)
	}
	return coded
}

// transcoded returns a sample in an encoding, with words of that encoding.
func transcoded(t *testing.T, s *codectest.Sample, name string) *codectest.Sample {
	t.Helper()
	replace := func(text string) string {
		return strings.NewReplacer("one", words[name][0], "two", words[name][1]).Replace(text)
	}
	code := func(text string) string {
		if !strings.HasPrefix(name, "utf-16") {
			text = strings.TrimPrefix(text, "\uFEFF")
		}
		return encode(t, name, replace(text))
	}
	out := &codectest.Sample{Format: s.Format, Ending: s.Ending, Separated: s.Separated}
	at := int64(0)
	for _, r := range s.Records {
		out.Filler(code(string(s.Content[at:r.Position])))
		at = r.Position + int64(len(r.Raw))
		out.Record(code(r.Raw), r.ID, replace(r.Text))
		last := &out.Records[len(out.Records)-1]
		last.Unreadable, last.Besides = r.Unreadable, r.Besides
	}
	out.Filler(code(string(s.Content[at:])))
	return out
}

// TestEncodings checks that every text format passes the suite in every encoding.
func TestEncodings(t *testing.T) {
	for name := range words {
		for _, sample := range codectest.Samples() {
			if readers[sample.Format].Encoded {
				continue
			}
			s := transcoded(t, sample, name)
			for _, compression := range []string{"", "gzip"} {
				if compression != "" && name != "utf-16le" {
					continue
				}
				t.Run(name+" "+s.Format+" "+compression, func(t *testing.T) {
					readertest.Run(t, inEncoding{readers[s.Format], name}, readertest.Case{
						Format: s.Format, IDIsSource: oneDocument(s.Format), Records: s.Records,
						Stored:  readertest.Pack(t, s.Content, compression),
						Without: s.Without,
						Content: func(stored []byte) string { return string(readertest.Unpack(t, stored, compression)) },
					})
				})
			}
		}
	}
}

// TestMarks checks that a byte order mark takes precedence over the requested encoding.
func TestMarks(t *testing.T) {
	const text = "text\n\u00E9t\u00E9\n"
	for _, tt := range []struct{ content, asked, want string }{
		{text, "", ""}, {text, "auto", ""}, {"\uFEFF" + text, "windows-1252", ""}, {"\uFEFF" + text, "utf-16le", ""},
		{encode(t, "utf-16le", "\uFEFF"+text), "auto", "utf-16le"},
		{encode(t, "utf-16be", "\uFEFF"+text), "auto", "utf-16be"},
		{encode(t, "utf-16be", "\uFEFF"+text), "utf-16", "utf-16be"},
		{encode(t, "utf-16le", text), "utf-16", "utf-16le"},
		{encode(t, "utf-16be", "\uFEFF"+text), "latin1", "utf-16be"},
		{encode(t, "windows-1252", text), "latin1", "windows-1252"},
		{text, "UTF8", ""},
		// A UTF-8 file is not in any other encoding, unless that is UTF-16 or the file has NULs.
		{text, "windows-1252", ""}, {text, "shift_jis", ""},
	} {
		for _, format := range []string{"tsv", "lines"} {
			r := inEncoding{readers[format], tt.asked}
			file := readertest.Plant(t, r, format, []byte(tt.content))
			var got []string
			_, err := r.Read(t.Context(), file, []blocks.Span{whole}, options, func(record *reading.Record) error {
				got = append(got, string(record.Doc.Text))
				return nil
			})
			if file.Encoding != tt.want || err != nil || got[len(got)-1] != "\u00E9t\u00E9" {
				t.Errorf("%q asked for of %q: %q, texts %q, error %v", tt.asked, tt.content, file.Encoding, got, err)
			}
		}
	}
	for name, want := range map[string]string{"klingon": "no encoding is called", "iso-2022-jp": "cannot be read", "replacement": "cannot be read", "": "no encoding is called"} {
		if err := reading.CheckEncoding(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	file := readertest.Plant(t, readers["reuters"], "reuters", nil)
	if err := readers["reuters"].Inspect(t.Context(), file, reading.Options{Encoding: "latin1"}); err == nil || !strings.Contains(err.Error(), "the reuters format defines its own encoding") {
		t.Errorf("error %v", err)
	}
	if err := readers["reuters"].Inspect(t.Context(), file, reading.Options{Encoding: "auto"}); err != nil {
		t.Error(err)
	}
}

// TestDeclared checks that a page is read in the encoding it declares, unless all of it is UTF-8; without a
// declaration, in the requested one.
func TestDeclared(t *testing.T) {
	const text = "\u00E9t\u00E9"
	latin := encode(t, "windows-1252", text)
	far := strings.Repeat("<p>", readBytes/3)
	for _, tt := range []struct{ content, asked, want string }{
		{"<meta charset=latin1>" + latin, "", "windows-1252"},
		{"<meta charset=latin1>" + latin, "koi8-r", "windows-1252"},
		{"<meta charset=latin1>" + far + latin, "", "windows-1252"},
		{"<meta charset=latin1>" + far + text, "", ""},
		{"<meta charset=latin1>" + text, "", ""},
		{"<meta charset=latin1>" + text, "koi8-r", ""},
		{"<meta charset=utf-8>" + latin, "windows-1252", "windows-1252"},
		{"<meta charset=klingon>" + latin, "windows-1252", "windows-1252"},
		{"<meta charset=utf-16>" + latin, "windows-1252", "windows-1252"},
		{"<meta charset=utf-16>" + text, "", ""},
		{"<p>" + latin, "windows-1252", "windows-1252"},
		{"<?xml version='1.0' encoding='ISO-8859-1'?><p>" + latin, "", "windows-1252"},
		{encode(t, "utf-16le", "\uFEFF<p>"+text), "", "utf-16le"},
		{encode(t, "utf-16be", "<p>"+text), "", "utf-16be"},
		{"\uFEFF<meta charset=latin1>" + text, "", ""},
	} {
		for _, compression := range []string{"", "gzip"} {
			r := inEncoding{readers["html"], tt.asked}
			file := readertest.Plant(t, r, "html", readertest.Pack(t, []byte(tt.content), compression))
			var got string
			_, err := r.Read(t.Context(), file, []blocks.Span{whole}, options, func(record *reading.Record) error {
				got = string(record.Doc.Text)
				return nil
			})
			if file.Encoding != tt.want || err != nil || got != text {
				t.Errorf("%q, asked for %q: %q, text %q, error %v; want %q", tt.content[:min(len(tt.content), 60)], tt.asked, file.Encoding, got, err, tt.want)
			}
		}
	}
}

// TestDetected checks that a file is read in the encoding detected from its text, wherever the text begins and however
// it is compressed, unless the file is UTF-8, has a byte order mark, declares another encoding or says too little.
func TestDetected(t *testing.T) {
	const russian = "Все люди рождаются свободными и равными в своем достоинстве и правах\n"
	head := strings.Repeat("plain ASCII text, line by line\n", readBytes/20)
	for name, tt := range map[string]struct{ format, content, encoding, detected string }{
		"UTF-8":          {"lines", russian, "", ""},
		"UTF-8, far":     {"lines", head + russian, "", ""},
		"windows-1251":   {"lines", encode(t, "windows-1251", russian), "windows-1251", "windows-1251"},
		"ibm866":         {"lines", encode(t, "ibm866", russian), "ibm866", "ibm866"},
		"far":            {"lines", head + encode(t, "koi8-r", russian), "koi8-r", "koi8-r"},
		"far, odd":       {"lines", "." + head + encode(t, "koi8-r", russian), "koi8-r", "koi8-r"},
		"and much more":  {"lines", encode(t, "koi8-r", russian) + head, "koi8-r", "koi8-r"},
		"UTF-16":         {"lines", encode(t, "utf-16be", russian+head), "utf-16be", "utf-16be"},
		"UTF-16, far":    {"lines", encode(t, "utf-16le", strings.Repeat("个用来中", 1500)+head+russian), "utf-16le", "utf-16le"},
		"a mark":         {"lines", encode(t, "utf-16le", "\uFEFF"+russian), "utf-16le", ""},
		"too little":     {"lines", "caf\xE9", "", "windows-1252"},
		"not read":       {"lines", "pr\x82c\x82d\x82 d'\x82t\x82, cr\x8ame br\x96l\x82e, \x85 la carte, h\x93tel, for\x88t", "", "ibm437"},
		"no text":        {"lines", "\x01\x00\x00\x02\xFF", "", "unknown"},
		"damaged UTF-8":  {"lines", russian + "\xD0", "", "unknown"},
		"HTML":           {"html", "<p>" + encode(t, "koi8-r", russian), "koi8-r", "koi8-r"},
		"HTML, declared": {"html", "<meta charset=windows-1251>" + encode(t, "windows-1251", russian), "windows-1251", ""},
	} {
		for _, compression := range []string{"", "gzip", "zstd"} {
			r := inEncoding{readers[tt.format], reading.DetectEncoding}
			file := readertest.Plant(t, r, tt.format, readertest.Pack(t, []byte(tt.content), compression))
			if file.Encoding != tt.encoding || file.Detected != tt.detected || (file.Percent >= charset.Sure) != (tt.encoding != "" && tt.detected != "") {
				t.Errorf("%s %s: %q, detected %q by %d; want %q, %q", name, compression, file.Encoding, file.Detected, file.Percent, tt.encoding, tt.detected)
			}
			if text, encoding, err := Decode([]byte(tt.content), reading.DetectEncoding); tt.format == "lines" && (encoding != tt.encoding || err != nil ||
				tt.encoding != "" && !strings.Contains(string(text), strings.TrimSpace(russian))) {
				t.Errorf("%s, as one text: %q, error %v", name, encoding, err)
			}
		}
	}
}

// TestIsUTF8 checks that the whole file decides whether it is UTF-8, wherever buffers end, compressed or not.
func TestIsUTF8(t *testing.T) {
	r := inEncoding{readers["lines"], "windows-1252"}
	for _, tt := range []struct {
		end  string
		want string
	}{
		{"", ""}, {"\u00E9", ""}, {"\U0001F40A", ""}, {"\xE9", "windows-1252"}, {"\xE9t\xE9", "windows-1252"}, {"\xF0\x9F\x90", "windows-1252"},
		{"\x00", "windows-1252"}, {"\xC3", "windows-1252"}, {"\x80", "windows-1252"},
	} {
		for size := readBytes - 5; size <= readBytes+1; size++ {
			for _, after := range []string{"", strings.Repeat(" and more", readBytes/8)} {
				for _, compression := range []string{"", "gzip"} {
					content := strings.Repeat("x", size) + tt.end + after
					file := readertest.Plant(t, r, "lines", readertest.Pack(t, []byte(content), compression))
					if file.Encoding != tt.want {
						t.Fatalf("%q at %d, %d bytes behind it, %q: %q, want %q", tt.end, size, len(after), compression, file.Encoding, tt.want)
					}
				}
			}
		}
	}
}

// FuzzEncoded checks that the same records are found in broken files, however windows are cut.
func FuzzEncoded(f *testing.F) {
	names := []string{"utf-16le", "shift_jis", "gb18030", "euc-jp", "windows-1251"}
	for i := range names {
		f.Add([]byte("\xFF\xFEa\x00\n\x00\x81\n\x81\x30\n{\"a\x95\x5C\"}"), byte(i), byte(i))
	}
	formats := []string{"json", "csv", "lines", "jsonl"}
	f.Fuzz(func(t *testing.T, content []byte, name, format byte) {
		if len(content) > 300 {
			return
		}
		fields := readertest.Fields
		fields.Text, fields.NoHeader = []string{"1"}, true
		file := &blocks.File{Encoding: names[int(name)%len(names)]}
		c, err := readers[formats[int(format)%len(formats)]].codecOf(file, fields)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte("\xFF\xFE")) || bytes.Contains(content, []byte("\xFE\xFF")) {
			content = bytes.ReplaceAll(content, []byte("\xFF"), nil) // could end up as the file's mark
		}
		codectest.EncodedInvariants(t, c, content)
	})
}
