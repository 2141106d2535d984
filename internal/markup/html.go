package markup

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"
)

// breaks are the elements before and after which a line ends: those with display block, list-item or table-row in the
// HTML standard's style sheet (§15.3), br, and controls of several lines.
var breaks = setOf("address", "article", "aside", "blockquote", "body", "br", "caption", "center",
	"dd", "details", "dialog", "dir",
	"div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4",
	"h5", "h6", "head", "header",
	"hgroup", "hr", "html", "legend", "li", "listing", "main", "menu", "nav", "ol", "optgroup", "option", "p",
	"plaintext", "pre", "search",
	"section", "select", "summary", "table", "tbody", "textarea", "tfoot", "thead", "title", "tr", "ul", "xmp")

// dropped are the elements whose content a browser does not show. The tokenizer returns it, without markup, as one
// token.
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

// html writes the text of a page.
func (w *writer) html(page []byte) {
	t := tokens{Tokenizer: html.NewTokenizer(bytes.NewReader(page)), rest: page}
	drop := false
	for !w.done {
		rest := t.rest
		kind, name := t.next()
		switch kind {
		case html.ErrorToken: // the end; reading memory has no other error
			return
		case html.TextToken:
			if !drop {
				w.decoded(t.Text(), rest[:len(rest)-len(t.rest)], len(page)-len(rest), decodeHTML)
			}
		}
		drop = false
		if name == "" {
			continue
		}
		end := kind == html.EndTagToken
		drop = !end && dropped[name]
		if end {
			w.leave(name)
		}
		w.layOut(name, end, breaks[name])
		if !end {
			w.enter(name)
		}
	}
}

// longTag is the size from which a tag's attributes are not stored: they may take ten times its bytes, and the
// tokenizer processes as much memory again for each later tag.
const longTag = 64 << 10

// tokens reads the tokens of a page.
type tokens struct {
	*html.Tokenizer
	rest   []byte // rest of the page
	inside bool   // the next token is the content of a dropped or unmarked element
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
	if long { // read it as an end tag, whose attributes are not stored
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
