package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/records"
)

// The example is a window on both texts: so many words, from a few before the first that
// differs, in two columns.
const (
	windowWords = 90
	leadWords   = 12
	margin      = 2 // of the columns
)

// sideBySide prints a pair in two columns, words that the other text lacks in brackets.
func sideBySide(out *printer, run *records.Run, e *records.Example) {
	of, what := e.Pair.SizeA+e.Pair.SizeB-e.Pair.Shared, "shingles shared"
	if run.Parameters.Compare == "overlap" {
		of, what = e.Pair.SizeA, "bits equal"
	}
	for _, line := range terminal.Wrap(fmt.Sprintf("for example, %s similar (%d of %d %s):", share(e.Pair.Similarity), e.Pair.Shared, of, what), out.width) {
		out.printf("%s\n", line)
	}
	out.printf("\n")
	width := (out.width - 2*margin) / 2
	a, b := strings.Fields(e.TextA), strings.Fields(e.TextB)
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	start = max(0, start-leadWords)
	a, b = window(a, start), window(b, start)
	commonA, commonB := common(a, b)
	left, right := column(a, commonA, width), column(b, commonB, width)
	row := func(left, right string) {
		pad := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(left)))
		out.printf("%*s%s\n", margin, "", strings.TrimRight(left+pad+strings.Repeat(" ", margin)+right, " "))
	}
	row(clip(e.Pair.IDA, width), clip(e.Pair.IDB, width))
	if e.FateA+e.FateB != "" {
		row(e.FateA, e.FateB)
	}
	row(strings.Repeat("─", width), strings.Repeat("─", width))
	for i := range max(len(left), len(right)) {
		row(line(left, i), line(right, i))
	}
}

func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

func window(words []string, start int) []string {
	return words[min(start, len(words)):min(start+windowWords, len(words))]
}

// common marks the words of a longest common subsequence.
func common(a, b []string) (inA, inB []bool) {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	inA, inB = make([]bool, len(a)), make([]bool, len(b))
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			inA[i], inB[j] = true, true
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return inA, inB
}

// column wraps words to the column's width, those that are not common in brackets.
func column(words []string, common []bool, width int) []string {
	shown := make([]string, len(words))
	for i, word := range words {
		if !common[i] {
			word = "[" + word + "]"
		}
		shown[i] = clip(word, width)
	}
	return terminal.Wrap(strings.Join(shown, " "), width)
}

// clip shortens what is wider than a column, and takes out what a terminal would act on.
func clip(s string, width int) string { return terminal.Cut(terminal.Mask(s), width) }
