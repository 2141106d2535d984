package markup

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// inLine are the elements of XHTML that do not begin a line. What other vocabularies mean by theirs is not known, and
// most keep data apart.
var inLine = setOf("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em",
	"font", "i", "img", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub",
	"sup", "td", "th", "time", "tt", "u", "var", "wbr")

// xml writes the text of a document. It is true to what is well formed, and takes what is not as it comes.
func (w *writer) xml(document []byte) {
	var (
		drop   string // the element that is dropped
		nested int    // how many of its name are open in it
		buffer []byte
	)
	for rest := document; len(rest) > 0 && !w.done; {
		n := bytes.IndexByte(rest, '<')
		if n < 0 {
			n = len(rest)
		}
		if n > 0 && drop == "" {
			buffer = appendReferences(buffer[:0], rest[:n])
			w.decoded(buffer, rest[:n], len(document)-len(rest), appendReferences)
		}
		rest = rest[n:]
		kind, inner, size := XMLToken(rest)
		begin := len(document) - len(rest)
		rest = rest[size:]
		name := ""
		switch kind {
		case Text, CharacterData:
			if drop == "" {
				if kind == CharacterData {
					begin += len(opensData)
				}
				w.from = Span{begin, begin + len(inner)}
				w.text(inner)
			}
			continue
		case StartTag, EmptyTag, EndTag:
			name = string(Name(inner))
		default:
			continue
		}
		local := strings.ToLower(name[strings.LastIndexByte(name, ':')+1:])
		switch {
		case drop != "" && name != drop:
		case kind == EndTag && drop != "":
			if nested--; nested == 0 {
				drop = ""
			}
		case kind == StartTag && dropped[local] && name != w.Element:
			drop = name
			nested++
		case drop != "":
		default:
			w.element(name, local, kind)
		}
	}
}

// element writes what the tag of an element means.
func (w *writer) element(name, local string, kind Kind) {
	if kind == EndTag {
		w.leave(name)
	}
	w.layOut(local, kind != StartTag, !inLine[local])
	if kind != EndTag {
		w.enter(name)
	}
	if kind == EmptyTag {
		w.leave(name)
	}
}

// Kind is what a piece of XML is that begins with "<".
type Kind int

// The kinds of pieces.
const (
	Text          Kind = iota // a "<" that begins nothing
	StartTag                  // inner is all between the brackets
	EmptyTag                  // of an element that ends with it
	EndTag                    // inner is without the slash
	CharacterData             // a section of it; inner is the text
	Hidden                    // a comment, a declaration or a processing instruction
)

const opensData = "<![CDATA["

// hidden are how pieces begin and end that have no tag in them. What has no end reaches to the end of the document.
var hidden = []struct {
	begin, end string
	kind       Kind
}{
	{"<!--", "-->", Hidden},
	{opensData, "]]>", CharacterData},
	{"<?", "?>", Hidden},
}

// XMLToken returns the piece of a document that rest begins with, if that is a "<", and its size.
func XMLToken(rest []byte) (kind Kind, inner []byte, size int) {
	for _, h := range hidden {
		if inner, ok := bytes.CutPrefix(rest, []byte(h.begin)); ok {
			end := bytes.Index(inner, []byte(h.end))
			if end < 0 {
				return h.kind, inner, len(rest)
			}
			return h.kind, inner[:end], len(h.begin) + end + len(h.end)
		}
	}
	switch {
	case len(rest) < 2:
		return Text, rest, len(rest)
	case rest[1] == '!':
		return Hidden, nil, declaration(rest)
	case rest[1] == '/':
		inner, _, _ = bytes.Cut(rest[2:], []byte(">"))
		return EndTag, inner, min(len(inner)+3, len(rest))
	case !BeginsName(rest[1]):
		return Text, rest[:1], 1
	}
	n := tagEnd(rest)
	inner = bytes.TrimSuffix(rest[1:n], []byte(">"))
	if empty, ok := bytes.CutSuffix(inner, []byte("/")); ok {
		return EmptyTag, empty, n
	}
	return StartTag, inner, n
}

// BeginsName reports whether a byte begins a name, as all that are not ASCII may.
func BeginsName(b byte) bool {
	return b|0x20 >= 'a' && b|0x20 <= 'z' || b == '_' || b == ':' || b >= 0x80
}

// Name returns the name that the inner of a tag begins with.
func Name(inner []byte) []byte {
	if n := slices.IndexFunc(inner, func(b byte) bool { return isBlank(b) || b == '/' || b == '<' }); n >= 0 {
		return inner[:n]
	}
	return inner
}

// tagEnd returns the size of the tag that rest begins with: a ">" in quotes does not end it.
func tagEnd(rest []byte) int {
	for at := 0; ; {
		n := bytes.IndexAny(rest[at:], `>"'`)
		if n < 0 {
			return len(rest)
		}
		at += n + 1
		quote := rest[at-1]
		if quote == '>' {
			return at
		}
		end := bytes.IndexByte(rest[at:], quote)
		if end < 0 {
			return len(rest)
		}
		at += end + 1
	}
}

// declaration returns the size of the declaration that rest begins with, such as a DOCTYPE, which may have others in
// brackets.
func declaration(rest []byte) int {
	depth := 0
	for at := 0; at < len(rest); at++ {
		switch b := rest[at]; b {
		case '"', '\'':
			end := bytes.IndexByte(rest[at+1:], b)
			if end < 0 {
				return len(rest)
			}
			at += end + 1
		case '<':
			if at > 0 && (bytes.HasPrefix(rest[at:], []byte("<!--")) || bytes.HasPrefix(rest[at:], []byte("<?"))) {
				_, _, size := XMLToken(rest[at:])
				at += size - 1
				continue
			}
			depth++
		case '>':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return len(rest)
}

// longestReference is the size of the longest name of a character in HTML, with & and ;.
const longestReference = len("&CounterClockwiseContourIntegral;")

// appendReferences appends text with its references to characters decoded, by number or by the names of HTML, which
// have those of XML. Others, of entities that a document declares, stay as they stand.
func appendReferences(dst, text []byte) []byte {
	for {
		n := bytes.IndexByte(text, '&')
		if n < 0 {
			return append(dst, text...)
		}
		dst, text = append(dst, text[:n]...), text[n:]
		end := bytes.IndexByte(text[:min(len(text), longestReference)], ';') + 1
		if end == 0 {
			dst, text = append(dst, '&'), text[1:]
			continue
		}
		dst = append(dst, html.UnescapeString(string(text[:end]))...)
		text = text[end:]
	}
}
