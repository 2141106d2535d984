package plot

import (
	"cmp"
	"fmt"
	"math"
)

// panel is a chart with computed axes.
type panel struct {
	title  string
	names  []string // of the series
	width  float64  // minimum
	x      []tick
	scaled bool // x has the ticks of a scale, some of which may be left without a label
	xLabel string
	y      scale
	yLabel string
	// inside draws the values.
	inside func(c *canvas, a area)
	// sample draws series i for the legend, in a box of 22 by 12.
	sample func(c *canvas, i int, x, y float64)
}

// area is the rectangle in which values are drawn; x, y is its upper left corner.
type area struct{ x, y, width, height float64 }

// across and up convert fractions of the area to coordinates.
func (a area) across(f float64) float64 { return a.x + f*a.width }
func (a area) up(f float64) float64     { return a.y + (1-f)*a.height }

func (b Bars) panel() panel {
	var values []float64
	for _, s := range b.Series {
		values = append(values, s.places(len(b.Groups))...)
	}
	y := newScale(b.Y, values, 5, true)
	groups, series := float64(len(b.Groups)), float64(len(b.Series))
	p := panel{title: b.Title, names: names(b.Series), width: groups * (series*4 + 4),
		xLabel: b.X, y: y, yLabel: b.Y.Label}
	for i, group := range b.Groups {
		p.x = append(p.x, tick{at: (float64(i) + .5) / groups, label: group})
	}
	base, _ := y.place(0)
	p.inside = func(c *canvas, a area) {
		slot := a.width / groups
		width := min(slot*.8/series, 60)
		for i, group := range b.Groups {
			for j, s := range b.Series {
				x := a.across((float64(i)+.5)/groups) + (float64(j)-series/2)*width
				value, low, high := s.at(i)
				if at, ok := y.place(value); ok {
					c.bar(j, x, width*.9, a, base, at, tip(s.Name, group, value))
				}
				c.errorBar(x+width*.45, y, low, high, a)
			}
		}
	}
	p.sample = func(c *canvas, i int, x, y float64) {
		c.printf(`<rect class="bar k%d" fill="url(#%s-s%d)" x="%s" y="%s" width="22" height="12"/>`+"\n",
			i%hues, c.ids, i, number(x), number(y))
	}
	return p
}

func (h Histogram) panel() panel {
	bars := min(len(h.Counts), max(len(h.Edges)-1, 0))
	x, y := newScale(h.X, append(places(h.Marks), h.Edges...), 8, false), newScale(h.Y, h.Counts[:bars], 5, true)
	p := panel{title: h.Title, names: []string{""}, x: x.ticks, scaled: true, xLabel: h.X.Label, y: y, yLabel: h.Y.Label}
	base, _ := y.place(0)
	p.inside = func(c *canvas, a area) {
		for i, count := range h.Counts[:bars] {
			from, ok := x.place(h.Edges[i])
			to, there := x.place(h.Edges[i+1])
			at, has := y.place(count)
			if !ok || !there || !has {
				continue
			}
			c.bar(0, a.across(from), (to-from)*a.width, a, base, at,
				fmt.Sprintf("%.6g to %.6g: %.6g", h.Edges[i], h.Edges[i+1], count))
		}
		c.marks(h.Marks, x, a)
	}
	return p
}

// places returns the positions of marks.
func places(marks []Mark) (at []float64) {
	for _, m := range marks {
		at = append(at, m.At)
	}
	return at
}

func (l Lines) panel() panel {
	var xs, ys []float64
	var series []Series
	for _, line := range l.Series {
		n := min(len(line.X), len(line.Values))
		xs, ys = append(xs, line.X[:n]...), append(ys, line.places(n)...)
		series = append(series, line.Series)
	}
	x, y := newScale(l.X, append(xs, places(l.Marks)...), 8, false), newScale(l.Y, ys, 5, false)
	p := panel{title: l.Title, names: names(series), x: x.ticks, scaled: true, xLabel: l.X.Label, y: y, yLabel: l.Y.Label}
	p.inside = func(c *canvas, a area) {
		for i, line := range l.Series {
			line.draw(c, i, x, y, a)
		}
		c.marks(l.Marks, x, a)
	}
	p.sample = func(c *canvas, i int, x, y float64) {
		c.line(i, []point{{x, y + 6}, {x + 22, y + 6}})
		c.mark(i, point{x + 11, y + 6})
	}
	return p
}

// marked is the approximate number of markers on a line with many values.
const marked = 30

// draw draws line i, with one stroke per run of values that have a place.
func (l Line) draw(c *canvas, i int, x, y scale, a area) {
	n := min(len(l.X), len(l.Values))
	var run []point
	var marks []point
	stroke := func() {
		c.line(i, run)
		for j, p := range run {
			if j%(1+n/marked) == 0 {
				marks = append(marks, p)
			}
		}
		run = nil
	}
	for j := range n {
		value, low, high := l.at(j)
		across, ok := x.place(l.X[j])
		up, there := y.place(value)
		if !ok || !there {
			stroke()
			continue
		}
		run = append(run, point{a.across(across), a.up(up)})
		c.errorBar(a.across(across), y, low, high, a)
	}
	stroke()
	for _, p := range marks {
		c.mark(i, p)
	}
}

// places returns the values for which the axis must have room.
func (s Series) places(n int) (values []float64) {
	for i := range n {
		value, low, high := s.at(i)
		values = append(values, value)
		if !math.IsNaN(low + high) {
			values = append(values, low, high)
		}
	}
	return values
}

func names(series []Series) (names []string) {
	for _, s := range series {
		names = append(names, s.Name)
	}
	return names
}

// ticksRoom returns the space that a panel's vertical axis needs left of its area.
func (p panel) ticksRoom() float64 {
	widest := 0.0
	for _, t := range p.y.ticks {
		widest = max(widest, width(t.label, fontSize))
	}
	return max(margin+lineHeight+widest+8, rightSide)
}

// left returns the space that a panel needs left of its area.
func (p panel) left() float64 {
	if p.tilted() {
		return max(p.ticksRoom(), margin+longest*math.Sqrt2/2)
	}
	return p.ticksRoom()
}

// widestTick returns the width of the widest label below the area.
func (p panel) widestTick() (widest float64) {
	for _, t := range p.x {
		widest = max(widest, width(clean(t.label), fontSize))
	}
	return widest
}

// tilted reports whether the labels below the area are too wide to fit side by side and none can be omitted.
func (p panel) tilted() bool {
	return len(p.x) > 0 && !p.scaled && p.widestTick()+8 > p.width/float64(len(p.x))
}

// draw draws the panel from a.y down, and returns where it ends.
func (p panel) draw(c *canvas, a area) (end float64) {
	full := a.width + rightSide
	if p.title != "" {
		c.text(label{text: fitting(p.title, full, fontSize), class: "head", x: a.x, y: a.y + fontSize})
		a.y += lineHeight
	}
	a.y = p.legend(c, a) + margin
	for _, t := range p.y.ticks {
		y := number(a.up(t.at))
		c.printf(`<path class="rule" d="M%s %sH%s"/>`+"\n", number(a.x), y, number(a.across(1)))
		c.text(label{text: t.label, class: "soft", anchor: "end", x: a.x - 8, y: a.up(t.at) + 4})
	}
	c.text(label{text: fitting(p.yLabel, a.height, fontSize), anchor: "middle",
		x: margin + fontSize, y: a.up(.5), turn: -90})
	p.inside(c, a)
	c.printf(`<path class="axis" d="M%s %sV%sH%s"/>`+"\n", number(a.x), number(a.y), number(a.up(0)), number(a.across(1)))
	below := a.up(0) + p.below(c, a)
	if p.xLabel != "" {
		c.text(label{text: fitting(p.xLabel, a.width, fontSize), anchor: "middle", x: a.across(.5), y: below + fontSize})
		below += lineHeight
	}
	return below + lineHeight
}

// legend draws the names of the series, in rows, and returns where they end.
func (p panel) legend(c *canvas, a area) (end float64) {
	if len(p.names) == 0 || len(p.names) == 1 && p.names[0] == "" {
		return a.y
	}
	const swatch, gap, most = 28, 16, 240
	x := a.x
	for i, name := range p.names {
		name = fitting(name, most, fontSize)
		needs := swatch + width(name, fontSize)
		if x > a.x && x+needs > a.across(1) {
			x, a.y = a.x, a.y+lineHeight
		}
		p.sample(c, i, x, a.y+3)
		c.text(label{text: name, x: x + swatch, y: a.y + fontSize + 1})
		x += needs + gap
	}
	return a.y + lineHeight
}

// below draws the labels below the area, as many as there is room for, and returns their height.
func (p panel) below(c *canvas, a area) float64 {
	if len(p.x) == 0 {
		return margin
	}
	slot, tilted := a.width/float64(len(p.x)), p.tilted()
	every, taken := int(math.Ceil((p.widestTick()+8)/slot)), lineHeight
	if tilted {
		every = int(math.Ceil(lineHeight / slot))
		taken = lineHeight + min(longest, p.widestTick())*math.Sqrt2/2
	}
	for i := 0; i < len(p.x); i += every {
		l := label{text: p.x[i].label, class: "soft", anchor: "middle", x: a.across(p.x[i].at), y: a.up(0) + fontSize + 4}
		if tilted {
			l.text, l.anchor, l.turn = fitting(l.text, longest, fontSize), "end", -45
		}
		c.text(l)
	}
	return taken
}

// tip returns the tooltip of a bar.
func tip(series, group string, value float64) string {
	return cmp.Or(series, "value") + ", " + group + ": " + fmt.Sprintf("%.6g", value)
}
