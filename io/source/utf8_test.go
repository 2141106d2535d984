package source

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
)

// TestInvalidUTF8 checks that a record whose text is not UTF-8 is unreadable, with the position of the offending byte
// in the text and in the file. If such texts are kept, their bytes are passed on unchanged.
func TestInvalidUTF8(t *testing.T) {
	const good = "{\"text\":\"good\"}\n" // 16 bytes
	for _, tt := range []struct {
		name, good, bad string
		detail, text    string // of the bad record; kept
	}{
		{"a.jsonl", good, `{"id":"\u00e9\n","text":"a caf` + "\xE9" + `"}`, "byte 5 of the text (byte 46 of the file) is E9, which is not UTF-8; it may be windows-1252; the record has 33 bytes", "a caf\xE9"},
		{"a.jsonl", good, `{"text":"\"` + "\xE9" + `\""}`, "byte 1 of the text is E9, which is not UTF-8; the record has 16 bytes", "\"\xE9\""},
		{"a.jsonl", good, `{"text":"a\ud800b"}`, `byte 1 of the text is \ud800, which is an unpaired surrogate; the record has 19 bytes`, "a\xED\xA0\x80b"},
		{"a.jsonl", good, `{"text":"\udc01\ud801"}`, `byte 0 of the text is \udc01, which is an unpaired surrogate; the record has 23 bytes`, "\xED\xB0\x81\xED\xA0\x81"},
		{"a.jsonl", good, `{"text":"` + "\xED\xBF\xBF" + `"}`, `byte 0 of the text (byte 25 of the file) is \udfff, which is an unpaired surrogate; the record has 14 bytes`, "\xED\xBF\xBF"},
		{"a.jsonl", good, `{"text":"` + "\xED\xA0" + `"}`, "byte 0 of the text (byte 25 of the file) is ED, which is not UTF-8; the record has 13 bytes", "\xED\xA0"},
		{"a.tsv", "text\tid\none\tx\n", "th\xE9re\t\xE9", "byte 2 of the text (byte 16 of the file) is E9, which is not UTF-8; it may be windows-1252; the record has 7 bytes", "th\xE9re"},
		{"a.txt", "fourteen bytes\n", "caf\xE9 au lait", "byte 3 of the text (byte 18 of the file) is E9, which is not UTF-8; it may be windows-1252; the record has 12 bytes", "caf\xE9 au lait"},
	} {
		content, bad := tt.good+tt.bad, tt.bad
		o := Options{Fields: fields, MaxDocument: 1000}
		if tt.name == "a.txt" {
			o.Format = "lines"
		}
		path := write(t, t.TempDir(), tt.name, []byte(content))
		in := inputs(t, o, path)
		out := run(t, in, o)
		rows := out.rejected[0]
		if len(out.local) != 1 || len(rows) != 1 {
			t.Errorf("%q: %d documents, rejected %+v", content, len(out.local), rows)
			continue
		}
		row := rows[0]
		if row.Reason != codec.InvalidUTF8 || row.Detail != tt.detail || string(*row.Raw) != bad || row.Position != int64(len(content)-len(bad)) {
			t.Errorf("%q: rejected %+v\nwant %s", content, row, tt.detail)
		}
		if got := out.facts[0].Counts[blocks.CountUnreadable]; got != 1 || len(out.dropped[0]) != 1 {
			t.Errorf("%q: %d unreadable, dropped %v", content, got, out.dropped)
		}
		key := blocks.NewKey(0, row.Position)
		if _, err := Text(t.Context(), in, key, o); err == nil || !strings.Contains(err.Error(), "invalid UTF-8") {
			t.Errorf("%q: looked up, error %v", content, err)
		}
		texts, sampled := sampleOf(t, in, o)
		if len(texts) != 1 || sampled.Documents != 1 || sampled.Unreadable != 1 || sampled.Note != out.facts[0].Note {
			t.Errorf("%q: sample %q, %+v; the note of the split is %s", content, texts, sampled, out.facts[0].Note)
		}

		o.KeepInvalid = true
		out = run(t, in, o)
		if len(out.rejected[0]) != 0 || len(out.local) != 2 || string(out.local[1].Text) != tt.text {
			t.Errorf("%q: kept %+v, rejected %+v", content, out.local, out.rejected)
		}
		if text, err := Text(t.Context(), in, key, o); err != nil || text != tt.text {
			t.Errorf("%q: looked up and kept %q, %v", content, text, err)
		}
		if texts, _ := sampleOf(t, in, o); len(texts) != 2 {
			t.Errorf("%q: sample of the kept %q", content, texts)
		}
	}
}

// TestInvalidUTF8Elsewhere checks that ids and values used to choose which copy to keep may be any bytes, and so may a
// text that is too large to be compared.
func TestInvalidUTF8Elsewhere(t *testing.T) {
	o := Options{Fields: fields, MaxDocument: 4, Rank: Rank{{Column: "date"}}}
	content := "{\"id\":\"\xE9\",\"text\":\"a\",\"date\":\"\xE9\"}\n{\"text\":\"abcd\xE9\"}\n"
	in := inputs(t, o, write(t, t.TempDir(), "a.jsonl", []byte(content)))
	out := run(t, in, o)
	if len(out.local) != 1 || string(out.local[0].ID) != "\xE9" || len(out.rejected[0]) != 1 || out.rejected[0][0].Reason != "too large" {
		t.Errorf("documents %+v, rejected %+v", out.local, out.rejected)
	}
}

// TestInvalidUTF8Limit checks that the first N documents of a limit are readable ones.
func TestInvalidUTF8Limit(t *testing.T) {
	content := "\xE9\none\n\xE9\ntwo\nthree\n"
	for keep, want := range map[bool]int64{false: 9, true: 3} { // where the second begins, and 1
		o := Options{Format: "lines", Fields: fields, MaxDocument: 1000, Limit: 2, KeepInvalid: keep}
		in := inputs(t, o, write(t, t.TempDir(), "a.txt", []byte(content)))
		if got := in.Splits.At(in.Splits.Len() - 1).End; got != want {
			t.Errorf("kept %v: the input ends at %d, want %d", keep, got, want)
		}
	}
}

// TestInvalidUTF8Packed checks that positions in a compressed file are counted in the decompressed bytes.
func TestInvalidUTF8Packed(t *testing.T) {
	o := Options{Fields: fields, MaxDocument: 1000}
	in := inputs(t, o, write(t, t.TempDir(), "a.jsonl", readertest.Pack(t, []byte("{\"text\":\"\xE9\"}\n"), "gzip")))
	rows := run(t, in, o).rejected[0]
	const want = "byte 0 of the text (byte 9 of the decompressed file) is E9, which is not UTF-8; the record has 13 bytes"
	if len(rows) != 1 || rows[0].Detail != want {
		t.Errorf("rejected %+v, want %s", rows, want)
	}
}

// TestInvalidUTF8OfRows checks that an unreadable record that is a row, not text, is represented by its text.
func TestInvalidUTF8OfRows(t *testing.T) {
	const want = "invalid UTF-8: byte 1 of the text is E9, which is not UTF-8"
	for _, raw := range [][]byte{nil, []byte("b\xE9")} { // rendered or not
		record := reading.Record{Position: 7, Doc: &codec.Document{Text: []byte("b\xE9")}, Raw: raw}
		err := Options{MaxDocument: 1000}.readable(&blocks.File{Positions: 10}, func(record *reading.Record) error {
			if string(record.Raw) != "b\xE9" {
				t.Errorf("raw %q", record.Raw)
			}
			return record.Err
		})(&record)
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestInvalidUTF8Offset checks that the byte is located in the file by the bytes around it, as far as they are not
// escaped, if these occur only once.
func TestInvalidUTF8Offset(t *testing.T) {
	for _, tt := range []struct {
		record string
		told   bool
	}{
		{`{"id":"more of caf` + "\xE9" + ` au lait","text":"a cup of caf` + "\xE9" + ` au lait"}`, true}, // 32 bytes match
		{`{"id":"caf` + "\xE9" + `","text":"one\ntwo, some caf` + "\xE9" + ` au lait\n"}`, true},         // 8 match
		{`{"id":"E` + "\xE8" + `!","text":"a\nf` + "\xE9" + `!\n"}`, true},                               // 1 matches
		{`{"id":"caf` + "\xE9" + ` au lait","text":"caf` + "\xE9" + ` au lait"}`, false},                 // the whole text occurs twice
		{`{"id":"f` + "\xE9" + `!","text":"a\nf` + "\xE9" + `!\n"}`, false},                              // 1 matches, but twice
		{`{"id":"x","text":"\n` + "\xE9" + `\n"}`, false},                                                // the spool is read before the copy is made
		{`{"text":"of caf` + "\xE9" + ` au","id":"of caf` + "\xE9" + ` au"}`, false},                     // the first is not assumed to be meant
	} {
		o := Options{Fields: fields, MaxDocument: 1000}
		rows := run(t, inputs(t, o, write(t, t.TempDir(), "a.jsonl", []byte(tt.record))), o).rejected[0]
		if len(rows) != 1 {
			t.Errorf("%q: rejected %+v", tt.record, rows)
			continue
		}
		at := fmt.Sprintf(" (byte %d of the file) is", strings.LastIndex(tt.record, "\xE9"))
		if strings.Contains(rows[0].Detail, at) != tt.told || strings.Contains(rows[0].Detail, "of the file") != tt.told {
			t.Errorf("%q: %s; told %v, want%s", tt.record, rows[0].Detail, tt.told, at)
		}
	}
}

// TestWide checks that UTF-16 without a byte order mark, though it may be valid UTF-8, is recognized and not accepted
// as text.
func TestWide(t *testing.T) {
	const cyrillic, latin = "кот мал\nНот лам\n", "the cat\nthe dog\n"
	wide := func(text, order string) string {
		t.Helper()
		endian := unicode.LittleEndian
		if order == "BE" {
			endian = unicode.BigEndian
		}
		encoded, err := unicode.UTF16(endian, unicode.IgnoreBOM).NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	escaped := func(text string) string {
		var b strings.Builder
		for _, c := range []byte(text) {
			fmt.Fprintf(&b, `\u%04x`, c)
		}
		return `{"text":"` + b.String() + "\"}\n"
	}
	for _, order := range []string{"LE", "BE"} {
		for _, text := range []string{cyrillic, latin} {
			encoded := wide(text, order)
			if !utf8.ValidString(encoded) {
				t.Fatalf("%q is not valid", encoded)
			}
			for _, tt := range []struct {
				format, content string
				rows            int
				advice          string
			}{
				{"files", encoded, 1, "--encoding UTF-16" + order},
				{"lines", encoded, 2, "--encoding UTF-16" + order},
				{"lines", wide("\n"+text, order), 2, "--encoding UTF-16" + order},
				{"jsonl", escaped(encoded), 1, "; fix the text or convert"},
			} {
				o := Options{Format: tt.format, Fields: fields, MaxDocument: 1000}
				in := inputs(t, o, write(t, t.TempDir(), "a", []byte(tt.content)))
				out := run(t, in, o)
				rows := out.rejected[0]
				if len(rows) != tt.rows {
					t.Errorf("%s %q: rejected %+v", tt.format, tt.content, rows)
					continue
				}
				for _, row := range rows {
					if row.Reason != codec.InvalidUTF8 || !strings.Contains(row.Detail, " bytes of the text are control characters; it may be UTF-16; the record has ") {
						t.Errorf("%s %q: %+v", tt.format, tt.content, row)
					}
				}
				if note := out.facts[0].Note; !strings.Contains(note, tt.advice) || !strings.HasSuffix(note, ", or use --invalid-utf8 keep --shingle char:9 to compare its bytes") {
					t.Errorf("%s %q: note %s", tt.format, tt.content, note)
				}
				o.KeepInvalid = true
				if out := run(t, in, o); len(out.rejected[0]) != 0 {
					t.Errorf("%s %q: kept, rejected %+v", tt.format, tt.content, out.rejected[0])
				}
			}
		}
	}
}

// TestWideAdvice checks that for UTF-16 without a byte order mark the advice names its byte order, whichever record or
// header shows it, and that there is no advice for a file that is read correctly.
func TestWideAdvice(t *testing.T) {
	for name, order := range map[string]unicode.Endianness{"UTF-16LE": unicode.LittleEndian, "UTF-16BE": unicode.BigEndian} {
		tell := func(format, text, encoding string) string {
			t.Helper()
			content, err := unicode.UTF16(order, unicode.IgnoreBOM).NewEncoder().String(text)
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Format: format, Fields: fields, MaxDocument: 1000, Encoding: encoding}
			listing, err := Plan(t.Context(), []string{write(t, t.TempDir(), "a", []byte(content))}, o)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, _, err := listing.Inputs.open(t.Context(), 0, o); err != nil {
				return err.Error()
			}
			return run(t, listing.Inputs, o).facts[0].Note
		}
		for _, tt := range []struct{ format, text string }{
			{"jsonl", `{"text":"кот"}` + "\n"},
			{"jsonl", "\n" + `{"text":"кот"}` + "\n"}, // the second line begins at byte 1 if it is little-endian
			{"lines", "café, and the tea\n"},
			{"lines", "\ncafé, and the tea\n"},
			{"csv", "id,text\r\n1,кот\r\n"},
			{"tsv", "id\ttext\n1\tкот\n"},
		} {
			if told := tell(tt.format, tt.text, ""); !strings.Contains(told, " it may be "+name+"; read it with --encoding "+name) {
				t.Errorf("%s %q: %s", tt.format, tt.text, told)
			}
		}
		if told := tell("jsonl", `{"text"`+"\n", name); !strings.Contains(told, "malformed JSON") || strings.Contains(told, "--encoding") {
			t.Errorf("read as %s: %s", name, told)
		}
	}
}

// TestWideRows checks that the characters of a row's text are counted from its start, whatever the number of the row.
func TestWideRows(t *testing.T) {
	for position := range int64(2) {
		for _, text := range []string{"t\x00h\x00e\x00", "t\x00h\x00\xE9\x00"} { // valid UTF-8, and not
			record := reading.Record{Position: position, Doc: &codec.Document{Text: []byte(text)}, Raw: []byte(text), Err: &codec.Error{Reason: codec.InvalidUTF8}}
			if told := advice(&blocks.File{Positions: 2}, &record); !strings.HasPrefix(told, "; read it with --encoding UTF-16LE, ") {
				t.Errorf("%q at %d: %s", text, position, told)
			}
		}
	}
}

// TestNotWide checks that texts may have tabs, terminal escapes, and one or a few stray control characters.
func TestNotWide(t *testing.T) {
	for _, text := range []string{"\t\ta\tb\v\f\r", "\x1B[1mbold\x1B[0m", "\x00", "a\x03", "an \x01 odd \x02 one", strings.Repeat("text ", 20) + strings.Repeat("\x00", 100)} {
		o := Options{Format: "files", Fields: fields, MaxDocument: 1000}
		if out := run(t, inputs(t, o, write(t, t.TempDir(), "a", []byte(text))), o); len(out.rejected[0]) != 0 {
			t.Errorf("%q: rejected %+v", text, out.rejected[0])
		}
	}
	// What is not UTF-16 is not mistaken for it.
	o := Options{Format: "files", Fields: fields, MaxDocument: 1000}
	rows := run(t, inputs(t, o, write(t, t.TempDir(), "a", []byte("name\x00\x01\x02\x03"))), o).rejected[0]
	if len(rows) != 1 || rows[0].Detail != "4 of the first 8 bytes of the text are control characters; the record has 8 bytes" {
		t.Errorf("rejected %+v", rows)
	}
}

// TestGuessedPositions checks that for a record beyond the first MiB of a file the row has no guess, but the message
// has.
func TestGuessedPositions(t *testing.T) {
	const bad = "caf\xE9 et th\xE9 \xE0 la carte\n"
	for length, guessed := range map[int]bool{1<<20 - 2: true, 1<<20 - 1: false} {
		o := Options{Format: "lines", Fields: fields, MaxDocument: 2 << 20, SplitBytes: 4 << 20}
		out := run(t, inputs(t, o, write(t, t.TempDir(), "a", []byte(strings.Repeat("x", length)+"\n"+bad))), o)
		rows := out.rejected[0]
		if len(rows) != 1 || strings.Contains(rows[0].Detail, "windows-1252") != guessed || strings.Count(out.facts[0].Note, "it may be windows-1252") != 1 {
			t.Errorf("after %d bytes: rejected %+v, note %s", length, rows, out.facts[0].Note)
		}
	}
}

// TestAdvice checks that the message about the first unreadable record of a split says what its encoding may be. The
// row does not, since it must depend on its record alone.
func TestAdvice(t *testing.T) {
	const russian = "Все люди рождаются свободными и равными в своем достоинстве и правах."
	encoded, err := charmap.Windows1251.NewEncoder().String(russian)
	if err != nil {
		t.Fatal(err)
	}
	const keep = ", or use --invalid-utf8 keep --shingle char:9 to compare its bytes"
	const wide = "; it may be UTF-16; read it with --encoding UTF-16"
	for _, tt := range []struct{ format, content, want string }{
		{"lines", "a common line\n" + encoded + "\n", "; it may be windows-1251; read it with --encoding windows-1251" + keep},
		{"lines", strings.Repeat("x", 100_000) + " " + encoded + "\n", "; it may be windows-1251; read it with --encoding windows-1251" + keep},
		{"lines", russian + "\xE9\n", "; fix the text or convert the file to UTF-8" + keep},
		{"lines", "\xFF\xFEa\x00\n\x00", wide + keep},
		{"jsonl", `{"text":"\ud800"}`, "; fix the text or convert the file to UTF-8" + keep},
		{"jsonl", "\xFF\xFE{\x00\"\x00", wide},
		{"jsonl", `{"text":"`, ""},
	} {
		o := Options{Format: tt.format, Fields: fields, MaxDocument: 1 << 20}
		out := run(t, inputs(t, o, write(t, t.TempDir(), "a", []byte(tt.content))), o)
		if len(out.rejected[0]) == 0 {
			t.Errorf("%.40q: nothing is rejected", tt.content)
			continue
		}
		row := out.rejected[0][0]
		detail, _, _ := strings.Cut(row.Detail, "; the record has ")
		if note := out.facts[0].Note; !strings.HasSuffix(note, tt.want) || strings.Contains(row.Detail, "--encoding") || !strings.Contains(note, detail) {
			t.Errorf("%.40q: the note is %s\nwant at its end %s\nthe row %s", tt.content, note, tt.want, row.Detail)
		}
	}
}

// TestText checks that a text that does not come from an input obeys the same rules, and is decoded as inputs are.
func TestText(t *testing.T) {
	for _, tt := range []struct{ content, encoding, want, err string }{
		{"caf\u00E9", "", "caf\u00E9", ""},
		{"\uFEFFcaf\u00E9", "", "caf\u00E9", ""},
		{"\uFEFFcaf\u00E9", "latin1", "caf\u00E9", ""},
		{"caf\xE9", "latin1", "caf\u00E9", ""},
		{"\xFF\xFEc\x00\xE9\x00", "auto", "c\u00E9", ""},
		{"\xFE\xFF\x00c\x00\xE9", "utf-16le", "c\u00E9", ""},
		{"c\x00\xE9\x00", "utf-16le", "c\u00E9", ""},
		{"caf\xE9 et th\xE9 \xE0 la carte", "", "", "invalid UTF-8: byte 3 of the text (byte 3 of the file) is E9, which is not UTF-8; it may be windows-1252; read it with --encoding windows-1252"},
		{"c\x00\xE9\x00\x00", "utf-16le", "", "invalid UTF-8: the input is not valid utf-16le at byte 3 of the decoded text"},
		{"a", "klingon", "", `no encoding is called "klingon"`},
	} {
		text, err := Options{MaxDocument: 100, Encoding: tt.encoding}.Text([]byte(tt.content))
		if tt.err == "" && (err != nil || string(text) != tt.want) || tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.err)) {
			t.Errorf("%q in %q: %q, error %v", tt.content, tt.encoding, text, err)
		}
	}
	if _, err := (Options{MaxDocument: 100, KeepInvalid: true}).Text([]byte("caf\xE9")); err != nil {
		t.Error(err)
	}
	for _, compression := range []string{"gzip", "zstd"} { // no flag makes a text of it
		if _, err := (Options{KeepInvalid: true}).Text(readertest.Pack(t, []byte("text"), compression)); err == nil || err.Error() != "the file is compressed with "+compression+"; decompress it first" {
			t.Errorf("%s: error %v", compression, err)
		}
	}
}
