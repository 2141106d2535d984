package source

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/io/codec"
)

// surveyed returns the texts that Survey sees, in order.
func surveyed(t *testing.T, in *Inputs, o Options, bytes int64) (texts []string, sampled Sampled) {
	t.Helper()
	sampled, err := Survey(t.Context(), in, o, bytes, func(d *Seen) { texts = append(texts, string(d.Text)) })
	if err != nil {
		t.Fatal(err)
	}
	return texts, sampled
}

// A survey of at least as many bytes as the input has sees all documents once and in order, whatever the number of
// bytes.
func TestSurveyOfAll(t *testing.T) {
	root := t.TempDir()
	o := Options{Format: "lines", Fields: fields, MaxDocument: 1 << 20}
	rapid.Check(t, func(rt *rapid.T) {
		var want []string
		for i := range rapid.IntRange(1, 400).Draw(rt, "documents") {
			want = append(want, fmt.Sprint(i, strings.Repeat("x", rapid.IntRange(0, 9).Draw(rt, "length"))))
		}
		path := write(t, root, "a.txt", []byte(strings.Join(want, "\n")))
		in := inputs(t, o, path)
		for _, bytes := range []int64{in.Bytes(), in.Bytes() + 1, 1 << 40} {
			if texts, sampled := surveyed(t, in, o, bytes); !slices.Equal(texts, want) || sampled.Records != int64(len(want)) {
				rt.Fatalf("of %d bytes, %d asked for: %d of %d documents, %+v", in.Bytes(), bytes, len(texts), len(want), sampled)
			}
		}
	})
}

// A survey of windows sees the same documents where each read is a request, and only reads the windows there. The
// number of records is about right.
func TestSurveyOfWindows(t *testing.T) {
	var lines strings.Builder
	const n = 100_000
	for i := range n {
		fmt.Fprintf(&lines, "%099d\n", i)
	}
	o := Options{Format: "lines", Fields: fields, MaxDocument: 1 << 20}
	local, sampled := surveyed(t, inputs(t, o, write(t, t.TempDir(), "a.txt", []byte(lines.String()))), o, 1<<20)
	if want := (1 << 20) / 100; len(local) < want*9/10 || len(local) > want*11/10 {
		t.Errorf("%d documents are seen, want about %d", len(local), want)
	}
	if sampled.Records < n*9/10 || sampled.Records > n*11/10 {
		t.Errorf("about %d records, there are %d", sampled.Records, n)
	}
	l := newLake(t)
	l.Put("lake", "a.txt", lines.String(), nil)
	in := inputs(t, o, "s3://lake/a.txt")
	l.since()
	remote, _ := surveyed(t, in, o, 1<<20)
	if !slices.Equal(remote, local) {
		t.Errorf("%d documents are seen in the store, %d on a disk", len(remote), len(local))
	}
	if _, bytes, _ := l.since(); bytes > lines.Len() {
		t.Errorf("%d bytes are fetched of %d", bytes, lines.Len())
	}
}

// Columns are those of the file or the record, with their types.
func TestColumnsOfSurvey(t *testing.T) {
	parquet, err := os.ReadFile("../../testdata/parquet/pyarrow-none-1.parquet")
	mustDo(t, err)
	for name, c := range map[string]struct {
		content string
		want    []codec.Column
	}{
		"a.jsonl":   {`{"id":1,"text":"a","tags":["x"],"meta":{"k":1},"ok":true,"none":null}`, []codec.Column{{Name: "id", Type: "number"}, {Name: "text", Type: "string"}, {Name: "tags", Type: "array"}, {Name: "meta", Type: "object"}, {Name: "ok", Type: "boolean"}, {Name: "none", Type: "null"}}},
		"a.csv":     {"id,\"text\"\n1,a\n", []codec.Column{{Name: "id", Type: "text"}, {Name: "text", Type: "text"}}},
		"a.tsv":     {"\xef\xbb\xbfid\ttext\n1\ta\n", []codec.Column{{Name: "id", Type: "text"}, {Name: "text", Type: "text"}}},
		"a.parquet": {string(parquet), []codec.Column{{Name: "id", Type: "string"}, {Name: "text", Type: "string"}}},
	} {
		o := Options{Fields: codec.Fields{Text: []string{"text"}}, MaxDocument: 1 << 20}
		in := inputs(t, o, write(t, t.TempDir(), name, []byte(c.content)))
		seen := false
		_, err := Survey(t.Context(), in, o, 1<<20, func(d *Seen) {
			if columns, err := d.Columns(t.Context(), o); err != nil || !seen && !slices.Equal(columns[:min(len(columns), len(c.want))], c.want) {
				t.Errorf("%s: %v, %v, want %v", name, columns, err, c.want)
			}
			seen = true
		})
		if err != nil || !seen {
			t.Errorf("%s: %v", name, err)
		}
	}
}
