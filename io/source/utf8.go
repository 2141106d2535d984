package source

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/charset"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/bytefile"
)

// readable returns a function that calls see with each record. Unless o keeps them, it makes records unreadable whose
// texts are to be compared but are not UTF-8, or look like UTF-16.
func (o Options) readable(file *blocks.File, see func(*reading.Record) error) func(*reading.Record) error {
	if o.Fields.Values > 0 {
		see = o.matched(see)
	}
	if o.KeepInvalid {
		return see
	}
	return func(record *reading.Record) error {
		text := record.Doc.Text
		if record.Err == nil && !record.Long && int64(len(text)) <= o.MaxDocument {
			if detail := wrong(file, record); detail != "" {
				record.Err = &codec.Error{Reason: codec.InvalidUTF8, Detail: detail}
				if record.Raw == nil {
					record.Raw = text // in a format that is not text
				}
			}
		}
		return see(record)
	}
}

// wrong says why a record's text is not accepted as UTF-8; "" if it is.
func wrong(file *blocks.File, record *reading.Record) string {
	if record.Doc.Plain {
		return ""
	}
	text := record.Doc.Text
	if !utf8.Valid(text) && file.Encoding != "" && !reading.ByContent(file.Encoding) {
		return fmt.Sprintf("the input is not valid %s at byte %d of the decoded text", file.Encoding, invalidAt(text))
	}
	if !utf8.Valid(text) {
		detail := describe(file, record)
		if file.Detected != "" {
			if file.Percent == 0 {
				return fmt.Sprintf("%s; it may be %s, but this is only a guess", detail, file.Detected)
			}
			return fmt.Sprintf("%s; it may be %s (confidence %d %%, but neardup needs %d %%)", detail, file.Detected,
				file.Percent, charset.Sure)
		}
		if record.Position < guessedPositions {
			detail += mayBe(encodingOf(file, record))
		}
		return detail
	}
	controls := charset.ControlsOf(text)
	if controls.Few() {
		return ""
	}
	detail := fmt.Sprintf("%d of the first %d bytes of the text are control characters", controls.Number(), controls.Bytes)
	if _, ok := controls.Side(); ok {
		detail += mayBe("UTF-16")
	}
	return detail
}

// Text returns the text of a file that is not an input, decoded as inputs are. The error of an unreadable text says
// what is wrong with it and what to do.
func (o Options) Text(content []byte) (text []byte, err error) {
	if compression, _ := bytefile.CompressionOf(bytes.NewReader(content)); compression != "" {
		return nil, fmt.Errorf("the file is compressed with %s; decompress it first", compression)
	}
	file := new(blocks.File)
	if text, file.Encoding, err = bytefile.Decode(content, o.Encoding); err != nil {
		return nil, err
	}
	record := reading.Record{Doc: &codec.Document{Text: text}, Raw: content}
	return text, o.readable(file, func(record *reading.Record) error {
		if record.Err == nil {
			return nil
		}
		return fmt.Errorf("%w%s", record.Err, advice(file, record))
	})(&record)
}

// describe says where the text of a record is not UTF-8, and what is there.
func describe(file *blocks.File, record *reading.Record) string {
	text := record.Doc.Text
	at := invalidAt(text)
	what := fmt.Sprintf("%02X, which is not UTF-8", text[at])
	if r, ok := surrogate(text[at:]); ok {
		what = fmt.Sprintf(`\u%04x, which is an unpaired surrogate`, r)
	}
	return fmt.Sprintf("byte %d of the text%s is %s", at, offsetOf(at, file, record), what)
}

// invalidAt returns the index of the first invalid byte of text, which is not UTF-8.
func invalidAt(text []byte) (at int) {
	for {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
}

// surrogate returns the half of a surrogate pair that text begins with, in the three bytes that UTF-8 would use for it.
func surrogate(text []byte) (r rune, ok bool) {
	if len(text) < 3 || text[0] != 0xED || text[1] < 0xA0 || text[1] > 0xBF || utf8.RuneStart(text[2]) {
		return 0, false
	}
	return 0xD000 | rune(text[1]&0x3F)<<6 | rune(text[2]&0x3F), true
}

// offsetOf says where in the file the byte at of the record's text is: it looks for the bytes around it in the record.
// It returns "" if they are not there, because the text is escaped or the file is not text, or occur more than once.
func offsetOf(at int, file *blocks.File, record *reading.Record) string {
	text := record.Doc.Text
	for _, around := range []int{32, 8, 1} {
		from := max(0, at-around)
		part := text[from:min(at+around+1, len(text))]
		i := bytes.Index(record.Raw, part)
		if i < 0 {
			continue
		}
		if file.Positions > 0 || bytes.LastIndex(record.Raw, part) != i {
			return ""
		}
		where := "the file"
		if file.Compression != "" {
			where = "the decompressed file"
		}
		return fmt.Sprintf(" (byte %d of %s)", record.Position+int64(i+at-from), where)
	}
	return ""
}

// guessedPositions is the position up to which the encoding of each record is guessed: guessing is slower than reading.
const guessedPositions = 1 << 20

// guessedBefore is how many bytes before the first invalid one are used to guess an encoding: in an encoding other than
// UTF-8, the invalid byte may be the middle of a character.
const guessedBefore = 64

// encodingOf guesses the encoding of a record whose text is not accepted as UTF-8; "" if it cannot.
func encodingOf(file *blocks.File, record *reading.Record) string {
	text := record.Doc.Text
	if utf8.Valid(text) {
		return wideOf(file, record)
	}
	if utf8.Valid(record.Raw) { // the text is escaped
		return ""
	}
	if wide := charset.UTF16(record.Raw, beginning(file, record)); wide != "" {
		return wide
	}
	return charset.Guess(text[max(0, invalidAt(text)-guessedBefore):])
}

// wideOf returns iconv's name of the UTF-16 that a record's text may be in without a byte order mark; "" if it is not
// UTF-16, or is escaped. Characters begin at even bytes of the file.
func wideOf(file *blocks.File, record *reading.Record) string {
	controls := charset.ControlsOf(record.Doc.Text)
	side, ok := controls.Side()
	at := bytes.Index(record.Raw, record.Doc.Text[:controls.Bytes])
	switch {
	case !ok || at < 0:
		return ""
	case (beginning(file, record)+int64(at+side))%2 == 0:
		return "UTF-16BE"
	default:
		return "UTF-16LE"
	}
}

// beginning returns the byte of its file at which a record begins; for a row, which is only its text, it returns 0.
func beginning(file *blocks.File, record *reading.Record) int64 {
	if file.Positions > 0 {
		return 0
	}
	return record.Position
}

func mayBe(encoding string) string {
	if encoding == "" {
		return ""
	}
	return "; it may be " + encoding
}

// advice says what to do about an unreadable record that may be in another encoding; "" if it may not.
func advice(file *blocks.File, record *reading.Record) string {
	invalid := (*codec.Error)(nil)
	if !errors.As(record.Err, &invalid) {
		return ""
	}
	if invalid.Reason != codec.InvalidUTF8 {
		wide := charset.UTF16(record.Raw, beginning(file, record))
		if wide == "" || file.Encoding != "" {
			return ""
		}
		return fmt.Sprintf("%s; read it with --encoding %s", mayBe(wide), wide)
	}
	if _, err := charset.Named(file.Detected); file.Detected != "" && err != nil {
		return "; convert the file to UTF-8"
	}
	if file.Detected != "" {
		return fmt.Sprintf("; read it with --encoding %s if that is right, or convert the file to UTF-8", file.Detected)
	}
	encoding := ""
	if file.Encoding == "" || file.Encoding == reading.AutoEncoding {
		encoding = encodingOf(file, record)
	}
	if encoding == "" {
		return "; fix the text or convert the file to UTF-8, or use --invalid-utf8 keep --shingle char:9 to compare its bytes"
	}
	guess := ""
	if record.Position >= guessedPositions && !utf8.Valid(record.Doc.Text) {
		guess = mayBe(encoding)
	}
	return fmt.Sprintf("%s; read it with --encoding %s, or use --invalid-utf8 keep --shingle char:9 to compare its bytes",
		guess, encoding)
}
