package export

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/records"
)

func written(t interface{ Fatal(...any) }, excel bool, rows ...records.Rejected) string {
	var out bytes.Buffer
	l, err := newLines(&out, columnsOf(reflect.TypeFor[records.Rejected]()), excel)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := l.write(reflect.ValueOf(row)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A reader of CSV gets what was written.
func TestCSV(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, raw := rapid.String().Draw(t, "id"), rapid.SliceOf(rapid.Byte()).Draw(t, "raw")
		row := records.Rejected{Source: rapid.String().Draw(t, "source"), Position: rapid.Int64().Draw(t, "position"), ID: &id, Reason: "no text", Raw: &raw}
		if strings.ContainsRune(row.Source+id, '\r') {
			return // readers of CSV take CR LF for LF
		}
		got, err := csv.NewReader(strings.NewReader(written(t, false, row))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		want := [][]string{
			{"source", "position", "id", "reason", "detail", "raw"},
			{row.Source, strconv.FormatInt(row.Position, 10), id, "no text", "", base64.StdEncoding.EncodeToString(raw)},
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
	if got := written(t, false, records.Rejected{}); !strings.HasSuffix(got, "\n,0,,,,\n") {
		t.Errorf("nulls: %q", got)
	}
}

// A list is JSON; a null is empty, and a list without values is not.
func TestLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l lines
		list := rapid.SliceOf(rapid.String()).Draw(t, "list")
		var back []string
		if cell := l.cell(reflect.ValueOf(list)); json.Unmarshal([]byte(cell), &back) != nil || !slices.Equal(back, list) {
			t.Fatalf("%q becomes %s", list, cell)
		}
	})
	var l lines
	for cell, list := range map[string]any{"": []float64(nil), "[]": []float64{}, "[0.5,1]": []float64{.5, 1}} {
		if got := l.cell(reflect.ValueOf(list)); got != cell {
			t.Errorf("%v becomes %q, want %q", list, got, cell)
		}
	}
}

// No cell for a spreadsheet begins like a formula or exceeds the maximum length, and other text is unchanged.
func TestExcel(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", "a=1": "a=1", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", " =1": "' =1", "＝1": "'＝1",
		"7": "7", "0": "0", "12.5": "12.5", "007": "'007", "1.50": "'1.50", "1e5": "'1e5", "1e999": "'1e999", ".5": "'.5", "123456789012345": "123456789012345",
		"1234567890123456": "'1234567890123456", "1234567890123456789": "'1234567890123456789", "1000000000000000000": "'1000000000000000000", "1.2.3": "1.2.3", "nan": "nan", "7 a": "7 a",
	} {
		if got := guarded(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ \t]{0,2}[=+@-]cmd\|' /C calc'!A0`), rapid.Map(rapid.IntRange(excelCell-3, excelCell+3), func(n int) string { return strings.Repeat("a", n-2) + "𝄞" }))
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		got := written(t, true, records.Rejected{Source: s, Position: 1234567890123456})
		if !strings.HasPrefix(got, "\ufeffsource,") || !strings.HasSuffix(got, ",,,\n") {
			t.Fatalf("%q", got)
		}
		rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(got, "\ufeff"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		cell := rows[1][0]
		if kept := strings.ReplaceAll(s, `"`, `""`); len(s) < excelCell && !strings.Contains(got, kept) {
			t.Fatalf("%q is written as %q", s, got)
		}
		if strings.IndexAny(cell, "=+-@\t") == 0 || len(utf16.Encode([]rune(cell))) > excelCell {
			t.Fatalf("a cell %.50q of %d characters", cell, len(cell))
		}
		if rows[1][1] != "'1234567890123456" { // else it would lose its last digit
			t.Fatalf("a number %q", rows[1][1])
		}
	})
}
