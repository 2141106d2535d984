package report

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/records"
)

// The example is a window on both texts, in two columns: windowWords words, from a few before the first difference.
const (
	windowWords = 90
	leadWords   = 12
	margin      = 2 // between the columns
)

// sideBySide prints a pair in two columns, with the words that the other text lacks in brackets.
func sideBySide(out *printer, run *records.Run, e *records.Example) {
	out.lines("example pair, similarity %s (%s):", share(e.Pair.Similarity), inCommon(e.Pair, run.Parameters.Compare))
	out.printf("\n")
	columns(out, e)
}

// inCommon says what the documents of a pair have in common, in the terms of a measure.
func inCommon(p records.Pair, measure string) string {
	switch measure {
	case "overlap", overlap:
		return fmt.Sprintf("%d of %d bits equal", p.Shared, p.SizeA)
	case "containment":
		return fmt.Sprintf("%d of the %d shingles of the smaller document", p.Shared, min(p.SizeA, p.SizeB))
	case "cosine":
		return fmt.Sprintf("%d shared shingles; the documents have %d and %d", p.Shared, p.SizeA, p.SizeB)
	default:
		return fmt.Sprintf("%d of %d shingles shared", p.Shared, p.SizeA+p.SizeB-p.Shared)
	}
}

// columns prints the window on the texts of a pair in two columns.
func columns(out *printer, e *records.Example) {
	width := (out.width - 2*margin) / 2
	a, b := window(strings.Fields(e.TextA), strings.Fields(e.TextB))
	commonA, commonB := common(a, b)
	// red on the left and green on the right, as in diff
	left, right := out.column(a, commonA, width, terminal.Red), out.column(b, commonB, width, terminal.Green)
	row := func(left, right cell) {
		pad := strings.Repeat(" ", max(0, width-left.width)+margin)
		out.printf("%*s%s\n", margin, "", strings.TrimRight(left.text+pad+right.text, " "))
	}
	row(plain(clip(e.Pair.IDA, width)), plain(clip(e.Pair.IDB, width)))
	if e.FateA+e.FateB != "" {
		row(plain(clip(e.FateA, width)), plain(clip(e.FateB, width)))
	}
	rule := plain(strings.Repeat("─", width))
	row(rule, rule)
	for i := range max(len(left), len(right)) {
		row(line(left, i), line(right, i))
	}
}

// Differing sets the words in the shown window that only one of the texts of a pair has.
func Differing(e *records.Example) {
	a, b := window(strings.Fields(e.TextA), strings.Fields(e.TextB))
	commonA, commonB := common(a, b)
	e.OnlyA, e.OnlyB = without(a, commonA), without(b, commonB)
}

func without(words []string, common []bool) (left []string) {
	for i, word := range words {
		if !common[i] {
			left = append(left, word)
		}
	}
	return left
}

// A cell is one line of a column; its width is in characters, without colours.
type cell struct {
	text  string
	width int
}

func plain(text string) cell { return cell{text, utf8.RuneCountInString(text)} }

func line(lines []cell, i int) cell {
	if i < len(lines) {
		return lines[i]
	}
	return cell{}
}

// window returns windowWords words of each text, from a few before the first difference.
func window(a, b []string) (partA, partB []string) {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	start = max(0, start-leadWords)
	part := func(words []string) []string {
		return words[min(start, len(words)):min(start+windowWords, len(words))]
	}
	return part(a), part(b)
}

// common marks the words of a longest common subsequence. It takes 64 words of b at a time, as bits of numbers
// (Crochemore et al. 2001).
func common(a, b []string) (inA, inB []bool) {
	width := (len(b) + 63) / 64
	none := make([]uint64, width)
	places := make(map[string][]uint64) // where b has a word, from its end
	for j, word := range b {
		if places[word] == nil {
			places[word] = make([]uint64, width)
		}
		k := len(b) - 1 - j
		places[word][k/64] |= 1 << (k % 64)
	}
	// Bit k tells whether a[i:] has more in common with the last k+1 words of b than with the last k.
	more := make([][]uint64, len(a)+1)
	more[len(a)] = none
	for i, word := range slices.Backward(a) {
		more[i] = make([]uint64, width)
		at, carry := places[word], uint64(0)
		if at == nil {
			at = none
		}
		for k, before := range more[i+1] {
			var sum uint64
			sum, carry = bits.Add64(^before, ^before&at[k], carry)
			more[i][k] = ^(sum | ^before&^at[k])
		}
	}
	longest := func(i, j int) (n int) { // of a[i:] and b[j:]
		last := len(b) - j
		for _, word := range more[i][:last/64] {
			n += bits.OnesCount64(word)
		}
		if last%64 > 0 {
			n += bits.OnesCount64(more[i][last/64] << (64 - last%64))
		}
		return n
	}
	inA, inB = make([]bool, len(a)), make([]bool, len(b))
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			inA[i], inB[j] = true, true
			i, j = i+1, j+1
		case longest(i+1, j) >= longest(i, j+1):
			i++
		default:
			j++
		}
	}
	return inA, inB
}

// column wraps words to the column's width, with words that are not common in brackets and, on a terminal, in a colour.
func (p *printer) column(words []string, common []bool, width int, color string) (lines []cell) {
	var last cell
	for i, word := range words {
		if !common[i] {
			word = "[" + word + "]"
		}
		next := plain(clip(word, width))
		if !common[i] && p.colors {
			next.text = color + next.text + terminal.Reset
		}
		switch {
		case last.width == 0:
			last = next
		case last.width+1+next.width > width:
			lines = append(lines, last)
			last = next
		default:
			last = cell{last.text + " " + next.text, last.width + 1 + next.width}
		}
	}
	return append(lines, last)
}

// clip shortens a text to the width of a column, and removes characters on which a terminal would act.
func clip(s string, width int) string { return terminal.Cut(terminal.Mask(s), width) }
