package warc

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/html/charset"

	"github.com/neardup/neardup/internal/markup"
	"github.com/neardup/neardup/io/codec"
)

// maxBody is the maximum size in bytes of an unpacked body, because a record does not state it.
const maxBody = 128 << 20

// appendText appends the text of a record's content to dst. ok=false: the content is not text.
func appendText(dst []byte, h header, content []byte) (text []byte, ok bool, err error) {
	contentType := string(h.get("Content-Type"))
	kind := mediaType(contentType)
	switch {
	case kind == "text/plain" && strings.EqualFold(string(h.get("WARC-Type")), "conversion"):
		return append(dst, content...), true, nil
	case kind == "application/http":
		message, body, err := splitMessage(content)
		if err != nil {
			return nil, false, err
		}
		contentType = string(message.get("Content-Type"))
		if contentType == "" {
			contentType = string(h.get("WARC-Identified-Payload-Type"))
		}
		kind = mediaType(contentType)
		if !isText(kind) {
			return nil, false, nil
		}
		if content, err = bodyOf(message, body); err != nil && h.get("WARC-Truncated") == nil {
			return nil, false, &codec.Error{Reason: codec.BrokenHTTP, Detail: err.Error()}
		}
	case !isText(kind):
		return nil, false, nil
	}
	content = decoded(content, contentType)
	if kind == "text/plain" {
		return append(dst, content...), true, nil
	}
	text, _ = markup.Reader{}.Append(dst, content)
	return text, true, nil
}

// mediaType returns the type at the beginning of a Content-Type, in lower case.
func mediaType(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func isText(kind string) bool {
	return slices.Contains([]string{"text/html", "application/xhtml+xml", "text/plain"}, kind)
}

// splitMessage splits an HTTP response into header and body. A message may end with its header's last line.
func splitMessage(message []byte) (h header, body []byte, err error) {
	if !bytes.HasPrefix(message, []byte("HTTP/")) {
		return nil, nil, &codec.Error{Reason: codec.BrokenHTTP, Detail: "the response does not begin with HTTP/"}
	}
	h, whole := headOf(message)
	if !whole && len(message) > len(h) {
		return nil, nil, &codec.Error{Reason: codec.BrokenHTTP,
			Detail: fmt.Sprintf("the header exceeds %d bytes", len(h))}
	}
	return h, message[len(h):], nil
}

// bodyOf undoes transfer and content encodings. If the body is not encoded as its header says, because the crawler has
// decoded it, it is taken as it is. With an error, bodyOf returns what precedes it.
func bodyOf(h header, body []byte) ([]byte, error) {
	if strings.EqualFold(string(h.get("Transfer-Encoding")), "chunked") {
		plain, err := unchunk(body)
		if err != nil {
			return plain, err
		}
		body = plain
	}
	encodings := strings.Split(string(h.get("Content-Encoding")), ",")
	for _, encoding := range slices.Backward(encodings) {
		plain, err := unpack(strings.ToLower(strings.TrimSpace(encoding)), body)
		if err != nil {
			return plain, err
		}
		body = plain
	}
	return body, nil
}

// unchunk joins chunks (RFC 9112, §7.1). A body that does not begin with a chunk is not chunked.
func unchunk(body []byte) (plain []byte, err error) {
	for rest := body; ; {
		line, behind, ok := bytes.Cut(rest, []byte("\n"))
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 32)
		switch {
		case len(rest) == len(body) && (err != nil || !ok):
			return body, nil
		case err != nil || !ok:
			return plain, fmt.Errorf("a chunk's size is %.20q", line)
		case n == 0:
			return plain, nil
		case uint64(len(behind)) < n:
			return append(plain, behind...), fmt.Errorf("a chunk of %d bytes has only %d", n, len(behind))
		}
		plain = append(plain, behind[:n]...)
		rest = bytes.TrimPrefix(bytes.TrimPrefix(behind[n:], []byte("\r")), []byte("\n"))
	}
}

// unpack undoes one content encoding.
func unpack(encoding string, body []byte) ([]byte, error) {
	if len(body) == 0 {
		return nil, nil
	}
	var r io.Reader
	var err error
	source := bytes.NewReader(body)
	switch encoding {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
			return body, nil
		}
		r, err = gzip.NewReader(source)
	case "zstd":
		if !bytes.HasPrefix(body, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
			return body, nil
		}
		d, failed := zstd.NewReader(source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20)) // RFC 9659
		if failed != nil {
			return nil, failed
		}
		defer d.Close()
		r = d
	case "deflate":
		if len(body) >= 2 && body[0]&15 == 8 && (int(body[0])<<8|int(body[1]))%31 == 0 {
			r, err = zlib.NewReader(source)
		} else {
			r = flate.NewReader(source) // what some servers mean by it
		}
	case "br":
		r = brotli.NewReader(source)
	default:
		return nil, fmt.Errorf("Content-Encoding %q is not known", encoding)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", encoding, err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	switch {
	case len(plain) > maxBody:
		return nil, fmt.Errorf("the body has more than %d bytes", maxBody)
	case err != nil && (encoding == "br" || encoding == "deflate") && !errors.Is(err, io.ErrUnexpectedEOF) &&
		utf8.Valid(body):
		return body, nil
	case err != nil:
		return plain, fmt.Errorf("%s: %w", encoding, err)
	}
	return plain, nil
}

// decoded returns text as UTF-8, decoded from the character set of its byte order mark, its Content-Type or a meta
// element. Without one, or with one that browsers refuse, it is UTF-8 if that is valid, or else windows-1252. Invalid
// bytes become U+FFFD.
func decoded(text []byte, contentType string) []byte {
	encoding, name, certain := charset.DetermineEncoding(text, contentType)
	if name == "replacement" { // for ISO-2022-KR and others, the Encoding Standard decodes any text to one U+FFFD
		encoding, name = charset.Lookup("windows-1252")
		certain = false
	}
	if name == "utf-8" || !certain && utf8.Valid(text) {
		text = bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF"))
		if utf8.Valid(text) {
			return text
		}
		return bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	plain, err := encoding.NewDecoder().Bytes(text)
	if err != nil { // never: charset's decoders replace invalid bytes
		return bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return bytes.TrimPrefix(plain, []byte("\uFEFF"))
}
