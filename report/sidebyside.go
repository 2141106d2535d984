package report

import (
	"fmt"
	"math/bits"
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
	for _, line := range terminal.Wrap(fmt.Sprintf("for example, %s similar (%s):", share(e.Pair.Similarity),
		inCommon(e.Pair, run.Parameters.Compare)), out.width) {
		out.printf("%s\n", line)
	}
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
		return fmt.Sprintf("%d shingles shared, of %d and %d", p.Shared, p.SizeA, p.SizeB)
	default:
		return fmt.Sprintf("%d of %d shingles shared", p.Shared, p.SizeA+p.SizeB-p.Shared)
	}
}

// columns prints the window on the texts of a pair in two columns.
func columns(out *printer, e *records.Example) {
	width := (out.width - 2*margin) / 2
	a, b := window(strings.Fields(e.TextA), strings.Fields(e.TextB))
	commonA, commonB := common(a, b)
	left, right := column(a, commonA, width), column(b, commonB, width)
	row := func(left, right cell) {
		pad := strings.Repeat(" ", max(0, width-left.width))
		out.printf("%*s%s\n", margin, "", strings.TrimRight(left.text(out, onlyLeft)+pad+strings.Repeat(" ", margin)+
			right.text(out, onlyRight), " "))
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

// A cell is one line of a column: words, some of them marked.
type cell struct {
	words  []string
	marked []bool
	width  int
}

func plain(text string) cell {
	return cell{[]string{text}, []bool{false}, utf8.RuneCountInString(text)}
}

// Colours of marked words on a terminal: red on the left, green on the right, as in diff.
const (
	onlyLeft  = terminal.Red
	onlyRight = terminal.Green
)

// text returns the line, with its marked words in a colour if the printer uses colours.
func (c cell) text(out *printer, color string) string {
	if !out.colors {
		return strings.Join(c.words, " ")
	}
	shown := make([]string, len(c.words))
	for i, word := range c.words {
		if shown[i] = word; c.marked[i] {
			shown[i] = color + word + terminal.Reset
		}
	}
	return strings.Join(shown, " ")
}

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

// common marks the words of a longest common subsequence.
//
// A row has one bit per j, which says whether the longest subsequence of a[i:] and b[j:] is longer than that of a[i:]
// and b[j+1:]. A row follows from the one below it, 64 bits at a time (Hyyrö 2004, "Bit-parallel LCS-length computation
// revisited").
func common(a, b []string) (inA, inB []bool) {
	numbers := make(map[string]int32, len(a)+len(b))
	numbersA, numbersB := numbered(a, numbers), numbered(b, numbers)
	width := len(b)/64 + 1
	places := make([]uint64, len(numbers)*width) // positions of each number in b; b[j] is at bit len(b)-1-j
	for j, number := range numbersB {
		at := len(b) - 1 - j
		places[int(number)*width+at/64] |= 1 << (at % 64)
	}
	rows := make([]uint64, (len(a)+1)*width) // the bits are inverted
	row := func(i int) []uint64 { return rows[i*width:][:width] }
	for k := range row(len(a)) {
		row(len(a))[k] = ^uint64(0)
	}
	for i := len(a) - 1; i >= 0; i-- {
		of, below, carry := places[int(numbersA[i])*width:], row(i+1), uint64(0)
		for k, v := range below {
			both := v & of[k]
			var sum uint64
			sum, carry = bits.Add64(v, both, carry)
			row(i)[k] = sum | v&^both
		}
	}
	// longest returns the length of the longest subsequence of a[i:] and b[j:].
	longest := func(i, j int) (n int) {
		at := len(b) - j
		for _, v := range row(i)[:at/64] {
			n += 64 - bits.OnesCount64(v)
		}
		return n + bits.OnesCount64(^row(i)[at/64]&(1<<(at%64)-1))
	}
	inA, inB = make([]bool, len(a)), make([]bool, len(b))
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case numbersA[i] == numbersB[j]:
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

// numbered returns a number for each word; equal words have the same number.
func numbered(words []string, numbers map[string]int32) []int32 {
	of := make([]int32, len(words))
	for i, word := range words {
		n, ok := numbers[word]
		if !ok {
			n = int32(len(numbers))
			numbers[word] = n
		}
		of[i] = n
	}
	return of
}

// column wraps words to the column's width, with words that are not common in brackets.
func column(words []string, common []bool, width int) (lines []cell) {
	var last cell
	for i, word := range words {
		if !common[i] {
			word = "[" + word + "]"
		}
		word = clip(word, width)
		n := utf8.RuneCountInString(word)
		if last.width > 0 && last.width+1+n > width {
			lines = append(lines, last)
			last = cell{}
		}
		if last.width > 0 {
			last.width++
		}
		last.words, last.marked, last.width = append(last.words, word), append(last.marked, !common[i]), last.width+n
	}
	return append(lines, last)
}

// clip shortens a text to the width of a column, and removes characters on which a terminal would act.
func clip(s string, width int) string { return terminal.Cut(terminal.Mask(s), width) }
