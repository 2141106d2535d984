package report

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/internal/terminal"

	"github.com/neardup/neardup/records"
)

var colour = regexp.MustCompile("\x1b\\[(31|32|0)m")

// A terminal only adds colours, and no part of a text can act as one.
func TestColours(t *testing.T) {
	words := rapid.SliceOf(rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "the", "\x1b[31mred\x1b[0m"}), rapid.String()))
	rapid.Check(t, func(t *rapid.T) {
		e := &records.Example{TextA: strings.Join(words.Draw(t, "a"), " "), TextB: strings.Join(words.Draw(t, "b"), " ")}
		var plain, coloured strings.Builder
		columns(&printer{w: &plain, width: 60}, e)
		columns(&printer{w: &coloured, width: 60, colors: true}, e)
		if strings.Contains(plain.String(), "\x1b") {
			t.Fatalf("%q", plain.String())
		}
		if got := colour.ReplaceAllString(coloured.String(), ""); got != plain.String() {
			t.Fatalf("without colours %q, want %q", got, plain.String())
		}
		Differing(e)
		if marked := strings.Count(coloured.String(), terminal.Reset); marked != len(e.OnlyA)+len(e.OnlyB) {
			t.Fatalf("%d words are coloured, and %d differ", marked, len(e.OnlyA)+len(e.OnlyB))
		}
	})
}

// TestCommon compares the marks with the lengths of longest common subsequences, computed by definition.
func TestCommon(t *testing.T) {
	words := func(t *rapid.T, name string) []string {
		n := rapid.IntRange(0, 200).Draw(t, "length")
		return rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), n, n).Draw(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := words(t, "a"), words(t, "b")
		longest := make([][]int, len(a)+1) // of a[i:] and b[j:]
		for i := range longest {
			longest[i] = make([]int, len(b)+1)
		}
		for i, word := range slices.Backward(a) {
			for j := len(b) - 1; j >= 0; j-- {
				if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); word == b[j] {
					longest[i][j] = longest[i+1][j+1] + 1
				}
			}
		}
		inA, inB := common(a, b)
		var sameA, sameB []string
		for i, in := range inA {
			if in {
				sameA = append(sameA, a[i])
			}
		}
		for j, in := range inB {
			if in {
				sameB = append(sameB, b[j])
			}
		}
		if !slices.Equal(sameA, sameB) || len(sameA) != longest[0][0] {
			t.Fatalf("%q and %q are common, of %d", sameA, sameB, longest[0][0])
		}
		// Of several subsequences, it is the one that skips words of a first.
		for i, j := 0, 0; i < len(a) && j < len(b); {
			switch {
			case a[i] == b[j]:
				if !inA[i] || !inB[j] {
					t.Fatalf("%d and %d are the same, and not marked", i, j)
				}
				i, j = i+1, j+1
			case longest[i+1][j] >= longest[i][j+1]:
				i++
			default:
				j++
			}
		}
	})
}
