package report

import (
	"reflect"
	"strings"
	"testing"

	"github.com/neardup/neardup/records"
)

// The parts of a marked text are the text, and those that are marked are the passages.
func TestMarkedPartsAreTheText(t *testing.T) {
	long := strings.Repeat("é", pageText/2) + "é end"
	for _, tt := range []struct {
		text     string
		passages []records.Passage
		want     []markedPart
		more     bool
	}{
		{"one two three", []records.Passage{{Start: 4, End: 7, FromID: "x", FromSource: "a.jsonl", FromPosition: 5}}, []markedPart{
			{Text: "one "}, {Text: "two", Marked: true, From: "x", Anchor: "a.jsonl@5"}, {Text: " three"},
		}, false},
		{"one two", []records.Passage{{Start: 0, End: 3}, {Start: 3, End: 7}}, []markedPart{
			{Text: "one", Marked: true}, {Text: " two", Marked: true},
		}, false},
		{"one two", []records.Passage{{Start: 0, End: 5}, {Start: 2, End: 4}, {Start: 4, End: 7}}, []markedPart{ // first places may overlap
			{Text: "one t", Marked: true}, {Text: "wo", Marked: true},
		}, false},
		{long, nil, []markedPart{{Text: long[:pageText]}}, true},
		{"short", []records.Passage{{Start: 0, End: 9}}, nil, true}, // the input has changed
	} {
		got := marked(records.Coverage{}, tt.text, tt.passages)
		if !reflect.DeepEqual(got.Parts, tt.want) || got.More != tt.more {
			t.Errorf("%.20q: %+v, want %+v", tt.text, got, tt.want)
		}
	}
}
