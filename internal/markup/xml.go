package markup

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// inLine are the elements of XHTML that do not begin a line. Elements of other vocabularies, whose meaning is not
// known, do: most separate data.
var inLine = setOf("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em",
	"font", "i", "img", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub",
	"sup", "td", "th", "time", "tt", "u", "var", "wbr")

// xml writes the text of a document. It is exact for well-formed documents, and tolerates others.
func (w *writer) xml(document []byte) {
	var (
		drop   string // the element that is being dropped
		nested int    // number of open elements of that name
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

// element applies the effect of a tag.
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

// Kind is the kind of a piece of XML that begins with "<".
type Kind int

// Kinds of pieces.
const (
	Text          Kind = iota // a "<" without a meaning
	StartTag                  // inner is the text between the brackets
	EmptyTag                  // a tag that also ends its element
	EndTag                    // inner does not include the slash
	CharacterData             // a CDATA section; inner is its text
	Hidden                    // a comment, a declaration or a processing instruction
)

const opensData = "<![CDATA["

// hidden lists how pieces without tags begin and end. A piece without an end extends to the end of the document.
var hidden = []struct {
	begin, end string
	kind       Kind
}{
	{"<!--", "-->", Hidden},
	{opensData, "]]>", CharacterData},
	{"<?", "?>", Hidden},
}

// XMLToken returns the piece of a document that rest begins with, and its size; rest must begin with "<".
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

// BeginsName reports whether a byte may begin a name, as all non-ASCII bytes may.
func BeginsName(b byte) bool {
	return b|0x20 >= 'a' && b|0x20 <= 'z' || b == '_' || b == ':' || b >= 0x80
}

// Name returns the name at the beginning of a tag's inner text.
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

// declaration returns the size of the declaration that rest begins with, such as a DOCTYPE, which may contain others in
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

// longestReference is the size of the longest named reference of HTML, with & and ;.
const longestReference = len("&CounterClockwiseContourIntegral;")

// appendReferences appends text with its character references decoded, numeric ones and those named in HTML, which
// include XML's. It leaves others, to entities that a document declares, unchanged.
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
