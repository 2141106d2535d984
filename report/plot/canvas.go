package plot

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// canvas is an SVG under construction.
type canvas struct {
	strings.Builder
	ids string // prefix of the ids of patterns and markers: pictures of one width define the same ones
}

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

type point struct{ x, y float64 }

// label is a line of text. It is anchored at x, y and rotated about that point.
type label struct {
	text, class, anchor string
	x, y, turn          float64
}

func (c *canvas) text(l label) {
	if l.text == "" {
		return
	}
	c.printf(`<text x="%s" y="%s"`, number(l.x), number(l.y))
	if l.class != "" {
		c.printf(` class="%s"`, l.class)
	}
	if l.anchor != "" {
		c.printf(` text-anchor="%s"`, l.anchor)
	}
	if l.turn != 0 {
		c.printf(` transform="rotate(%s %s %s)"`, number(l.turn), number(l.x), number(l.y))
	}
	c.printf(">")
	c.escape(clean(l.text))
	c.printf("</text>\n")
}

// element adds an element that contains only text.
func (c *canvas) element(name, text string) {
	c.printf("<%s>", name)
	c.escape(text)
	c.printf("</%s>", name)
}

func (c *canvas) escape(text string) {
	_ = xml.EscapeText(c, []byte(text)) // a Builder never fails
}

// Series differ by hue, and by pattern, dash and marker. The number of these and the number of hues are coprime.
const (
	hues   = 6
	shapes = 7
)

// patterns are the paths drawn over a tile of 8 by 8.
var patterns = [shapes]string{"", "M-2 2L2-2M0 8L8 0M6 10L10 6", "M-2 6L2 10M0 0L8 8M6-2L10 2", "M0 4H8M4 0V8",
	"M0 4H8", "M4 0V8", "M2 2h1M6 6h1"}

var dashes = [shapes]string{"none", "7 4", "2 3", "10 3 2 3", "5 2", "1 4", "12 4"}

// markers are paths around 0 0, at most 5 from it.
var markers = [shapes]string{"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-3.5-3.5H3.5V3.5H-3.5z",
	"M0-4.5L4.5 3.5H-4.5z", "M0-5L5 0L0 5L-5 0z",
	"M-4.5-3.5H4.5L0 4.5z", "M-4 0H4M0-4V4", "M-3.5-3.5L3.5 3.5M-3.5 3.5L3.5-3.5"}

// define defines the patterns of n series, and the markers.
func (c *canvas) define(n int) {
	c.printf("<defs>\n")
	for i := range n {
		c.printf(`<pattern id="%s-s%d" class="k%d" width="8" height="8" patternUnits="userSpaceOnUse"><rect class="solid" width="8" height="8"/><path class="hatch" d="%s"/></pattern>`+"\n",
			c.ids, i, i%hues, patterns[i%shapes])
	}
	for i := range min(n, shapes) {
		c.printf(`<path id="%s-m%d" d="%s"/>`+"\n", c.ids, i, markers[i])
	}
	c.printf("</defs>\n")
}

func (c *canvas) line(series int, points []point) {
	if len(points) < 2 {
		return
	}
	c.printf(`<polyline class="line k%d" stroke-dasharray="%s" points="`, series%hues, dashes[series%shapes])
	for i, p := range points {
		if i > 0 {
			c.printf(" ")
		}
		c.printf("%s,%s", number(p.x), number(p.y))
	}
	c.printf("\"/>\n")
}

func (c *canvas) mark(series int, p point) {
	c.printf(`<use class="mark k%d" href="#%s-m%d" x="%s" y="%s"/>`+"\n", series%hues,
		c.ids, series%shapes, number(p.x), number(p.y))
}

// bar draws a bar of a series between two places on the vertical axis.
func (c *canvas) bar(series int, x, width float64, a area, from, to float64, tip string) {
	top, bottom := a.up(max(from, to)), a.up(min(from, to))
	c.printf(`<rect class="bar k%d" fill="url(#%s-s%d)" x="%s" y="%s" width="%s" height="%s">`,
		series%hues, c.ids, series, number(x), number(top), number(width), number(bottom-top))
	c.element("title", cutTo(tip, tipLength))
	c.printf("</rect>\n")
}

// errorBar draws an error bar at x.
func (c *canvas) errorBar(x float64, s scale, low, high float64, a area) {
	lo, ok := s.place(low)
	hi, there := s.place(high)
	if !ok || !there {
		return
	}
	const half = 3
	c.printf(`<path class="error" d="M%s %sH%[3]sM%[4]s %[2]sV%[5]sM%[1]s %[5]sH%[3]s"/>`+"\n",
		number(x-half), number(a.up(lo)), number(x+half), number(x), number(a.up(hi)))
}

// marks draws vertical lines through an area, each with its name at the upper end, on the side with more room.
func (c *canvas) marks(marks []Mark, s scale, a area) {
	for _, m := range marks {
		at, ok := s.place(m.At)
		if !ok {
			continue
		}
		x := a.across(at)
		c.printf(`<path class="at" d="M%s %sV%s"/>`+"\n", number(x), number(a.y-margin), number(a.up(0)))
		l := label{text: fitting(m.Name, a.width/2, fontSize), x: x + 5, y: a.y - 3}
		if at > .5 {
			l.anchor, l.x = "end", x-5
		}
		c.text(l)
	}
}

// number formats a coordinate, to a hundredth of a pixel.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// tipLength is the maximum length of a tooltip, in characters.
const tipLength = 200

// clean returns text on one line, without control characters and without those that change the writing direction.
func clean(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
	}), " ")
}

// cutTo keeps at most n characters.
func cutTo(text string, n int) string {
	text = clean(text)
	for i := range text {
		if n == 0 {
			return text[:i] + "…"
		}
		n--
	}
	return text
}

// fitting returns text on one line, cut if it would be wider than most.
func fitting(text string, most, size float64) string {
	text = clean(text)
	if width(text, size) <= most {
		return text
	}
	most -= width("…", size)
	for i, r := range text {
		if most -= width(string(r), size); most < 0 {
			return text[:i] + "…"
		}
	}
	return text
}

// width returns an upper bound of text's width, that of wide fonts such as DejaVu Sans: fonts are the reader's own.
func width(text string, size float64) (sum float64) {
	for _, r := range text {
		switch {
		case strings.ContainsRune("mwMW@%—…", r):
			sum += 1
		case strings.ContainsRune("ijl.,:;'|! ()[]ft-", r):
			sum += .42
		case r <= unicode.MaxASCII && unicode.IsUpper(r):
			sum += .8
		case r <= unicode.MaxASCII:
			sum += .65
		case unicode.Is(unicode.Mn, r):
		case r < 0x1100:
			sum += 1
		default:
			sum += 1.2
		}
	}
	return sum * size
}
