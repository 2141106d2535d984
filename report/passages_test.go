package report

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/records"
)

// The parts of a marked text together are the text, and the marked ones are the passages.
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

// Of passages whose first places overlap, only the one that occurs most often is listed.
func TestMostRepeatedAreSeparate(t *testing.T) {
	row := func(source string, position, start, end int64) records.Repeat {
		return records.Repeat{Source: source, Position: position, Start: start, End: end}
	}
	all := []records.Repeat{
		row("a", 0, 10, 20), row("a", 0, 15, 30), row("a", 0, 20, 30), row("a", 7, 10, 20), row("b", 0, 0, 90), row("a", 0, 0, 10),
	}
	broken := errors.New("broken")
	rows := func(yield func(records.Repeat, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
		yield(records.Repeat{}, broken)
	}
	got, err := separate(rows, 4)
	if want := []records.Repeat{all[0], all[2], all[3], all[4]}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := separate(rows, 9); err != broken { //nolint:errorlint // it is this one
		t.Errorf("%v", err)
	}
}
