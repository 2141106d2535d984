package warc

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// breaks are the elements that begin and end a line: those of display block, list-item and table-row in the HTML
// standard's style sheet (§15.3), br, and controls of several lines.
var breaks = setOf("address", "article", "aside", "blockquote", "body", "br", "caption", "center",
	"dd", "details", "dialog", "dir",
	"div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4",
	"h5", "h6", "head", "header",
	"hgroup", "hr", "html", "legend", "li", "listing", "main", "menu", "nav", "ol", "optgroup", "option", "p",
	"plaintext", "pre", "search",
	"section", "select", "summary", "table", "tbody", "textarea", "tfoot", "thead", "title", "tr", "ul", "xmp")

// dropped are the elements whose content a browser does not show. Their content is no markup, so it is one token.
var dropped = setOf("iframe", "noembed", "noframes", "noscript", "script", "style")

// unmarked are the other elements whose content is one token.
var unmarked = setOf("plaintext", "textarea", "title", "xmp")

func setOf(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// appendHTML appends the text of an HTML page, which is UTF-8, to dst. There are neither tags nor comments, and no
// content of dropped elements. Lines end where elements of breaks begin and end; there
// are no empty ones. Cells of a table are a blank apart. Runs of white space are a blank,
// and none at the ends of lines, but in pre all of it stands. References are decoded.
func appendHTML(dst, page []byte) []byte {
	w := lineWriter{dst: dst, begin: len(dst)}
	t := tokens{Tokenizer: html.NewTokenizer(bytes.NewReader(page)), rest: page}
	pre, drop := 0, false
	for {
		kind, name := t.next()
		switch kind {
		case html.ErrorToken: // the end: there is no other error in memory
			return w.finish()
		case html.TextToken:
			switch {
			case drop:
			case pre > 0:
				w.verbatim(t.Text())
			default:
				w.words(t.Text())
			}
		}
		drop = false
		if name == "" {
			continue
		}
		drop = kind != html.EndTagToken && dropped[name]
		switch {
		case breaks[name]:
			w.newline()
		case name == "td" || name == "th":
			w.space = true
		}
		if name == "pre" {
			if kind == html.EndTagToken {
				pre = max(pre-1, 0)
			} else {
				pre++
			}
		}
	}
}

// longTag is the size of a tag from which on its attributes are not held: they may take ten times its bytes, and the
// tokenizer goes through as much memory again for each later tag.
const longTag = 64 << 10

// tokens are those of a page.
type tokens struct {
	*html.Tokenizer
	rest   []byte // of the page
	inside bool   // the next token is the content of an element that has no markup
}

// next returns the kind of the next token, and the name of a tag.
func (t *tokens) next() (kind html.TokenType, name string) {
	start := !t.inside && len(t.rest) > 1 && t.rest[0] == '<' && 'a' <= t.rest[1]|0x20 && t.rest[1]|0x20 <= 'z'
	t.SetMaxBuf(0)
	if start {
		t.SetMaxBuf(longTag)
	}
	kind = t.Next()
	size := len(t.Raw())
	long := start && errors.Is(t.Err(), html.ErrBufferExceeded)
	if long { // as an end tag it is read the same way, without attributes
		t.Tokenizer = html.NewTokenizer(io.MultiReader(strings.NewReader("</"), bytes.NewReader(t.rest[1:])))
		kind, size = t.Next(), len(t.Raw())-1
	}
	switch kind {
	case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
		tag, _ := t.TagName()
		name = string(tag)
	}
	t.rest = t.rest[size:]
	t.inside = start && (dropped[name] || unmarked[name])
	if long && name != "" {
		kind = html.StartTagToken
		if t.inside {
			t.Tokenizer = html.NewTokenizer(io.MultiReader(strings.NewReader("<"+name+">"), bytes.NewReader(t.rest)))
			t.Next()
		}
	}
	return kind, name
}

// lineWriter collapses white space.
type lineWriter struct {
	dst   []byte
	begin int  // where the text begins in dst
	space bool // a blank goes before the next word of the line
}

func (w *lineWriter) words(text []byte) {
	for len(text) > 0 {
		n := slices.IndexFunc(text, isBlank)
		if n < 0 {
			n = len(text)
		}
		w.verbatim(text[:n])
		for ; n < len(text) && isBlank(text[n]); n++ {
			w.space = true
		}
		text = text[n:]
	}
}

func isBlank(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' && b != '\v' }

// verbatim appends text as it stands.
func (w *lineWriter) verbatim(text []byte) {
	if len(text) == 0 {
		return
	}
	if w.space && !w.lineBegins() {
		w.dst = append(w.dst, ' ')
	}
	w.space = false
	w.dst = append(w.dst, text...)
}

func (w *lineWriter) lineBegins() bool { return len(w.dst) == w.begin || w.dst[len(w.dst)-1] == '\n' }

func (w *lineWriter) newline() {
	w.space = false
	if !w.lineBegins() {
		w.dst = append(w.dst, '\n')
	}
}

func (w *lineWriter) finish() []byte {
	if len(w.dst) > w.begin {
		w.dst = w.dst[:w.begin+len(bytes.TrimRight(w.dst[w.begin:], "\n"))]
	}
	return w.dst
}
