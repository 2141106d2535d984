package plot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// element is an element of a drawn picture.
type element struct {
	name     string
	attr     map[string]string
	text     string
	children []*element
}

// drawn returns the picture of f, and fails if it is not well-formed.
func drawn(t rapid.TB, f Figure) *element {
	t.Helper()
	var b strings.Builder
	if err := SVG(&b, f); err != nil {
		t.Fatal(err)
	}
	root := &element{}
	open := []*element{root}
	for decoder := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return root.children[0]
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		last := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attr: map[string]string{}}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			last.children = append(last.children, e)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			last.text += string(token)
		}
	}
}

// all returns the elements that want accepts: e and all elements below it, except definitions.
func (e *element) all(want func(*element) bool) (found []*element) {
	if e.name == "defs" {
		return nil
	}
	if want(e) {
		found = append(found, e)
	}
	for _, child := range e.children {
		found = append(found, child.all(want)...)
	}
	return found
}

func (e *element) class(name string) []*element {
	return e.all(func(e *element) bool { return slices.Contains(strings.Fields(e.attr["class"]), name) })
}

func (e *element) named(name string) []*element {
	return e.all(func(e *element) bool { return e.name == name })
}

// number returns the value of an attribute.
func (e *element) number(t rapid.TB, name string) float64 {
	v, err := strconv.ParseFloat(e.attr[name], 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		t.Fatalf("%s of %v: %v", name, *e, err)
	}
	return v
}

// box returns the corners of the rectangle that a text covers before rotation, relative to its anchor.
func (e *element) box(t rapid.TB) (corners []point) {
	w, from := width(e.text, fontSize), 0.0
	if e.attr["class"] == "title" {
		w = width(e.text, titleSize)
	}
	switch e.attr["text-anchor"] {
	case "middle":
		from = -w / 2
	case "end":
		from = -w
	}
	x, y := e.number(t, "x"), e.number(t, "y")
	var turn, about, at float64
	if transform := e.attr["transform"]; transform != "" {
		if _, err := fmt.Sscanf(transform, "rotate(%g %g %g)", &turn, &about, &at); err != nil || about != x || at != y {
			t.Fatalf("%s: %v", transform, err)
		}
	}
	sin, cos := math.Sincos(turn * math.Pi / 180)
	for _, p := range []point{{from, 3}, {from + w, 3}, {from, -10}, {from + w, -10}} {
		corners = append(corners, point{x + p.x*cos - p.y*sin, y + p.x*sin + p.y*cos})
	}
	return corners
}

var (
	command    = regexp.MustCompile(`([MHV])(-?[\d.]+)(?: (-?[\d.]+))?`)
	coordinate = regexp.MustCompile(`(-?[\d.]+),(-?[\d.]+)`)
)

// points returns the outermost places that e reaches.
func (e *element) points(t rapid.TB) (points []point) {
	parse := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	switch e.name {
	case "rect":
		if e.attr["x"] == "" {
			return nil
		}
		x, y := e.number(t, "x"), e.number(t, "y")
		w, h := e.number(t, "width"), e.number(t, "height")
		if w < 0 || h < 0 {
			t.Fatalf("a rectangle of %v by %v", w, h)
		}
		return []point{{x, y}, {x + w, y + h}}
	case "use":
		x, y := e.number(t, "x"), e.number(t, "y")
		return []point{{x - 5, y - 5}, {x + 5, y + 5}}
	case "polyline":
		for _, m := range coordinate.FindAllStringSubmatch(e.attr["points"], -1) {
			points = append(points, point{parse(m[1]), parse(m[2])})
		}
	case "path":
		at := point{}
		for _, m := range command.FindAllStringSubmatch(e.attr["d"], -1) {
			switch m[1] {
			case "M":
				at = point{parse(m[2]), parse(m[3])}
			case "H":
				at.x = parse(m[2])
			case "V":
				at.y = parse(m[2])
			}
			points = append(points, at)
		}
	case "text":
		return e.box(t)
	}
	return points
}

// values draws numbers of all kinds, including NaN and infinities.
func values(n int) *rapid.Generator[[]float64] {
	return rapid.SliceOfN(rapid.OneOf(
		rapid.Float64Range(0, 1), rapid.Float64Range(-50, 1e6), rapid.Float64(),
		rapid.SampledFrom([]float64{0, 1, -1, 1e300, -1e300, 1e-300, math.MaxFloat64, 5e-324, 1e15 + 1, math.NaN(), math.Inf(1), math.Inf(-1)}),
	), n, n)
}

var texts = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
	"", "minhash", "</title><script>alert(1)</script>", "\x00\x1b[31m\xff", "نص عربي \u202e", `"'&<>`, "a\nb\tc", strings.Repeat("long label ", 40),
}))

func someSeries(t *rapid.T, n int) Series {
	s := Series{Name: texts.Draw(t, "name"), Values: values(n).Draw(t, "values")}
	if rapid.Bool().Draw(t, "bars") {
		s.Low, s.High = values(n).Draw(t, "low"), values(n).Draw(t, "high")
	}
	return s
}

func axis(t *rapid.T) Axis {
	ends := values(2).Draw(t, "range")
	return Axis{Label: texts.Draw(t, "label"), Log: rapid.Bool().Draw(t, "log"), From: ends[0], To: ends[1]}
}

var figures = rapid.Custom(func(t *rapid.T) Figure {
	f := Figure{Title: texts.Draw(t, "title"), Description: texts.Draw(t, "description")}
	for range rapid.IntRange(0, 3).Draw(t, "charts") {
		n, series := rapid.IntRange(0, 40).Draw(t, "values"), rapid.IntRange(0, 9).Draw(t, "series")
		if rapid.Bool().Draw(t, "bars") {
			b := Bars{Title: texts.Draw(t, "chart"), X: texts.Draw(t, "x"), Y: axis(t), Groups: rapid.SliceOfN(texts, n, n).Draw(t, "groups")}
			for range series {
				b.Series = append(b.Series, someSeries(t, n))
			}
			f.Charts = append(f.Charts, b)
			continue
		}
		l := Lines{Title: texts.Draw(t, "chart"), X: axis(t), Y: axis(t)}
		for range series {
			l.Series = append(l.Series, Line{X: values(n).Draw(t, "x"), Series: someSeries(t, n)})
		}
		f.Charts = append(f.Charts, l)
	}
	return f
})

// Whatever the texts and values are, a picture is well-formed, states what it is, and has nothing outside its view box.
func TestAnyFigure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := drawn(t, figures.Draw(t, "figure"))
		if root.name != "svg" || root.attr["role"] != "img" || root.children[0].name != "title" || root.children[0].text == "" {
			t.Fatalf("%s, role %s", root.name, root.attr["role"])
		}
		w, h := root.number(t, "width"), root.number(t, "height")
		for _, e := range root.all(func(*element) bool { return true }) {
			if !slices.Contains([]string{"svg", "title", "desc", "style", "rect", "path", "polyline", "use", "text"}, e.name) {
				t.Fatalf("an element %s", e.name)
			}
			for _, p := range e.points(t) {
				const rounding = .01
				if !(p.x >= -rounding && p.x <= w+rounding && p.y >= -rounding && p.y <= h+rounding) {
					t.Fatalf("%v of %s %q %v is outside of %v by %v", p, e.name, e.text, e.attr, w, h)
				}
			}
		}
	})
}

// The heights of bars are proportional to their values, from zero. Bars without a place on the axis are missing.
func TestBarsAreProportional(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "groups")
		heights := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-3, 5), rapid.SampledFrom([]float64{0, math.NaN()})), n, n).Draw(t, "values")
		root := drawn(t, Figure{Charts: []Chart{Bars{Groups: make([]string, n), Series: []Series{{Values: heights}}}}})
		bars := root.class("bar")
		highest, scale := 0.0, 0.0
		for _, v := range heights {
			if math.Abs(v) > highest {
				highest = math.Abs(v)
			}
		}
		heights = slices.DeleteFunc(heights, math.IsNaN)
		if len(bars) != len(heights) {
			t.Fatalf("%d bars of %d values", len(bars), len(heights))
		}
		for i, v := range heights {
			if math.Abs(v) == highest && highest > 0 {
				scale = bars[i].number(t, "height") / highest
			}
		}
		for i, v := range heights {
			if got, want := bars[i].number(t, "height"), math.Abs(v)*scale; math.Abs(got-want) > .02 {
				t.Fatalf("a bar of %v is %v high, want %v", v, got, want)
			}
		}
		// All bars stand on one line, or hang from it.
		var line []float64
		for i, v := range heights {
			y := bars[i].number(t, "y")
			if v >= 0 {
				y += bars[i].number(t, "height")
			}
			line = append(line, y)
		}
		if len(line) > 0 && slices.Max(line)-slices.Min(line) > .02 {
			t.Fatalf("bars begin at %v", line)
		}
	})
}

// A bar of a histogram stands on its range of the axis, and its height is proportional to its count.
func TestHistogramIsToScale(t *testing.T) {
	h := Histogram{X: Axis{From: 0, To: 10}, Y: Axis{To: 4}, Edges: []float64{2, 4, 5, 10}, Counts: []float64{4, math.NaN(), 1}, Marks: []Mark{{At: 2, Name: "here"}}}
	root := drawn(t, Figure{Charts: []Chart{h}})
	bars, marks := root.class("bar"), root.class("at")
	if len(bars) != 2 || len(marks) != 1 {
		t.Fatalf("%d bars and %d marks, want 2 and 1", len(bars), len(marks))
	}
	for i, want := range []struct{ width, height float64 }{{.2, 1}, {.5, .25}} {
		if w, h := bars[i].number(t, "width"), bars[i].number(t, "height"); math.Abs(w-want.width*usualWidth) > .02 || math.Abs(h-want.height*areaHeight) > .02 {
			t.Errorf("bar %d is %v wide and %v high", i, w, h)
		}
	}
	if apart := bars[1].number(t, "x") - bars[0].number(t, "x"); math.Abs(apart-.3*usualWidth) > .02 {
		t.Errorf("the bars are %v apart", apart)
	}
	if from := marks[0].attr["d"]; !strings.HasPrefix(from, "M"+bars[0].attr["x"]+" ") {
		t.Errorf("the mark is at %s, its bar at %s", from, bars[0].attr["x"])
	}
	if drawn(t, Figure{Charts: []Chart{Histogram{Edges: []float64{1}, Counts: []float64{3, 4}}}}).class("bar") != nil {
		t.Error("a bar without edges")
	}
}

// A mark widens the axis, and its name is inside the picture.
func TestMarksHaveRoom(t *testing.T) {
	for _, at := range []float64{-5, .2, 7} {
		root := drawn(t, Figure{Charts: []Chart{Lines{X: Axis{To: 1}, Series: []Line{{X: []float64{0, 1}, Series: Series{Values: []float64{0, 1}}}}, Marks: []Mark{{at, "the mark"}}}}})
		texts := root.all(func(e *element) bool { return e.text == "the mark" })
		if len(texts) != 1 || len(root.class("at")) != 1 {
			t.Fatalf("%d names at %v", len(texts), at)
		}
		x, width := texts[0].number(t, "x"), width("the mark", fontSize)
		if texts[0].attr["text-anchor"] == "end" {
			x -= width
		}
		if x < 0 || x+width > root.number(t, "width") {
			t.Errorf("the name of a mark at %v is from %v to %v", at, x, x+width)
		}
	}
}

// On a logarithmic axis, equal factors are equal heights.
func TestLogarithmicBars(t *testing.T) {
	root := drawn(t, Figure{Charts: []Chart{Bars{Groups: make([]string, 6), Y: Axis{Log: true}, Series: []Series{{Values: []float64{1, 10, 100, 1000, 0, -5}}}}}})
	bars := root.class("bar")
	if len(bars) != 4 {
		t.Fatalf("%d bars, want 4", len(bars))
	}
	for i, bar := range bars {
		if got, want := bar.number(t, "height"), areaHeight*float64(i+1)/4; math.Abs(got-want) > .01 {
			t.Errorf("10^%d is %v high, want %v", i, got, want)
		}
	}
}

// A line goes through its values and is interrupted where a value has no place on the axis. A single value gets a
// marker.
func TestLinesAreInterrupted(t *testing.T) {
	nan := math.NaN()
	root := drawn(t, Figure{Charts: []Chart{Lines{X: Axis{To: 10}, Y: Axis{To: 1}, Series: []Line{
		{X: []float64{0, 5, 6, 7, 8, 10}, Series: Series{Values: []float64{0, 1, nan, .5, nan, .25, 9}}},
	}}}})
	lines, marks := root.class("line"), root.class("mark")
	if len(lines) != 1 || len(marks) != 4 {
		t.Fatalf("%d lines, %d markers; want 1 and 4", len(lines), len(marks))
	}
	at := lines[0].points(t)
	if len(at) != 2 || math.Abs(at[0].y-at[1].y-areaHeight) > .01 || math.Abs(at[1].x-at[0].x-usualWidth/2) > .01 {
		t.Errorf("line %v", at)
	}
	if last := marks[3]; math.Abs(last.number(t, "x")-at[0].x-usualWidth) > .01 || math.Abs(at[0].y-last.number(t, "y")-areaHeight/4) > .01 {
		t.Errorf("marker at %s %s, the line begins at %v", last.attr["x"], last.attr["y"], at[0])
	}
}

// An error bar reaches from low to high, and is missing if either is.
func TestErrorBars(t *testing.T) {
	s := Series{Values: []float64{5, 5}, Low: []float64{2, 3}, High: []float64{10, math.Inf(1)}}
	for _, chart := range []Chart{Bars{Groups: []string{"a", "b"}, Series: []Series{s}}, Lines{Y: Axis{To: 1}, Series: []Line{{X: []float64{1, 2}, Series: s}}}} {
		bars := drawn(t, Figure{Charts: []Chart{chart}}).class("error")
		if len(bars) != 1 {
			t.Fatalf("%d error bars, want 1", len(bars))
		}
		var ys []float64
		for _, p := range bars[0].points(t) {
			ys = append(ys, p.y)
		}
		if got := slices.Max(ys) - slices.Min(ys); math.Abs(got-areaHeight*.8) > .01 {
			t.Errorf("%v high, want %v", got, areaHeight*.8)
		}
	}
}

// However many groups there are, their labels do not overlap: upright labels are spaced by their widths, tilted ones by
// the distance of their lines.
func TestLabelsDoNotOverlap(t *testing.T) {
	for _, n := range []int{1, 2, 7, 8, 30, 300} {
		for _, length := range []int{1, 9, 60} {
			groups := make([]string, n)
			for i := range groups {
				groups[i] = strings.Repeat("w", length)
			}
			for _, series := range []int{1, 4} {
				bars := Bars{Groups: groups, Series: make([]Series, series)}
				labels := drawn(t, Figure{Charts: []Chart{bars}}).all(func(e *element) bool { return e.name == "text" && strings.HasPrefix(e.text, "w") })
				for i := range labels[1:] {
					apart := labels[i+1].number(t, "x") - labels[i].number(t, "x")
					if labels[i].attr["transform"] == "" && apart < width(labels[i].text, fontSize) {
						t.Errorf("%d labels of %d, %d series: two are %v apart", n, length, series, apart)
					}
					if labels[i].attr["transform"] != "" && apart*math.Sqrt2/2 < fontSize {
						t.Errorf("%d labels of %d, %d series: two tilted ones are %v apart", n, length, series, apart)
					}
				}
			}
		}
	}
}

var thousands = regexp.MustCompile(`^\d{1,3}(,\d{3})*$`)

// A tick stands where its label says, on any axis. There are some ticks, but not too many.
func TestTicksTellTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(2, 9).Draw(t, "count")
		a := axis(t)
		s := newScale(a, values(4).Draw(t, "values"), count, rapid.Bool().Draw(t, "bars"))
		if len(s.ticks) < 2 || len(s.ticks) > count+3 {
			t.Fatalf("%d ticks, about %d asked", len(s.ticks), count)
		}
		for i, tick := range s.ticks {
			if whole, _, _ := strings.Cut(strings.TrimPrefix(tick.label, "-"), "."); !strings.Contains(whole, "e") && !thousands.MatchString(whole) {
				t.Fatalf("thousands of %s", tick.label)
			}
			v, err := strconv.ParseFloat(strings.ReplaceAll(tick.label, ",", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			at := (v - s.lo) / (s.hi - s.lo)
			if a.Log {
				at = (math.Log10(v) - s.lo) / (s.hi - s.lo)
			}
			if math.Abs(at-tick.at) > 1e-6 || tick.at < 0 || tick.at > 1 || i > 0 && tick.at <= s.ticks[i-1].at {
				t.Fatalf("%s stands at %v, want %v; %+v", tick.label, tick.at, at, s)
			}
		}
	})
}

// Values never lie beyond the axis, and ascend along it.
func TestScaleHasRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(6).Draw(t, "values")
		s := newScale(axis(t), v, 5, rapid.Bool().Draw(t, "bars"))
		slices.Sort(v)
		last := -1.0
		for _, v := range v {
			at, ok := s.place(v)
			if !ok {
				continue
			}
			x := v
			if s.log {
				x = math.Log10(v)
			}
			if exact := (x - s.lo) / (s.hi - s.lo); exact < -1e-9 || exact > 1+1e-9 || at < last {
				t.Fatalf("%v stands at %v after %v; %+v", v, exact, last, s)
			}
			last = at
		}
	})
}

// Texts are unchanged, on one line, and contain no elements.
func TestTextsAreEscaped(t *testing.T) {
	root := drawn(t, Figure{Title: "a <script>alert(1)</script> & \"b\"\nc\x00\u202ed", Charts: []Chart{Bars{Groups: []string{"نص"}, Series: []Series{{Name: "</svg>", Values: []float64{1}}}}}})
	const title = `a <script>alert(1)</script> & "b" c d`
	if root.children[0].text != title || root.class("title")[0].text != title {
		t.Errorf("title %q, heading %q", root.children[0].text, root.class("title")[0].text)
	}
	var found []string
	for _, e := range root.named("text") {
		found = append(found, e.text)
	}
	if !slices.Contains(found, "</svg>") || !slices.Contains(found, "نص") {
		t.Errorf("texts %q", found)
	}
	if tip := root.class("bar")[1].children[0]; tip.name != "title" || tip.text != "</svg>, نص: 1" {
		t.Errorf("a pointer is told %q", tip.text)
	}
}

// The first 42 series look different: a hue is only repeated with another pattern, dash and marker.
func TestSeriesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range hues * shapes {
		looks := fmt.Sprint(i%hues, patterns[i%shapes], dashes[i%shapes], markers[i%shapes])
		if seen[looks] {
			t.Errorf("series %d looks like another", i)
		}
		seen[looks] = true
	}
	for _, kind := range [][shapes]string{patterns, dashes, markers} {
		if kinds := slices.Compact(slices.Sorted(slices.Values(kind[:]))); len(kinds) != shapes {
			t.Errorf("%q are not all different", kind)
		}
	}
}

var color = regexp.MustCompile(`--(\w+):(#\w+)`)

// Contrast with the paper is as WCAG 2.2 requires, in light and dark colours: 4.5 to 1 for texts, 3 to 1 for graphics.
func TestContrast(t *testing.T) {
	light, dark, _ := strings.Cut(style, "@media")
	for _, sheet := range []string{light, dark} {
		paper, told := 0.0, 0
		for _, m := range color.FindAllStringSubmatch(sheet, -1) {
			if m[1] == "paper" {
				paper = luminance(t, m[2])
			}
		}
		for _, m := range color.FindAllStringSubmatch(sheet, -1) {
			least := map[string]float64{"ink": 4.5, "soft": 4.5, "hue": 3}[m[1]]
			a, b := luminance(t, m[2]), paper
			if ratio := (max(a, b) + .05) / (min(a, b) + .05); ratio < least {
				t.Errorf("%s %s: contrast %.2f, want %v", m[1], m[2], ratio, least)
			}
			told++
		}
		if told != 4+hues {
			t.Errorf("%d colours in %s", told, sheet)
		}
	}
}

// luminance returns the relative luminance of WCAG 2.2.
func luminance(t *testing.T, color string) float64 {
	hex := color[1:]
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	sum := 0.0
	for i, weight := range []float64{.2126, .7152, .0722} {
		v, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(v) / 255
		if c <= .04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrorsOfTheWriter(t *testing.T) {
	if err := SVG(full{}, Figure{}); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

func ExampleSVG() {
	err := SVG(io.Discard, Figure{
		Title: "Recall and precision",
		Charts: []Chart{Bars{
			Groups: []string{"minhash", "signatures"},
			Y:      Axis{Label: "share", To: 1},
			Series: []Series{{Name: "recall", Values: []float64{.998, .97}}, {Name: "precision", Values: []float64{1, .91}}},
		}},
	})
	fmt.Println(err)
	// Output: <nil>
}
