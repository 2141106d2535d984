// Package terminal adapts output to a terminal: its width, and characters that a terminal would interpret.
package terminal

import (
	"cmp"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Widths in columns: usual is the maximum, and the width if there is no terminal; least is the minimum that Width
// returns.
const (
	usual = 80
	least = 40
)

// file is an *os.File, or the result of Output.
type file interface {
	Stat() (os.FileInfo, error)
	Fd() uintptr
}

// Watched reports whether w is a terminal.
func Watched(w io.Writer) bool {
	_, err := size(w)
	return err == nil
}

// size returns the size of a terminal, and an error for other files and devices.
func size(w io.Writer) (*unix.Winsize, error) {
	f, ok := w.(file)
	if !ok {
		return nil, unix.ENOTTY
	}
	// Fd makes reads and writes block, so it is only for devices.
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil, cmp.Or(err, error(unix.ENOTTY))
	}
	return unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
}

// Colours reports whether output on w may be coloured: w is a terminal, and NO_COLOR is not set (no-color.org).
func Colours(w io.Writer) bool {
	return Watched(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Width returns the maximum width of lines on w, between 40 and 80 columns.
func Width(w io.Writer) int { return max(Columns(w), least) }

// Columns is Width without the minimum, for a line that is overwritten: it must not wrap, however narrow the terminal
// is.
func Columns(w io.Writer) int {
	if size, err := size(w); err == nil && size.Col > 0 {
		return min(int(size.Col), usual)
	}
	return usual
}

// Erase returns what clears the current line of the terminal w and puts the cursor at its start: an escape code, or
// spaces where escape codes are not wanted.
func Erase(w io.Writer) string {
	if Colours(w) {
		return "\r\x1b[K"
	}
	return "\r" + strings.Repeat(" ", Columns(w)-1) + "\r"
}

// Mask replaces each character that a terminal would interpret, or that reorders the text around it, with a dot:
// control characters, and Unicode's format characters except joiners and marks that scripts need. Bytes that are not
// UTF-8 become U+FFFD.
func Mask(s string) string { return strings.Map(mask, s) }

// MaskLines is Mask for text with line ends, which it keeps.
func MaskLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return mask(r)
	}, s)
}

// dot replaces masked characters.
const dot = '·'

func mask(r rune) rune {
	const nonJoiner, joiner = '\u200c', '\u200d'
	switch {
	case r == nonJoiner || r == joiner || unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return r
	case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
		return dot
	}
	return r
}

// Cut shortens s to width characters, with an ellipsis in the middle: the beginning and the end of an id or a path say
// the most.
func Cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	runes := []rune(s)
	end := (width - 1) / 2
	return string(runes[:width-1-end]) + "…" + string(runes[len(runes)-end:])
}

// Wrap breaks a text at white space into lines of at most width characters; a longer word has a line of its own.
func Wrap(s string, width int) (lines []string) {
	var line strings.Builder
	used := 0
	for _, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		if used > 0 && used+1+n > width {
			lines = append(lines, line.String())
			line.Reset()
			used = 0
		}
		if used > 0 {
			line.WriteByte(' ')
			used++
		}
		line.WriteString(word)
		used += n
	}
	return append(lines, line.String())
}
