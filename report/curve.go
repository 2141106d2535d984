package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report/plot"
)

// curveLabels is the width of the labels beside a drawing.
const curveLabels = 6

// Curve prints the probability with which bands and rows find a pair, and draws it width characters wide.
func Curve(w io.Writer, width int, c *records.Curve) error {
	out := &printer{w: w, width: width}
	out.item("bands × rows", "%d × %d%s", c.Bands, c.Rows, steepest(c))
	if s := c.Sensitive; s != nil {
		out.item("sensitive", "(%s, %s, %s, %s): pairs at distance %[1]s or less are found with probability %[3]s or more, "+
			"and those at %[2]s or more with probability %[4]s or less",
			decimal(s.D1), decimal(s.D2), probability(s.P1), probability(s.P2))
	}
	out.printf("\n")
	drawCurve(out, c, 12, -1)
	out.printf("\nsimilarity  probability\n")
	for i := 10; i < 100; i += 10 {
		p := c.Points[i*(len(c.Points)-1)/100]
		out.printf("%10.1f  %s\n", p.Similarity, probability(p.Probability))
	}
	return out.err
}

// steepest says where the curve is steepest; with one row or one band, that is not between 0 and 1.
func steepest(c *records.Curve) string {
	if c.Bands == 1 || c.Rows == 1 {
		return ""
	}
	return "; the curve is steepest at about " + share(c.Steepest)
}

// drawCurve fills the area below the curve with blocks that are an eighth of a line high. A line and a label below the
// axis mark the similarity mark, unless it is negative.
func drawCurve(out *printer, c *records.Curve, curveRows int, mark float64) {
	const eighths = 8
	columns := out.width - curveLabels - 1
	heights := make([]int, columns)
	for i := range heights {
		at := float64(i) / float64(columns-1) * float64(len(c.Points)-1)
		k := min(int(at), len(c.Points)-2)
		low, high := c.Points[k].Probability, c.Points[k+1].Probability
		heights[i] = int(math.Round((low + (high-low)*(at-float64(k))) * float64(curveRows*eighths)))
	}
	marked := int(math.Round(mark * float64(columns-1)))
	for row := curveRows - 1; row >= 0; row-- {
		label := ""
		if (row+1)*4%curveRows == 0 {
			label = strconv.FormatFloat(float64(row+1)/float64(curveRows), 'f', 2, 64)
		}
		line := make([]rune, columns)
		for i, height := range heights {
			line[i] = []rune(" ▁▂▃▄▅▆▇█")[min(max(height-row*eighths, 0), eighths)]
		}
		if mark >= 0 {
			line[marked] = '│'
		}
		out.printf("%*s\n", curveLabels-1, strings.TrimRight(fmt.Sprintf("%*s │%s", curveLabels-2, label, string(line)), " "))
	}
	out.printf("%*s└%s\n", curveLabels-1, "", strings.Repeat("─", columns))
	ticks := []rune(strings.Repeat(" ", out.width))
	for i := range 6 {
		text := strconv.FormatFloat(float64(i)/5, 'f', 1, 64)
		at := curveLabels + i*(columns-1)/5 - 1
		copy(ticks[min(at, out.width-len(text)):], []rune(text))
	}
	out.printf("%s\n", strings.TrimRight(string(ticks), " "))
	if mark >= 0 {
		text := "▲ --threshold " + decimal(mark)
		if marked > columns/2 { // the text ends at the mark
			text = "--threshold " + decimal(mark) + " ▲"
			out.printf("%*s\n", curveLabels+marked+1, text)
		} else {
			out.printf("%*s%s\n", curveLabels+marked, "", text)
		}
	}
	const title = "Jaccard similarity"
	out.printf("%*s\n", curveLabels+(columns+len(title))/2, title)
}

// probability formats p with enough digits to distinguish it from 0 and from 1.
func probability(p float64) string {
	digits := 4
	if small := min(p, 1-p); small > 0 {
		digits = min(max(digits, 1-int(math.Floor(math.Log10(small)))), 12)
	}
	return strconv.FormatFloat(p, 'f', digits, 64)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// CurvePlot draws the curve as SVG.
func CurvePlot(w io.Writer, c *records.Curve) error {
	line := plot.Line{Series: plot.Series{Name: "probability"}}
	for _, p := range c.Points {
		line.X, line.Values = append(line.X, p.Similarity), append(line.Values, p.Probability)
	}
	series := []plot.Line{line}
	description := fmt.Sprintf("A line: the probability that two documents share a bucket of %d bands of %d rows, by "+
		"their Jaccard similarity%s.", c.Bands, c.Rows, steepest(c))
	if s := c.Sensitive; s != nil {
		series = append(series,
			plot.Line{X: []float64{1 - s.D1}, Series: plot.Series{Name: "d1 = " + decimal(s.D1), Values: []float64{s.P1}}},
			plot.Line{X: []float64{1 - s.D2}, Series: plot.Series{Name: "d2 = " + decimal(s.D2), Values: []float64{s.P2}}})
		description += fmt.Sprintf(" At distance %s it is %s, and at %s it is %s.", decimal(s.D1), probability(s.P1),
			decimal(s.D2), probability(s.P2))
	}
	return plot.SVG(w, plot.Figure{
		Title:       fmt.Sprintf("Finding a pair: %d bands of %d rows", c.Bands, c.Rows),
		Description: description,
		Charts: []plot.Chart{plot.Lines{X: plot.Axis{Label: "Jaccard similarity", To: 1},
			Y: plot.Axis{Label: "probability", To: 1}, Series: series}},
	})
}
