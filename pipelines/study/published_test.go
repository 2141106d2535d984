package study

import (
	"bytes"
	"strings"
	"testing"

	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

// A published characteristic matrix and its signatures are reproduced as printed. Permutations are orders of the rows:
// a value is the place of the first row that a document has. CRC-32 values are from Python's zlib.
func TestPublishedMatrixAsPrinted(t *testing.T) {
	m := &records.StudyMatrices{Documents: []int{0, 1, 2, 3}, Rows: 3}
	for _, row := range []string{"1010", "1001", "0101", "0101", "0101", "1010", "1010"} {
		s := records.MatrixShingle{Text: "s", Documents: 2, Occurrences: 2}
		for _, mark := range row {
			s.In = append(s.In, int(mark-'0'))
		}
		m.Shingles = append(m.Shingles, s)
	}
	for _, order := range [][]int{{0, 2, 1, 3, 4, 5, 6}, {2, 1, 0, 3, 4, 5, 6}, {2, 3, 0, 1, 4, 5, 6}} {
		places := make([]uint64, len(order))
		for place, row := range order {
			places[row] = uint64(place + 1)
		}
		m.Functions = append(m.Functions, records.MatrixFunction{Values: places})
	}
	sign(m)
	s := &records.Study{Unit: "word", Settings: []records.StudySetting{{Name: "word1"}}, Matrices: m}
	for _, id := range []string{"D1", "D2", "D3", "D4"} {
		s.Documents = append(s.Documents, records.StudiedDocument{ID: id})
	}
	var printed bytes.Buffer
	if err := report.Study(&printed, s); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(printed.String(), "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	got := strings.Join(lines, "\n")
	for _, want := range []string{
		"x shingle documents occurrences D1 D2 D3 D4\n0 s 2 2 1 0 1 0\n1 s 2 2 1 0 0 1\n2 s 2 2 0 1 0 1\n3 s 2 2 0 1 0 1\n4 s 2 2 0 1 0 1\n5 s 2 2 1 0 1 0\n6 s 2 2 1 0 1 0\n",
		"x h1 h2 h3\n0 1 3 3\n1 3 2 4\n2 2 1 1\n",
		"h D1 D2 D3 D4\nh1 1 2 1 2\nh2 2 1 3 1\nh3 3 1 3 1\n",
		"band D1 D2 D3 D4\n1 1_2_3 2_1_1 1_3_3 2_1_1\n",
		"band D1 D2 D3 D4\n1 6c1168ac c7f9cd09 6dd3029b c7f9cd09\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no\n%sin\n%s", want, got)
		}
	}
}
