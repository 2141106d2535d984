package terminal

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Colours of a terminal (SGR), the only escape codes that pass through Output.
const (
	Red   = "\x1b[31m"
	Green = "\x1b[32m"
	Reset = "\x1b[0m"
)

// Output returns a writer to f. All output of a command goes through it: on a terminal it masks, like Mask, what is not
// masked yet, except line ends, tabs and colours. Files and other programs get the bytes unchanged.
func Output(f *os.File) io.Writer {
	if !Watched(f) {
		return f
	}
	return struct {
		file
		io.Writer
	}{f, onScreen(f)}
}

func onScreen(w io.Writer) io.Writer {
	return &masked{w: w, passes: []string{Red, Green, Reset, "\n", "\t"}, mask: mask}
}

// Text returns a writer to w that masks control characters, which HTML does not allow, except white space.
func Text(w io.Writer) io.Writer {
	return &masked{w: w, mask: func(r rune) rune {
		if unicode.IsControl(r) && !strings.ContainsRune("\t\n\f\r", r) {
			return dot
		}
		return r
	}}
}

// masked masks UTF-8 on its way to w.
type masked struct {
	w      io.Writer
	mask   func(rune) rune
	passes []string
	rest   string // the beginning of a character, or of a string that passes
}

func (m *masked) Write(p []byte) (int, error) {
	var out strings.Builder
	text := m.rest + string(p)
	for {
		plain := printable(text)
		out.WriteString(text[:plain])
		if text = text[plain:]; text == "" {
			break
		}
		n, whole := m.passing(text)
		if !whole {
			break
		}
		if n > 0 {
			out.WriteString(text[:n])
		} else {
			var r rune
			r, n = utf8.DecodeRuneInString(text)
			out.WriteRune(m.mask(r))
		}
		text = text[n:]
	}
	m.rest = text
	if _, err := io.WriteString(m.w, out.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// printable returns the length of the printable ASCII at the beginning of text, which no mask changes.
func printable(text string) (n int) {
	for n < len(text) && text[n] >= ' ' && text[n] <= '~' {
		n++
	}
	return n
}

// passing returns the length of the string that passes at the beginning of text. It is whole unless more of text is
// needed to decide.
func (m *masked) passing(text string) (n int, whole bool) {
	for _, pass := range m.passes {
		if strings.HasPrefix(text, pass) {
			return len(pass), true
		}
		if strings.HasPrefix(pass, text) {
			return 0, false
		}
	}
	return 0, utf8.FullRuneInString(text)
}
