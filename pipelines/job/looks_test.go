package job

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// column returns n values that of makes.
func column(n int, of func(i int) string) (values []string) {
	for i := range n {
		values = append(values, of(i))
	}
	return values
}

// TestLooks: texts that look like something else cause a warning with three of them; others do not.
func TestLooks(t *testing.T) {
	prose := func(i int) string { return fmt.Sprintf("on %d May 2026 the committee met for the %d. time", i%28+1, i) }
	page := func(i int) string { return fmt.Sprintf("\n<!DOCTYPE html><title>%d</title>", i) }
	for name, tt := range map[string]struct {
		plain bool
		texts [][]string // by column
		want  []string   // a part of each warning, in order
	}{
		"texts":           {false, [][]string{column(100, prose)}, nil},
		"numbers":         {false, [][]string{column(50, func(i int) string { return fmt.Sprintf("%d.5e3", i) })}, []string{`--text c0: 50 of 50 sampled values are numbers or dates, such as "0.5e3", "1.5e3", "2.5e3"; name`}},
		"timestamps":      {false, [][]string{column(20, func(i int) string { return fmt.Sprintf("2026-11-02T10:%02d:00.25Z", i) })}, []string{`"2026-11-02T10:00:00.25Z", "2026-11-02T10:01:00.25Z", "2026-11-02T10:02:00.25Z"`}},
		"dates of mail":   {false, [][]string{column(20, func(i int) string { return fmt.Sprintf("Mon, %02d Nov 2026 10:00:00 +0100", i+1) })}, []string{"20 of 20"}},
		"one in ten not":  {false, [][]string{column(20, func(i int) string { return map[bool]string{true: "unknown", false: fmt.Sprint(i)}[i%10 == 0] })}, []string{"18 of 20"}},
		"more are not":    {false, [][]string{column(20, func(i int) string { return map[bool]string{true: prose(i), false: fmt.Sprint(i)}[i%5 == 0] })}, nil},
		"empty ones":      {false, [][]string{column(30, func(i int) string { return map[bool]string{true: " ", false: fmt.Sprint(i)}[i%2 == 0] })}, []string{"15 of 15"}},
		"few":             {false, [][]string{column(9, func(i int) string { return fmt.Sprint(i) })}, nil},
		"equal":           {false, [][]string{column(40, func(i int) string { return []string{"en", "de", "fr", "it"}[i%4] })}, []string{`--text c0: 36 of 40 sampled values equal an earlier one, such as "en", "de", "fr"; if`}},
		"less than equal": {false, [][]string{column(40, func(i int) string { return prose(i % 5) })}, nil},
		"plain":           {true, [][]string{column(20, func(i int) string { return fmt.Sprint(i) })}, nil},
		"second column":   {false, [][]string{column(20, prose), column(20, func(i int) string { return fmt.Sprint(i) })}, []string{"--text c1: 20 of 20"}},
		"long":            {false, [][]string{column(20, func(int) string { return strings.Repeat("ö", 50) })}, []string{`such as "` + strings.Repeat("ö", 30) + `…"; if`}},
		"HTML":            {false, [][]string{column(2, page)}, []string{`2 of 2 sampled texts begin like HTML or XML, such as "<!DOCTYPE html><title>0</title>", "<!DOCTYPE html><title>1</title>": tags, styles and scripts count as text, so pages that share a template count as near-duplicates; add --normalize strip-markup`}},
		"HTML files":      {true, [][]string{column(2, page)}, []string{"; use --format html or xml"}},
		"some HTML":       {false, [][]string{append(column(18, prose), column(2, page)...)}, []string{"2 of 20"}},
		"hardly any":      {false, [][]string{append(column(19, prose), column(2, page)...)}, nil},
		"fragments":       {false, [][]string{column(5, func(i int) string { return fmt.Sprintf("<div class=x><p>%d</p></div>", i) })}, []string{"5 of 5"}},
		"XML":             {false, [][]string{column(5, func(i int) string { return fmt.Sprintf("<?xml version='1.0'?><a>%d</a>", i) })}, []string{"5 of 5"}},
		"chat":            {false, [][]string{column(20, func(i int) string { return fmt.Sprintf("<alice> %d < %d", i, i+1) })}, nil},
		"arrows":          {false, [][]string{column(20, func(i int) string { return fmt.Sprintf("<%d> and <3", i) })}, nil},
	} {
		var l looks
		var names []string
		for i := range tt.texts {
			names = append(names, fmt.Sprintf("c%d", i))
		}
		for i := range tt.texts[0] {
			var text, ends []byte
			for c, values := range tt.texts {
				if c > 0 {
					ends = binary.AppendUvarint(ends, uint64(len(text)))
					text = append(text, ' ')
				}
				text = append(text, values[i]...)
			}
			l.add(text, ends)
		}
		format := ""
		if tt.plain {
			format = "files"
		}
		got := l.warnings(names, format, false)
		if len(got) != len(tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
			continue
		}
		if stripped := l.warnings(names, format, true); strings.Contains(strings.Join(stripped, ""), "begin like HTML") {
			t.Errorf("%s, without markup: %q", name, stripped)
		}
		for i, want := range tt.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q, want %q in it", name, got[i], want)
			}
		}
	}
}
