package markup

import (
	"bytes"
	"regexp"

	"golang.org/x/net/html"
)

// headBytes is how far a browser looks for a declaration.
const headBytes = 1 << 10

var (
	inDeclaration = regexp.MustCompile(`^<\?xml\s[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']`)
	inContent     = regexp.MustCompile(`(?i)charset\s*=\s*["']?([A-Za-z0-9._:-]+)`)
)

// Encoding returns the label of the encoding that a page declares, in its XML declaration or in a meta element, or ""
// if there is none. head is the beginning of the page.
func Encoding(head []byte) string {
	head = head[:min(len(head), headBytes)]
	switch {
	case bytes.HasPrefix(head, []byte("<\x00")):
		return "utf-16le"
	case bytes.HasPrefix(head, []byte("\x00<")):
		return "utf-16be"
	}
	if found := inDeclaration.FindSubmatch(bytes.TrimSpace(head)); found != nil {
		return string(found[1])
	}
	for t := html.NewTokenizer(bytes.NewReader(head)); ; {
		switch t.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			if token := t.Token(); token.Data == "meta" {
				if label := ofMeta(token.Attr); label != "" {
					return label
				}
			}
		}
	}
}

// ofMeta returns the label in a meta element.
func ofMeta(attributes []html.Attribute) string {
	var content string
	declares := false
	for _, a := range attributes {
		switch a.Key {
		case "charset":
			return a.Val
		case "content":
			content = a.Val
		case "http-equiv":
			declares = bytes.EqualFold([]byte(a.Val), []byte("content-type"))
		}
	}
	if found := inContent.FindStringSubmatch(content); declares && found != nil {
		return found[1]
	}
	return ""
}
