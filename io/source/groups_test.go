package source

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/reading/readertest"
)

func init() {
	formats = append(formats, format{name: "groups", extensions: []string{".groups"}, reader: readertest.Groups{}, rows: true})
}

// groupsOf returns n rows in groups of perGroup rows. Every third row has no text.
func groupsOf(t *testing.T, n, perGroup int) []byte {
	t.Helper()
	var rows []readertest.Row
	for i := range n {
		rows = append(rows, readertest.Row{ID: fmt.Sprintf("id%d", i), Text: strings.Repeat("text ", 20), List: i%3 == 2})
	}
	var b bytes.Buffer
	if err := readertest.WriteGroups(&b, slices.Collect(slices.Chunk(rows, perGroup))...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGroups checks that everything that reads files of bytes can also read a format whose positions are row numbers.
func TestGroups(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a.groups", groupsOf(t, 100, 10))
	write(t, root, "b.jsonl", []byte(oneDocument))
	write(t, root, "c.groups", groupsOf(t, 31, 7))
	write(t, root, "empty.groups", groupsOf(t, 0, 1))
	o := Options{Fields: fields, MaxDocument: 1000, SplitBytes: 2000}
	in := inputs(t, o, root+"/a.groups", root+"/b.jsonl", root+"/c.groups", root+"/empty.groups")
	if in.Splits.Len() < 8 {
		t.Fatalf("%d splits only", in.Splits.Len())
	}
	out := run(t, in, o)
	dropped := map[int]int{} // by file
	for batch, keys := range out.dropped {
		for _, key := range keys {
			if dropped[key.File()]++; in.Batch(key) != batch {
				t.Errorf("%v is in batch %d", key, batch)
			}
		}
	}
	if len(out.local) != 67+1+21 || !maps.Equal(dropped, map[int]int{0: 33, 2: 10}) {
		t.Errorf("%d documents, dropped %v", len(out.local), out.dropped)
	}
	if want := "a.groups at row 2: text is not a string"; out.facts[0].Note != want {
		t.Errorf("the first unreadable row is %q, want %q", out.facts[0].Note, want)
	}
	for i, row := range out.rejected[0] {
		if row.Reason != "text is not a string" || i < 33 && (row.Source != "a.groups" || row.Position != int64(3*i+2)) {
			t.Errorf("rejected %+v", row)
		}
	}
	var sum int64
	for _, fact := range out.facts {
		sum += fact.Counts[blocks.CountRecords]
	}
	if sum != 132 {
		t.Errorf("%d records, want 132", sum)
	}

	// The second read.
	members := map[int64][]byte{}
	for _, doc := range out.local {
		split := int64(in.Split(doc.Key))
		members[split] = blocks.AppendMember(members[split], blocks.Member{Key: doc.Key, Component: 7, Of: 1})
	}
	var again []blocks.Document
	fetch := &fetchFn{Params: share(t, in, o)}
	for i := range in.Splits.Len() {
		err := fetch.ProcessElement(t.Context(), int64(i), iterate(members[int64(i)]), func(block []byte) { again = append(again, documents(t, block)...) })
		if err != nil {
			t.Fatal(err)
		}
	}
	same := func(a, b blocks.Document) bool {
		return a.Key == b.Key && string(a.ID) == string(b.ID) && string(a.Text) == string(b.Text)
	}
	if !slices.EqualFunc(again, out.local, same) {
		t.Errorf("%d documents come back, want %d", len(again), len(out.local))
	}
	wanted := []blocks.Key{out.local[80].Key, out.local[3].Key, out.local[67].Key}
	var ids []string
	if err := Lookup(t.Context(), in, wanted, o, func(doc blocks.Document) { ids = append(ids, in.ID(doc.Key, doc.ID, doc.HasID)) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"id4", "b.jsonl@0", string(out.local[80].ID)}; !slices.Equal(ids, want) {
		t.Errorf("looked up %v, want %v", ids, want)
	}
	if _, err := Text(t.Context(), in, blocks.NewKey(0, 2), o); err == nil || !strings.Contains(err.Error(), "a.groups at row 2: text is not a string") {
		t.Errorf("the text of an unreadable row: error %v", err)
	}

	// The sample of a small input is all of it.
	texts, sampled := sampleOf(t, in, o)
	if len(texts) != len(out.local) || sampled.Documents != int64(len(out.local)) {
		t.Errorf("a sample of %d texts, %+v", len(texts), sampled)
	}
}

// TestGroupsSample checks that windows of listed bytes become windows of rows, and that shards are filled evenly.
func TestGroupsSample(t *testing.T) {
	const rows = 80_000
	in := inputs(t, Options{Fields: fields, MaxDocument: 1000, SplitBytes: 1 << 20}, write(t, t.TempDir(), "a.groups", groupsOf(t, rows, 500)))
	if in.Bytes() < 2*sampleWindows*sampleBytes {
		t.Fatalf("all of %d bytes are the sample", in.Bytes())
	}
	_, sampled := sampleOf(t, in, Options{Fields: fields, MaxDocument: 1000})
	share := float64(sampleWindows*sampleBytes) / float64(in.Bytes())
	if got := float64(sampled.Documents) / (rows * 2 / 3); got < share*0.95 || got > share*1.05 {
		t.Errorf("a share of %.3f of the documents, want %.3f", got, share)
	}
	if n := sampled.Records; n < rows*95/100 || n > rows*105/100 {
		t.Errorf("an estimate of %d records, want %d", n, rows)
	}
	in.Shards = 8
	counts := make([]int, in.Shards)
	for row := range int64(rows) {
		counts[in.Shard(blocks.NewKey(0, row))]++
	}
	for shard, n := range counts {
		if n < rows/8-1 || n > rows/8+1 {
			t.Errorf("shard %d has %d of %d rows", shard, n, rows)
		}
	}
}

func TestGroupsLimit(t *testing.T) {
	path := write(t, t.TempDir(), "a.groups", groupsOf(t, 100, 10))
	for limit := int64(1); limit < 67; limit++ {
		o := Options{Fields: fields, MaxDocument: 1000, SplitBytes: 3000, Limit: limit}
		in := inputs(t, o, path)
		for name, spans := range map[string][]blocks.Span{"splits": spansOf(&in.Splits), "pieces": spansOf(&in.Pieces)} {
			good := int64(0)
			for _, span := range spans {
				for _, row := range readAll(t, in, span) {
					if !row.Unreadable {
						good++
					}
				}
			}
			if good != limit {
				t.Errorf("--limit %d: %d documents in %s", limit, good, name)
			}
		}
	}
}

// TestLookupOfLong checks that a text too large to be read is not read again as an empty text.
func TestLookupOfLong(t *testing.T) {
	o := Options{Fields: fields, MaxDocument: 10}
	content := `{"text":"` + strings.Repeat("x", o.MaxRecord()) + "\"}\n"
	in := inputs(t, o, write(t, t.TempDir(), "a.jsonl", []byte(content)))
	if _, err := Text(t.Context(), in, 0, o); err == nil || !strings.Contains(err.Error(), "a.jsonl at byte 0: larger than") {
		t.Errorf("error %v", err)
	}
}

// TestGroupsOfNoFile checks that an error names a file that is not in the format it seems to have.
func TestGroupsOfNoFile(t *testing.T) {
	path := write(t, t.TempDir(), "a.groups", []byte("x"))
	for _, splitBytes := range []int64{0, 1} { // its size is wrong, or a cut must be found
		listing, err := Plan(t.Context(), []string{path}, Options{Fields: fields, SplitBytes: splitBytes})
		if err == nil {
			_, err = Sample(t.Context(), listing.Inputs, false, Options{Fields: fields}, nil)
		}
		if err == nil || err.Error() != filepath.ToSlash(path)+": no footer" {
			t.Errorf("error %v", err)
		}
	}
}
