package job

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/records"
)

// looks detects sampled texts that are probably not meant to be compared: numbers, dates, repeated values, or markup.
type looks struct {
	texts   int64
	markup  examples // texts that begin like HTML or XML
	columns []columnLooks
}

// columnLooks counts what the values of a text column look like.
type columnLooks struct {
	values   int64
	figures  examples // numbers and dates
	repeated examples // values that equal an earlier one
	known    map[hash.Sum128]struct{}
}

// examples counts values, and keeps the first different ones.
type examples struct {
	n     int64
	first []string
}

const (
	mostExamples = 3
	exampleBytes = 60
	// leastLooks is the minimum number of values to judge a column by, and alikeLooks how many in ten must look alike. For
	// markup fewer texts suffice: what pages have in common is in each of them.
	leastLooks  = 10
	alikeLooks  = 9
	markupLooks = 1
	// mostLooks limits the time to parse dates, and the memory for hashes.
	mostLooks = 1 << 14
)

func (e *examples) add(value []byte) {
	e.n++
	if len(e.first) == mostExamples {
		return
	}
	shown := string(value)
	if len(value) > exampleBytes {
		shown = strings.ToValidUTF8(string(value[:exampleBytes]), "") + "…"
	}
	if !slices.Contains(e.first, shown) {
		e.first = append(e.first, shown)
	}
}

// listed returns the list of quoted examples.
func (e *examples) listed() string {
	quoted := make([]string, len(e.first))
	for i, value := range e.first {
		quoted[i] = fmt.Sprintf("%q", value)
	}
	return strings.Join(quoted, ", ")
}

// add adds a text, whose columns end at the offsets ends.
func (l *looks) add(text, ends []byte) {
	l.texts++
	if beginsAsMarkup(text) {
		l.markup.add(bytes.TrimSpace(text))
	}
	for i, from := 0, 0; ; i++ {
		if i == len(l.columns) {
			l.columns = append(l.columns, columnLooks{known: map[hash.Sum128]struct{}{}})
		}
		end, n := binary.Uvarint(ends)
		if n <= 0 {
			l.columns[i].add(text[from:])
			return
		}
		l.columns[i].add(text[from:end])
		ends, from = ends[n:], int(end)+1
	}
}

func (c *columnLooks) add(value []byte) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || c.values == mostLooks {
		return
	}
	c.values++
	if isFigure(value) {
		c.figures.add(value)
	}
	sum := hash.Text(value)
	if _, known := c.known[sum]; known {
		c.repeated.add(value)
	}
	c.known[sum] = struct{}{}
}

// longestFigure exceeds the length of any number or date.
const longestFigure = 40

// layouts lists date layouts of package time.
var layouts = []string{
	time.RFC3339, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04", time.DateOnly,
	"2006/01/02 15:04:05", "2006/01/02", "02/01/2006", "01/02/2006", "02.01.2006", "02.01.2006 15:04:05", time.TimeOnly,
	time.RFC1123, time.RFC1123Z, time.RFC850, time.RFC822, time.RFC822Z, time.ANSIC, time.UnixDate, time.RubyDate,
	"2 Jan 2006", "Jan 2, 2006", "2 January 2006", "January 2, 2006",
}

// isFigure reports whether a value is a number or a date.
func isFigure(value []byte) bool {
	if len(value) > longestFigure || !bytes.ContainsAny(value, "0123456789") {
		return false
	}
	if codec.Untyped(value).Kind == codec.NumberValue {
		return true
	}
	return slices.ContainsFunc(layouts, func(layout string) bool {
		_, err := time.Parse(layout, string(value))
		return err == nil
	})
}

// beginsAsMarkup reports whether a text begins with a declaration or comment of HTML or XML, or is enclosed in tags.
func beginsAsMarkup(text []byte) bool {
	text = bytes.TrimSpace(text)
	if len(text) < 2 || text[0] != '<' {
		return false
	}
	for _, begin := range []string{"<!doctype ", "<?xml ", "<!--"} {
		if len(text) > len(begin) && strings.EqualFold(string(text[:len(begin)]), begin) {
			return true
		}
	}
	name := text[1:]
	letter := name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z'
	return letter && text[len(text)-1] == '>' && utf8.Valid(name[:min(len(name), exampleBytes)]) &&
		bytes.IndexByte(name, '<') > bytes.IndexByte(name, '>')
}

// warnings returns warnings about text columns, named as in --text, and texts that look wrong. plain is the format if
// it has no columns; then the wrong format may be the cause. stripped means that markup is not compared.
func (l *looks) warnings(text []string, plain string, stripped bool) (all []string) {
	for i := range l.columns {
		c := &l.columns[i]
		if c.values < leastLooks || plain != "" || i >= len(text) {
			continue
		}
		switch {
		case c.figures.n*10 >= c.values*alikeLooks:
			all = append(all, fmt.Sprintf("--text %s: %s of %s sampled values are numbers or dates, such as "+
				"%s; name the text column",
				text[i], records.Count(c.figures.n), records.Count(c.values), c.figures.listed()))
		case c.repeated.n*10 >= c.values*alikeLooks:
			all = append(all, fmt.Sprintf("--text %s: %s of %s sampled values equal an earlier one, such as %s; if these are "+
				"not the texts to compare, name the text column",
				text[i], records.Count(c.repeated.n), records.Count(c.values), c.repeated.listed()))
		}
	}
	way := "add --normalize strip-markup, which compares only visible text"
	if plain == "files" {
		way = "use --format html or xml, which compare only visible text"
	}
	if !stripped && l.markup.n > 1 && l.markup.n*10 >= l.texts*markupLooks {
		all = append(all, fmt.Sprintf("%s of %s sampled texts begin like HTML or XML, such as %s: tags, styles and scripts "+
			"count as text, so pages that share a template count as near-duplicates; %s", records.Count(l.markup.n),
			records.Count(l.texts), l.markup.listed(), way))
	}
	return all
}
