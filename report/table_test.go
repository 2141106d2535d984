package report

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestTable checks that a table that is too wide gets headings of several lines, or else its last columns further
// below, beside its key.
func TestTable(t *testing.T) {
	short := table{}
	short.head("method, by jaccard", "common with brute-force", "recall")
	short.row("minhash", "127", "1.0000")
	right := table{right: true}
	right.row("x", "name")
	right.row("10", "a")
	members := table{key: 1}
	members.head("similarity", "id", "place")
	members.row("0.8181", "linux/as", "linux.jsonl@70526")
	members.row("this one", "an-id-that-is-longer-than-half", "osx.jsonl@5664")
	for _, c := range []struct {
		table table
		width int
		want  string
	}{
		{short, 100, "method, by jaccard  common with brute-force  recall\nminhash             127                      1.0000\n"},
		{short, 40, "method,  common with  recall\nby       brute-force\njaccard\nminhash  127          1.0000\n"},
		{short, 20, "meth…card  comm…orce\nminhash    127\n\nmeth…card  recall\nminhash    1.0000\n"},
		{right, 100, " x  name\n10     a\n"},
		{members, 45, "similarity  id\n0.8181      linux/as\nthis one    an-id-that…-than-half\n\n" +
			"id                     place\nlinux/as               linux.jsonl@70526\nan-id-that…-than-half  osx.jsonl@5664\n"},
	} {
		if got := c.table.lines(c.width); got != c.want {
			t.Errorf("at %d:\n%swant\n%s", c.width, got, c.want)
		}
	}
}

// TestTableFits checks that, whatever the cells contain, each is printed once, or beside each part if it is the key, in
// lines that fit.
func TestTableFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(1, 8).Draw(t, "columns")
		rows := table{key: rapid.IntRange(0, columns-1).Draw(t, "key"), right: rapid.Bool().Draw(t, "right")}
		cell := rapid.StringMatching(`[a-zé]{1,30}( [a-z]{1,9})?`)
		for i := range rapid.IntRange(1, 5).Draw(t, "rows") {
			cells := rapid.SliceOfN(cell, columns, columns).Draw(t, "cells")
			if i == 0 {
				rows.head(cells...)
			} else {
				rows.row(cells...)
			}
		}
		width := rapid.IntRange(62, 90).Draw(t, "width")
		got := rows.lines(width)
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(line) - 1; n > width {
				t.Fatalf("%d characters in a line of %d:\n%s", n, width, got)
			}
		}
		for i, row := range rows.rows {
			for _, cell := range row {
				for _, word := range strings.Fields(cell) {
					if !rows.heads[i] && !strings.Contains(got, word) && utf8.RuneCountInString(cell) <= (width-gap)/2 {
						t.Fatalf("no %q in\n%s", word, got)
					}
				}
			}
		}
	})
}

// A table that programs read has numbers in digits, without exponents.
func TestCells(t *testing.T) {
	got := cells[any]("a", 2_500_000.0, 0.000025, int64(3), 1e21)
	if want := []string{"a", "2500000", "0.000025", "3", "1" + strings.Repeat("0", 21)}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
