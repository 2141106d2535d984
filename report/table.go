package report

import (
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/terminal"
)

// table prints rows of cells in columns. In files and for other programs, each row is one line. On a terminal, lines
// fit its width: headings are wrapped, and columns without room follow below, beside the key column.
type table struct {
	right bool // align cells to the right
	key   int  // index of the column that identifies a row
	rows  [][]string
	heads []bool // which rows are headings
}

func (t *table) head(cells ...string) {
	t.row(cells...)
	t.heads[len(t.heads)-1] = true
}

func (t *table) row(cells ...string) { t.rows, t.heads = append(t.rows, cells), append(t.heads, false) }

// gap is the space between columns.
const gap = 2

func (t *table) print(p *printer) {
	p.printf("%s", t.lines(p.limit()))
}

// lines returns the text of the table, in lines of at most width characters.
func (t *table) lines(width int) string {
	var b strings.Builder
	rows := t.rows
	if sum(widths(rows)) > width {
		rows = t.wrapped()
	}
	if sum(widths(rows)) <= width {
		t.write(&b, rows)
		return b.String()
	}
	cut := make([][]string, len(t.rows))
	for i, row := range t.rows {
		for _, cell := range row {
			cut[i] = append(cut[i], terminal.Cut(cell, (width-gap)/2))
		}
	}
	columns := widths(cut)
	for next := 0; next < len(columns); {
		var block []int
		used := 0
		if next > 0 {
			b.WriteByte('\n')
			block, used = []int{t.key}, columns[t.key]+gap
		}
		for ; next < len(columns) && (used+columns[next] <= width || len(block) == 0); next++ {
			if next != t.key || len(block) == 0 || block[0] != t.key {
				block, used = append(block, next), used+columns[next]+gap
			}
		}
		var rows [][]string
		for _, row := range cut {
			var some []string
			for _, at := range block {
				if at < len(row) {
					some = append(some, row[at])
				}
			}
			rows = append(rows, some)
		}
		t.write(&b, rows)
	}
	return b.String()
}

// wrapped returns the rows with headings wrapped into as many lines as they need without cutting words.
func (t *table) wrapped() (rows [][]string) {
	var cells [][]string // rows that are not headings
	for i, row := range t.rows {
		if !t.heads[i] {
			cells = append(cells, row)
		}
	}
	columns := append(widths(cells), make([]int, len(t.rows[0]))...)
	for i, row := range t.rows {
		if !t.heads[i] {
			rows = append(rows, row)
			continue
		}
		var lines [][]string
		for at, cell := range row {
			longest := columns[at]
			for word := range strings.FieldsSeq(cell) {
				longest = max(longest, utf8.RuneCountInString(word))
			}
			for n, line := range terminal.Wrap(cell, longest) {
				if n == len(lines) {
					lines = append(lines, make([]string, len(row)))
				}
				lines[n][at] = line
			}
		}
		rows = append(rows, lines...)
	}
	return rows
}

func widths(rows [][]string) (columns []int) {
	for _, row := range rows {
		for at, cell := range row {
			if at == len(columns) {
				columns = append(columns, 0)
			}
			columns[at] = max(columns[at], utf8.RuneCountInString(cell))
		}
	}
	return columns
}

// sum returns the total width of columns.
func sum(columns []int) (width int) {
	for _, w := range columns {
		width += w + gap
	}
	return max(0, width-gap)
}

// write writes rows in columns.
func (t *table) write(b *strings.Builder, rows [][]string) {
	columns := widths(rows)
	for _, row := range rows {
		line := ""
		for at, cell := range row {
			space := strings.Repeat(" ", columns[at]-utf8.RuneCountInString(cell))
			if t.right {
				cell, space = space+cell, ""
			}
			line += cell + space + strings.Repeat(" ", gap)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
