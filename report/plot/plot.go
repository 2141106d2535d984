// Package plot draws charts as SVG: from values, it makes one self-contained picture.
//
// The picture needs no script, font or file. It is dark if the reader's screen is, and its series differ in pattern,
// dash and marker as well as in colour. It may stand alone or in a page, together with other pictures: equal names in
// them have equal definitions.
package plot

import (
	"cmp"
	_ "embed" // the style sheet
	"io"
	"math"
)

// Figure is one picture with charts below one another.
type Figure struct {
	Title       string // the heading, and the name that a screen reader announces
	Description string // what the picture shows, for readers who cannot see it
	Charts      []Chart
	// Width is the width of the picture, unless its charts need more; 0: the charts are 640 wide.
	Width float64
}

// Chart is a chart of a figure: Bars, Histogram or Lines.
type Chart interface{ panel() panel }

// Axis is one side of a chart. Infinite values, NaN and values beyond ±1e300 have no place on it.
type Axis struct {
	Label string
	Log   bool // powers of ten; values below 1e-300 have no place
	// From and To are a range that is always shown, if To > From. Values extend it.
	From, To float64
}

// Series is a sequence of values with a name, which may be empty for the only series.
type Series struct {
	Name   string
	Values []float64
	// Low and High are the ends of error bars, as long as Values; or nil. A value with an end that has no place has no
	// error bar.
	Low, High []float64
}

// at returns value i and the ends of its error bar; NaN for what is missing.
func (s Series) at(i int) (value, low, high float64) {
	get := func(values []float64) float64 {
		if i < len(values) {
			return values[i]
		}
		return math.NaN()
	}
	return get(s.Values), get(s.Low), get(s.High)
}

// Bars is a chart of groups of bars, each with one bar per series. Bars begin at zero, or at the lower end of a
// logarithmic axis. The more bars, the wider the figure.
type Bars struct {
	Title  string
	Groups []string
	X      string // label of the groups
	Y      Axis
	Series []Series // Values[i] is the value of Groups[i]
}

// Mark is a vertical line with a name at a position of the X axis. It extends the axis.
type Mark struct {
	At   float64
	Name string
}

// Histogram is a chart of bars over ranges of the X axis: Counts[i] is the count from Edges[i] to Edges[i+1].
type Histogram struct {
	Title  string
	X, Y   Axis
	Edges  []float64 // ascending, one more than Counts
	Counts []float64
	Marks  []Mark
}

// Lines is a chart of lines.
type Lines struct {
	Title  string
	X, Y   Axis
	Series []Line
	Marks  []Mark
}

// Line is a series with positions: Values[i] is at X[i]. The line is interrupted where a value has no place.
type Line struct {
	X []float64
	Series
}

// Sizes in units of the view box, which are pixels unless the picture is scaled.
const (
	usualWidth = 640.0 // default width of the charts
	areaHeight = 240.0
	rightSide  = 52.0 // room for half of an axis' last label
	margin     = 12.0
	lineHeight = 20.0
	fontSize   = 12.0
	titleSize  = 16.0
	longest    = 140.0 // maximum length of tilted labels
)

//go:embed style.css
var style string

// SVG draws f. Its output depends on f alone, and is well-formed whatever the texts and values are; errors are those of
// w.
func SVG(w io.Writer, f Figure) error {
	var panels []panel
	beside, needed, series := 0.0, 0.0, 0 // beside is the space left of all areas if no labels are tilted
	for _, chart := range f.Charts {
		p := chart.panel()
		panels = append(panels, p)
		beside, needed, series = max(beside, p.ticksRoom()), max(needed, p.width), max(series, len(p.names))
	}
	inner := usualWidth
	if f.Width > 0 {
		inner = f.Width - beside - rightSide
	}
	left := beside
	for i := range panels {
		p := &panels[i]
		p.width = max(p.width, inner)
		left = max(left, p.left())
	}
	if f.Width > 0 {
		inner = f.Width - left - rightSide
	}
	inner = max(inner, needed)
	width := left + inner + rightSide
	body := &canvas{ids: "plot"}
	if f.Width > 0 {
		body.ids += number(f.Width)
	}
	y := margin
	if f.Title != "" {
		body.text(label{text: fitting(f.Title, width-2*margin, titleSize), class: "title", x: margin, y: y + titleSize})
		y += titleSize + margin
	}
	for _, p := range panels {
		y = p.draw(body, area{left, y, inner, areaHeight})
	}
	height := y + margin

	c := &canvas{ids: body.ids}
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s"`, number(width), number(height))
	if f.Width > 0 && width > f.Width {
		c.printf(` style="min-width:%spx"`, number(width)) // for a picture that is scaled to a column
	}
	c.printf(">")
	c.element("title", cmp.Or(clean(f.Title), "Chart"))
	if f.Description != "" {
		c.element("desc", clean(f.Description))
	}
	c.printf("<style>%s</style>\n", style)
	c.define(series)
	c.printf(`<rect class="paper" width="%s" height="%s"/>`+"\n", number(width), number(height))
	c.WriteString(body.String())
	c.printf("</svg>\n")
	_, err := io.WriteString(w, c.String())
	return err
}
