// Package terminal fits what is printed to a screen: its width, and characters that a terminal would act on.
package terminal

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Widths in columns: usual is the maximum, and the width of what is no
// terminal; least is the minimum that Width returns.
const (
	usual = 80
	least = 40
)

// file is an *os.File, or what Output makes of one.
type file interface {
	Stat() (os.FileInfo, error)
	Fd() uintptr
}

// Watched reports whether a person watches w.
func Watched(w io.Writer) bool {
	f, ok := w.(file)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Colours reports whether what is printed on w may be coloured: a
// person watches, and has not set NO_COLOR (no-color.org).
func Colours(w io.Writer) bool {
	return Watched(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Width is how many columns a line on w should have at most, between 40 and 80.
func Width(w io.Writer) int { return max(Columns(w), least) }

// Columns is Width without the minimum, for a line that is written
// over: it must not wrap, however narrow the terminal is.
func Columns(w io.Writer) int {
	if f, ok := w.(file); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
			return min(int(size.Col), usual)
		}
	}
	return usual
}

// Erase returns what clears the current line of the terminal w and puts the cursor
// at its start: an escape code, or spaces where escape codes are not wanted.
func Erase(w io.Writer) string {
	if Colours(w) {
		return "\r\x1b[K"
	}
	return "\r" + strings.Repeat(" ", Columns(w)-1) + "\r"
}

// Mask puts a dot in the place of every character that a terminal would act on or that reorders what stands around
// it: control characters, and Unicode's format characters but for joiners and
// marks that scripts are written with. Bytes that are not UTF-8 become U+FFFD.
func Mask(s string) string { return strings.Map(mask, s) }

// MaskLines is Mask of text in lines, which stay.
func MaskLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return mask(r)
	}, s)
}

// dot stands for what is masked.
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

// Cut shortens s to a number of characters, by an ellipsis in its middle: where an id or a path begins and ends tells
// the most of it.
func Cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	runes := []rune(s)
	end := (width - 1) / 2
	return string(runes[:width-1-end]) + "…" + string(runes[len(runes)-end:])
}

// Wrap breaks a text at blanks into lines of at most width characters; a longer word has a line of its own.
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
