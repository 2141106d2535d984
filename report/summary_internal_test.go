package report

import (
	"testing"

	"github.com/neardup/neardup/records"
)

// With --keep none, no document is kept in the place of another.
func TestDifferInNumbersOfNone(t *testing.T) {
	run := &records.Run{Counts: records.Counts{Removed: 2, Numbers: 1}}
	run.Parameters.Keep = []string{"none"}
	const want = "1 of 2 removed documents contains different numbers from the first document of its cluster " +
		"(as in issue 12 and issue 13); --match-numbers would keep both"
	if got := differInNumbers(run); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
