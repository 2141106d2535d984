// Package edit measures how far apart short strings are, to guess what was meant.
package edit

import "iter"

// Nearest returns which of names wanted was meant for: that of the least distance, of these the first in the order of
// bytes; "" if it resembles none, by more than half of its bytes.
func Nearest(wanted string, names iter.Seq[string]) (nearest string) {
	distance := len(wanted)/2 + 1
	for name := range names {
		if d := Distance(wanted, name); d < distance || d == distance && name < nearest {
			nearest, distance = name, d
		}
	}
	return nearest
}

// Distance returns the least number of code points to insert, to delete or to replace that makes
// a of b (Levenshtein 1965).
func Distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	// row[j] is the distance of what was seen of from to the first j of to.
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range to {
			replace := diagonal
			if x != y {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
