package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/records"
)

// matrix is a table of a study, for the terminal, the page and its own file.
type matrix struct {
	Name, Title, Note string
	Head              []string
	rows              [][]string
}

// mostRows is the maximum number of rows of a matrix that are shown; its file has all.
const mostRows = 100

// Shown returns the first rows in visible form.
func (m matrix) Shown() (rows [][]string) {
	for _, row := range m.rows[:min(mostRows, len(m.rows))] {
		var cells []string
		for _, cell := range row {
			cells = append(cells, visible(cell))
		}
		rows = append(rows, cells)
	}
	return rows
}

// More returns how many rows are not shown.
func (m matrix) More() int { return max(0, len(m.rows)-mostRows) }

// visible quotes a text that has an invisible part, such as a trailing space.
func visible(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

func (m matrix) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write(m.Head) // Error returns the error
	_ = out.WriteAll(m.rows)
	return out.Error()
}

func printMatrices(out *printer, all []matrix) {
	for _, m := range all {
		out.printf("\n")
		out.text("%s. %s", m.Title, m.Note)
		rows := table{right: true}
		for _, row := range append([][]string{m.Head}, m.Shown()...) {
			var cells []string
			for _, cell := range row {
				cells = append(cells, terminal.Mask(cell))
			}
			rows.row(cells...)
		}
		rows.print(out)
		if n := m.More(); n > 0 {
			out.printf("  and %s; %s.csv in the output has all\n", plural(n, "more row"), m.Name)
		}
	}
}

// studyMatrices returns the tables that --show-matrices writes.
func studyMatrices(s *records.Study) []matrix {
	from := s.Matrices
	if from == nil {
		return nil
	}
	var ids []string
	for _, d := range from.Documents {
		ids = append(ids, s.Documents[d].ID)
	}
	table := func(name, title, note string, head ...string) matrix {
		return matrix{Name: "matrix-" + name, Title: title, Note: note, Head: head}
	}
	of := func(head ...string) []string { return append(head, ids...) }
	shingles := table("characteristic", "Dictionary and characteristic matrix",
		"x numbers the shingles; 1 marks those of a document", of("x", "shingle", "documents", "occurrences")...)
	permutations := table("permutations", "Permutations", "h(x) of each function: the new number of row x", "x")
	for x, row := range from.Shingles {
		shingles.rows = append(shingles.rows,
			append(cells[any](x, row.Text, row.Documents, row.Occurrences), cells(row.In...)...))
		permutations.rows = append(permutations.rows, cells(x))
	}
	functions := table("functions", "Functions",
		"h(x) = (a·x + b) mod c, where c is the smallest prime greater than the number of shingles", "h", "a", "b", "c")
	signatures := table("signatures", "Signature matrix", "The minimum of h(x) over the rows x where a document has a 1",
		of("h")...)
	for i, f := range from.Functions {
		name := fmt.Sprintf("h%d", i+1)
		functions.rows = append(functions.rows, append([]string{name}, cells(f.A, f.B, f.C)...))
		signatures.rows = append(signatures.rows, append([]string{name}, across(from.Signatures, i)...))
		permutations.Head = append(permutations.Head, name)
		for x, value := range cells(f.Values...) {
			permutations.rows[x] = append(permutations.rows[x], value)
		}
	}
	labels := table("labels", "Labels", "The values of each band, joined by _", of("band")...)
	buckets := table("buckets", "Buckets", "The CRC-32 of each label; equal values in a row form one bucket",
		of("band")...)
	for band := range len(from.Functions) / from.Rows {
		labels.rows = append(labels.rows, append(cells(band+1), across(from.Labels, band)...))
		buckets.rows = append(buckets.rows, append(cells(band+1), across(from.Buckets, band)...))
	}
	tf := table("tf", "Documents × words, tf", "How often each word occurs in each document; one row per word",
		of("word", "documents")...)
	tfIDF := table("tf-idf", "Documents × words, tf-idf",
		"tf · idf, where idf = log2(1 + documents / documents with the word), rounded down to a "+
			"multiple of 1/4096; one row per word",
		of("word", "idf")...)
	for _, word := range from.Words {
		tf.rows = append(tf.rows, append(cells[any](word.Text, word.Documents), cells(word.TF...)...))
		row := []string{word.Text, fmt.Sprintf("%.4f", word.IDF)}
		for _, weight := range word.TFIDF {
			row = append(row, fmt.Sprintf("%.4f", weight))
		}
		tfIDF.rows = append(tfIDF.rows, row)
	}
	return []matrix{shingles, functions, permutations, signatures, labels, buckets, tf, tfIDF}
}

// across returns value i of each document, or a dash for a document without values.
func across[T string | uint64](documents [][]T, i int) (all []string) {
	for _, values := range documents {
		if values == nil {
			all = append(all, "–")
			continue
		}
		all = append(all, fmt.Sprint(values[i]))
	}
	return all
}
