package bytefile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/charset"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
)

// encodingOf returns a value of blocks.File.Encoding: the encoding of the byte order mark if the file has one,
// otherwise the one asked for, unless that is UTF-8. A file that isUTF8 has no other encoding.
func (f Reader) encodingOf(file *blocks.File, asked string, head []byte, isUTF8 bool) (string, error) {
	if f.Encoded && !f.Members {
		return "", reading.OwnEncoding(file, asked)
	}
	name := charset.Marked(head)
	switch {
	case f.Members && reading.ByContent(asked):
		return asked, nil
	case asked == "" || asked == reading.AutoEncoding && name == "":
		return "", nil
	case asked == reading.DetectEncoding && name == "":
		if file.Percent < charset.Sure {
			return "", nil
		}
		name = file.Detected
	case !reading.ByContent(asked):
		e, err := charset.Named(asked)
		if e == nil {
			return "", err
		}
		if name == "" && isUTF8 {
			return "", nil
		}
		name = cmp.Or(name, e.Name)
	}
	e, err := charset.Named(name)
	if e == nil {
		return "", err
	}
	return e.Name, nil
}

// detect records the encoding detected in a text that is not UTF-8.
func detect(file *blocks.File, text []byte) {
	if charset.Marked(text) != "" {
		return
	}
	found := charset.Detect(text)
	file.Detected, file.Percent = cmp.Or(found.Name, blocks.UnknownEncoding), found.Percent
	if _, err := charset.Named(found.Name); err != nil { // neardup cannot read it
		file.Percent = 0
	}
}

// declared returns the encoding of a file's byte order mark or declaration, or else the one asked for. A declaration of
// UTF-8, or one that cannot be true, is ignored.
func (f Reader) declared(ctx context.Context, file *blocks.File, o reading.Options) (string, error) {
	head, err := Head(ctx, file, o)
	if err != nil {
		return "", err
	}
	e, err := charset.Named(cmp.Or(charset.Marked(head), f.Declared(head)))
	if err != nil || e == nil || e.Unit() > 1 && bytes.IndexByte(head, 0) < 0 {
		return o.Encoding, nil //nolint:nilerr // it says nothing
	}
	return e.Name, nil
}

// ofOthers reports whether the encoding asked for applies only to files that are not UTF-8. UTF-16 is not such an
// encoding: its characters may look like UTF-8.
func ofOthers(asked string) bool {
	e, err := charset.Named(asked)
	return asked == reading.DetectEncoding || err == nil && e != nil && e.Unit() == 1
}

// isUTF8 reports whether the whole content of a file is UTF-8 without NUL. It reads up to the first exception and, if
// the encoding is to be detected, readBytes around that.
func (f Reader) isUTF8(ctx context.Context, file *blocks.File, o reading.Options) (is bool, err error) {
	c, err := f.open(ctx, file, nil, o, true)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if file.Compression == "" {
		c.file.Ahead(0, file.Size)
	}
	buf := make([]byte, readBytes)
	for held, first := 0, true; ; first = false {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := io.ReadFull(c.src, buf[held:])
		held += n
		atEOF := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !atEOF {
			return false, c.failed(err)
		}
		valid, ok := plain(buf[:held], atEOF)
		if !ok && o.Encoding == reading.DetectEncoding {
			if !first || !atEOF {
				if held, err = c.around(buf, held); err != nil {
					return false, err
				}
			}
			detect(file, buf[:held])
		}
		if !ok || atEOF {
			return ok, nil
		}
		held = copy(buf, buf[valid:held])
	}
}

// around fills buf with the bytes around its first byte that is not UTF-8, and returns their number.
func (c *cursor) around(buf []byte, held int) (int, error) {
	from := startAround(buf[:held])
	held = copy(buf, buf[from:held])
	n, err := io.ReadFull(c.src, buf[held:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, c.failed(err)
	}
	return held + n, nil
}

// beforeInvalid is how many bytes before the first invalid one are used for detection.
const beforeInvalid = 4 << 10

// startAround returns where the part of a text used for detection begins: at its start, or slightly before its first
// byte that is not UTF-8.
func startAround(text []byte) int {
	at := 0
	for at < len(text) && text[at] > 0 {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return max(0, at-beforeInvalid) / 2 * 2 // the start of a character in UTF-16, which has NULs early if at all
}

// plain reports whether text is UTF-8 without NUL, and how many bytes it has checked: unless atEOF, the last character
// may be cut.
func plain(text []byte, atEOF bool) (n int, ok bool) {
	n = len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text) && !atEOF; i++ {
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				n -= i
			}
			break
		}
	}
	return n, utf8.Valid(text[:n]) && bytes.IndexByte(text[:n], 0) < 0
}

// Decode returns the content of a file that is one text, in UTF-8 and without its byte order mark, and the text's
// encoding as in blocks.File. asked is an Options.Encoding.
func Decode(content []byte, asked string) (text []byte, encoding string, err error) {
	isUTF8, file := false, new(blocks.File)
	if ofOthers(asked) {
		_, isUTF8 = plain(content, true)
	}
	if !isUTF8 && asked == reading.DetectEncoding {
		around := content
		if len(content) > readBytes {
			around = content[startAround(content):]
		}
		detect(file, around[:min(len(around), readBytes)])
	}
	if encoding, err = (Reader{}).encodingOf(file, asked, content, isUTF8); err != nil {
		return nil, "", err
	}
	mark, _ := codec.BOM(content, true)
	if encoding == "" {
		return content[mark:], "", nil
	}
	e, err := charset.Named(encoding)
	if err != nil {
		return nil, "", err
	}
	if charset.Marked(content) != "" {
		mark = utf16Mark
	}
	return e.AppendDecoded(nil, content[mark:]), encoding, nil
}

// utf16Mark is the length of UTF-16's byte order mark. (A file with UTF-8's mark is UTF-8.)
const utf16Mark = 2

// codecOf returns the codec for a file whose encoding is known.
func (f Reader) codecOf(file *blocks.File, fields codec.Fields) (codec.Codec, error) {
	c := f.Codec(fields)
	if file.Encoding == "" {
		return c, nil
	}
	if f.Members {
		return members{c, file.Encoding}, nil
	}
	e, err := charset.Named(file.Encoding)
	if err != nil {
		return nil, err
	}
	if e.Plain() {
		return decoding{c, e}, nil
	}
	return encoded{decoding{c, e}}, nil
}

// members decodes the text of each record as a file of its own.
type members struct {
	codec.Codec
	encoding string
}

func (c members) WithHeader(header []byte) (codec.Codec, error) {
	with, err := c.Codec.WithHeader(header)
	return members{with, c.encoding}, err
}

func (c members) Decode(record []byte, doc *codec.Document) error {
	if err := c.Codec.Decode(record, doc); err != nil {
		return err
	}
	text, encoding, err := Decode(doc.Text, c.encoding)
	if encoding != "" {
		doc.Text = append(doc.Text[:0], text...)
	}
	return err
}

// decoding finds records with its codec, then decodes them to UTF-8 for it.
type decoding struct {
	codec.Codec
	encoding *charset.Encoding
}

func (c decoding) WithHeader(header []byte) (codec.Codec, error) {
	with, err := c.Codec.WithHeader(c.encoding.AppendDecoded(nil, header))
	return decoding{with, c.encoding}, err
}

// decoded holds buffers for records.
var decoded = sync.Pool{New: func() any { return new([]byte) }}

func (c decoding) Decode(record []byte, doc *codec.Document) error {
	buffer := decoded.Get().(*[]byte) //nolint:forcetypeassert // nothing else is put there
	defer decoded.Put(buffer)
	text := c.encoding.AppendDecoded((*buffer)[:0], record)
	if cap(text) <= memory.Large {
		*buffer = text
	}
	return c.Codec.Decode(text, doc)
}

// encoded is decoding for an encoding in which other characters may contain bytes that look like ASCII: its codec sees
// an outline of the file without such bytes.
type encoded struct{ decoding }

// outlineBytes is how much of a window is outlined at a time, so that Start can progress.
const outlineBytes = 4 << 10

func (c encoded) WithHeader(header []byte) (codec.Codec, error) {
	with, err := c.Codec.WithHeader(c.encoding.AppendDecoded(nil, header))
	return encoded{decoding{with, c.encoding}}, err
}

func (c encoded) Header(data []byte, atEOF bool) (int, bool) {
	if len(data) < utf16Mark && !atEOF {
		return 0, false
	}
	before := 0
	if n, _ := c.Codec.Header([]byte("\xEF\xBB\xBF"), true); n > 0 && charset.Marked(data) != "" {
		before = utf16Mark
	}
	n, ok := c.Codec.Header(c.encoding.AppendOutline(nil, data[before:], atEOF), atEOF)
	return c.end(n, data[before:]) + before, ok
}

// end returns where in data the first n bytes of its outline end.
func (c encoded) end(n int, data []byte) int { return min(n*c.encoding.Unit(), len(data)) }

func (c encoded) Start(data []byte, atEOF bool) (n int, ok bool) {
	c.outline(data, atEOF, func(outline []byte, last bool) (int, bool) {
		var found int
		found, ok = c.Codec.Start(outline, last)
		n = c.end(n/c.encoding.Unit()+found, data)
		return found, !ok
	})
	return n, ok
}

func (c encoded) End(data []byte, state codec.State, atEOF bool) (n int, next codec.State, ok bool) {
	c.outline(data, atEOF, func(outline []byte, last bool) (int, bool) {
		var searched int
		searched, state, ok = c.Codec.End(outline, state, last)
		n = c.end(n/c.encoding.Unit()+searched, data)
		return searched, !ok
	})
	return n, state, ok
}

// outline calls see with outlines of one part of data after another, until see stops or needs more data. see returns
// how much of an outline it has used, and whether to go on. last says that data and the file end there.
func (c encoded) outline(data []byte, atEOF bool, see func(outline []byte, last bool) (done int, goOn bool)) {
	var buffer [outlineBytes]byte
	for {
		part := data[:min(len(data), outlineBytes)]
		last := atEOF && len(part) == len(data)
		done, goOn := see(c.encoding.AppendOutline(buffer[:0], part, last), last)
		if !goOn || last || done == 0 {
			return
		}
		data = data[c.end(done, data):]
	}
}

// Splittable returns false for UTF-16, where finding line ends requires knowing where characters begin.
func (c encoded) Splittable() bool { return c.encoding.Unit() == 1 && c.Codec.Splittable() }
