package readertest_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/reading/readertest"
)

// TestGroups checks that a format which is not a stream of bytes passes the suite, too.
func TestGroups(t *testing.T) {
	for name, sizes := range map[string][]int{"empty": nil, "one": {1}, "some": {2, 0, 3, 1}, "many": slices.Repeat([]int{4}, 10)} {
		t.Run(name, func(t *testing.T) {
			var groups [][]readertest.Row
			var records []codectest.Planted
			for _, n := range sizes {
				var rows []readertest.Row
				for range n {
					i := len(records)
					row := readertest.Row{ID: fmt.Sprint(i), Text: strings.Repeat("text ", i)}
					if i%3 == 2 {
						row = readertest.Row{ID: fmt.Sprint(i), List: true}
					}
					rows = append(rows, row)
					planted := codectest.Planted{Position: int64(i), Raw: row.String(), Unreadable: row.List}
					if !row.List {
						planted.ID, planted.Text = row.ID, row.Text
					}
					records = append(records, planted)
				}
				groups = append(groups, rows)
			}
			var stored bytes.Buffer
			if err := readertest.WriteGroups(&stored, groups...); err != nil {
				t.Fatal(err)
			}
			readertest.Run(t, readertest.Groups{}, readertest.Case{
				Format: "groups", Stored: stored.Bytes(), Records: records, Content: readertest.ReadGroups,
				Without: func(dropped []int64) string {
					var b strings.Builder
					for _, r := range records {
						if !slices.Contains(dropped, r.Position) {
							b.WriteString(r.Raw)
						}
					}
					return b.String()
				},
			})
		})
	}
}
