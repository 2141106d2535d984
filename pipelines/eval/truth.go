package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// truth holds known pairs of ids, or the known cluster of each id.
type truth struct {
	kind  string
	pairs [][2]string
	label map[string]string
	ids   []string // the keys of label, in order
}

// all yields the ids that the truth names, in order; ids in several pairs are repeated.
func (t *truth) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, id := range t.ids {
			if !yield(id) {
				return
			}
		}
		for _, pair := range t.pairs {
			if !yield(pair[0]) || !yield(pair[1]) {
				return
			}
		}
	}
}

// strange returns a warning if none of the truth's ids is known in the place where documents are looked up; example is
// an id from there.
func (t *truth) strange(name, where, example string, known func(id string) bool) []string {
	first := ""
	for id := range t.all() {
		if known(id) {
			return nil
		}
		first = cmp.Or(first, id)
	}
	if first == "" {
		return nil
	}
	return []string{fmt.Sprintf("--truth %s: none of its ids, such as %q, is in %s, where ids look like %q; "+
		"check the ids in the file",
		name, first, where, example)}
}

// columns maps each kind of truth to its columns.
var columns = map[string][2]string{records.TruthPairs: {"id_a", "id_b"}, records.TruthClusters: {"id", "cluster"}}

// readTruth reads JSON Lines if the first character is a brace, else CSV.
func readTruth(r io.Reader, name string) (*truth, error) {
	in := bufio.NewReader(r)
	if mark, _ := in.Peek(3); bytes.Equal(mark, []byte("\ufeff")) {
		in.Discard(len(mark)) //nolint:errcheck // it was peeked at
	}
	t := &truth{label: map[string]string{}}
	read := t.readCSV
	if first, _ := in.Peek(1); bytes.Equal(first, []byte("{")) {
		read = t.readLines
	}
	err := read(in)
	if unfit := (*job.UsageError)(nil); errors.As(err, &unfit) { // it already names the flag
		return nil, err
	}
	if err != nil {
		return nil, job.Usage("--truth %s: %w", name, err)
	}
	if t.kind == "" {
		return nil, job.Usage("--truth %s: it is empty; list pairs (id_a and id_b) or clusters (id and cluster)", name)
	}
	return t, nil
}

var errColumns = errors.New("it has neither id_a and id_b (pairs) nor id and cluster (clusters); rename its columns")

// kindOf returns the kind of truth that has these columns.
func kindOf(has func(column string) bool) (string, error) {
	for _, kind := range []string{records.TruthPairs, records.TruthClusters} {
		if has(columns[kind][0]) && has(columns[kind][1]) {
			return kind, nil
		}
	}
	return "", errColumns
}

func (t *truth) readCSV(in io.Reader) error {
	reader := csv.NewReader(in)
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	if t.kind, err = kindOf(func(column string) bool { return slices.Contains(header, column) }); err != nil {
		return err
	}
	a, b := slices.Index(header, columns[t.kind][0]), slices.Index(header, columns[t.kind][1])
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.add(row[a], row[b]); err != nil {
			return err
		}
	}
}

func (t *truth) readLines(in io.Reader) error {
	decoder := json.NewDecoder(in)
	for n := 1; ; n++ {
		var row map[string]json.RawMessage
		err := decoder.Decode(&row)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", n, err)
		}
		kind, err := kindOf(func(column string) bool { return row[column] != nil })
		if err == nil && t.kind != "" && kind != t.kind {
			err = fmt.Errorf("it has %s, but the rows before it have %s; list only pairs or only clusters", kind, t.kind)
		}
		var cells [2]string
		for i := 0; i < len(cells) && err == nil; i++ {
			cells[i], err = value(columns[kind][i], row[columns[kind][i]])
		}
		if err == nil {
			t.kind = kind
			err = t.add(cells[0], cells[1])
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", n, err)
		}
	}
}

// value returns a string, or the digits of a number.
func value(column string, raw json.RawMessage) (text string, err error) {
	if raw[0] == '"' {
		err = json.Unmarshal(raw, &text)
		return text, err
	}
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return "", fmt.Errorf("%s is %s; give a string or a number", column, raw)
	}
	return string(raw), nil
}

func (t *truth) add(a, b string) error {
	if t.kind == records.TruthPairs {
		if a == b {
			return fmt.Errorf("%q is paired with itself; remove the row", a)
		}
		t.pairs = append(t.pairs, [2]string{min(a, b), max(a, b)})
		return nil
	}
	if b == "" {
		return fmt.Errorf("%q has no cluster; remove the row, or name its cluster", a)
	}
	if before, again := t.label[a]; again {
		return fmt.Errorf("%q is in two clusters, %s and %s; remove one row", a, before, b)
	}
	t.label[a], t.ids = b, append(t.ids, a)
	return nil
}
