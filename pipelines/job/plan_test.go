package job

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
)

// planOf makes the plan of a file of lines.
func planOf(t *testing.T, lines string) *Plan {
	t.Helper()
	return planOfCopies(t, lines, "")
}

// planOfCopies makes the plan of a file of lines, for copies that have same in common.
func planOfCopies(t *testing.T, lines string, same copies.Same) *Plan {
	t.Helper()
	file := filepath.Join(t.TempDir(), "in.txt")
	if err := os.WriteFile(file, []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	r := requestOf(records.Input{Inputs: []string{file}, Format: "lines", Text: []string{"text"}})
	r.Same = same
	plan, err := NewPlan(t.Context(), r, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// requestOf returns the default request for an input.
func requestOf(in records.Input) Request {
	spec := records.Default()
	in.Encoding, in.Delimiter, in.InvalidUTF8 = spec.Encoding, spec.Delimiter, spec.InvalidUTF8
	in.MaxDocBytes, in.MaxWindow = 1<<20, spec.MaxWindow
	spec.Input, spec.Shingle, spec.Normalize, spec.Recall = in, "word:1", "keep-case", .9
	asked, err := Compile(spec)
	if err != nil {
		panic(err)
	}
	return Request{Asked: asked}
}

// stdinOf returns a request for standard input.
func stdinOf(r io.Reader) *Request {
	request := requestOf(records.Input{Inputs: []string{"-"}, Format: "lines", Text: []string{"text"}})
	request.Stdin = r
	return &request
}

// TestMissingColumns: text columns that no record has are wrong usage if there are no others, else cause a warning; the
// message lists the records' columns, in part if they are many.
func TestMissingColumns(t *testing.T) {
	var wide strings.Builder
	for i := range 25 {
		fmt.Fprintf(&wide, `,"c%d":%d`, i, i)
	}
	for _, tt := range []struct {
		content, text  string
		usage, warning string
	}{
		{`{"id":1,"body":"a"}`, "text", `--text text: no sampled record has this column; the first record has "id", "body"; name one of them`, ""},
		{`{"id":1,"body":"a"}`, "bdoy", `"id", "body"; did you mean "body"?`, ""},
		{`{"id":1,"CONTENT":"a"}`, "content", `"id", "CONTENT"; did you mean "CONTENT"?`, ""},
		{`{"id":1,"message":{"body":"a"}}`, "content", `the first record has "id", "message.body"; name one of them`, ""},
		{`{"id":1,"message":{"body":"a"}}`, "body", `"id", "message.body"; did you mean "message.body"?`, ""},
		{`{"id":1,"body":"a"}`, "text title", `--text text, --text title: no sampled record has this column; the first record has "id", "body"; name one of them`, ""},
		{`{"id":1,"body":"a"}`, "title body", "", `--text title: no sampled record has this column; the first record has "id", "body"; texts are compared without it`},
		{"{" + wide.String()[1:] + "}", "text", `"c18", "c19" and 5 more; name one of them`, ""},
		{`{"text":null}`, "text", "", ""},
		{"", "text", "", ""},
	} {
		file := filepath.Join(t.TempDir(), "in.jsonl")
		if err := os.WriteFile(file, []byte(tt.content), 0o666); err != nil {
			t.Fatal(err)
		}
		plan, err := NewPlan(t.Context(), requestOf(records.Input{Inputs: []string{file}, Text: strings.Fields(tt.text)}), t.TempDir())
		if tt.usage != "" {
			if usage := (*UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), tt.usage) {
				t.Errorf("%s of %s: error %v, want %s", tt.text, tt.content, err, tt.usage)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s of %s: %v", tt.text, tt.content, err)
			continue
		}
		if got := strings.Join(plan.Warnings(), "\n"); got != tt.warning {
			t.Errorf("%s of %s: warnings %s, want %s", tt.text, tt.content, got, tt.warning)
		}
	}
}

// TestMissingID: an id column that no record has may be mistyped, unless it is the default; a column whose values are
// null or of another type exists.
func TestMissingID(t *testing.T) {
	const page = "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: x\r\nContent-Length: 1\r\n\r\na\r\n\r\n"
	for _, tt := range []struct{ name, content, id, want string }{
		{"in.jsonl", `{"docid":1,"text":"a"}`, "doc_id", `--id doc_id: no sampled record has this column; the first record has "docid", "text"; did you mean "docid"?`},
		{"in.jsonl", `{"docid":1,"text":"a"}`, "url", `--id url: no sampled record has this column; the first record has "docid", "text"; name one of them, or drop --id`},
		{"in.json", `[{"docid":1,"text":"a"}]`, "doc_id", `did you mean "docid"?`},
		{"in.sgm", `<REUTERS TOPICS="NO" NEWID="7"><TEXT><BODY>a</BODY></TEXT></REUTERS>`, "NEWIT", `"TOPICS", "NEWID"; did you mean "NEWID"?`},
		{"in.warc", page, "WARC-Target-URL", `"WARC-Type", "WARC-Target-URI", "Content-Length"; did you mean "WARC-Target-URI"?`},
		{"in.jsonl", `{"text":"a"}` + "\n" + `{"docid":1,"text":"a"}`, "docid", ""},
		{"in.jsonl", `{"docid":null,"text":"a"}`, "docid", ""},
		{"in.jsonl", `{"text":"a"}` + "\n" + `{"docid":[],"text":"a"}`, "docid", ""},
		{"in.jsonl", `{"text":[]}` + "\n" + `{"docid":1,"text":[]}`, "docid", ""},
		{"in.jsonl", `{"text":"a"}`, "id", ""},
		{"in.jsonl", "{", "docid", ""},
		{"in.jsonl", "", "docid", ""},
		{"in.sgm", `<REUTERS TOPICS="NO"><TEXT><BODY>a</BODY></TEXT></REUTERS>`, "id", ""},
		{"in.sgm", `<REUTERS NEWID=""><TEXT><BODY>a</BODY></TEXT></REUTERS>`, "newid", ""},
		{"in.warc", page, "", ""},
		{"in.warc", page, "warc-target-uri", ""},
	} {
		file := filepath.Join(t.TempDir(), tt.name)
		if err := os.WriteFile(file, []byte(tt.content), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := NewPlan(t.Context(), requestOf(records.Input{Inputs: []string{file}, Text: []string{"text"}, ID: tt.id}), t.TempDir())
		usage := (*UsageError)(nil)
		if tt.want == "" && err != nil || tt.want != "" && (!errors.As(err, &usage) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("--id %s of %s: error %v, want %s", tt.id, tt.content, err, tt.want)
		}
	}
}

// TestLinkWarning: the warning names the first of many links, and their number.
func TestLinkWarning(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "b.txt")
	if err := os.WriteFile(file, []byte("text\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for i, more := range []string{"", "; this is the first of 2 such files", "; this is the first of 3 such files"} {
		if err := os.Symlink("b.txt", filepath.Join(root, fmt.Sprintf("c%d.txt", i))); err != nil {
			t.Fatal(err)
		}
		want := filepath.Join(root, "c0.txt") + " is the same file as " + file + ", so neardup reads it once" + more
		plan, err := NewPlan(t.Context(), requestOf(records.Input{Inputs: []string{root}, Format: "lines", Text: []string{"text"}}), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Warnings(); !slices.Equal(got, []string{want}) {
			t.Errorf("warnings %q, want %q", got, want)
		}
	}
}

// TestSampledUnreadable: a plan says how many records of the sample are unreadable, and what to do about the first.
func TestSampledUnreadable(t *testing.T) {
	plan := planOf(t, "one\ncaf\xE9 et th\xE9 \xE0 la carte\n\xE9\n")
	const want = "2 of 3 sampled records are unreadable; the first is in in.txt at byte 4: invalid UTF-8: byte 3 of the text (byte 7 of the file) is E9, which is not UTF-8; it may be windows-1252; read it with --encoding windows-1252"
	if !strings.HasPrefix(plan.Sampled, want) {
		t.Errorf("%s\nwant %s", plan.Sampled, want)
	}
	if plan := planOf(t, "one\n"); plan.Sampled != "" {
		t.Errorf("of a readable one: %s", plan.Sampled)
	}
}

// TestSampledColumns: sampled documents with different columns are copies, but not identical.
func TestSampledColumns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in.jsonl")
	content := `{"a":"a b","b":"c d"}` + "\n" + `{"a":"a","b":"b c d"}` + "\n" + `{"a":"a b","b":"c d"}` + "\n"
	if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlan(t.Context(), requestOf(records.Input{Inputs: []string{file}, Text: []string{"a", "b"}}), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if plan.Alike != 1 || plan.Symbols != 0 {
		t.Errorf("%d alike, %d of other symbols, want 1, 0", plan.Alike, plan.Symbols)
	}
}

// TestStdinIsPrivate: other users cannot read the copy of standard input.
func TestStdinIsPrivate(t *testing.T) {
	temp, err := storage.TempFolder(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(temp, "stdin")
	if err := spoolStdin(t.Context(), stdinOf(strings.NewReader("text")), file); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 || info.Size() != 4 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestDocumentsSeen: if the sample is the whole input, documents are counted, not estimated, however the estimate is
// rounded.
func TestDocumentsSeen(t *testing.T) {
	const documents, size = 4, 49
	if seen := float64(documents); int(seen/(seen*size)*(seen*size)) == documents {
		t.Fatal("this estimate of records is not rounded down")
	}
	const readable, unreadable = 15, 7
	if seen := float64(readable + unreadable); int(readable/seen*seen) == readable {
		t.Fatal("this estimate of documents is not rounded down")
	}
	for lines, want := range map[string]int64{
		strings.Repeat(strings.Repeat("x", size-1)+"\n", documents):               documents,
		strings.Repeat("text\n", readable) + strings.Repeat("\xff\n", unreadable): readable,
	} {
		if plan := planOf(t, lines); plan.Documents != want {
			t.Errorf("about %d documents of %d", plan.Documents, want)
		}
	}
}

// TestSampleIsInOrder: the sets of the sample are ordered by hash, so that every run takes the same ones.
func TestSampleIsInOrder(t *testing.T) {
	var lines strings.Builder
	const documents = 100
	for i := range documents {
		fmt.Fprintf(&lines, "text%d\n", i)
	}
	sets, different, sampled, _, err := planOf(t, lines.String()+lines.String()).sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(sets) != documents || different != documents || sampled.shingles != 2*documents {
		t.Errorf("%d sets, %d shingles, want %d, %d", len(sets), sampled.shingles, documents, 2*documents)
	}
	if !slices.IsSortedFunc(sets, func(a, b []uint64) int { return hash.Sequence(a).Compare(hash.Sequence(b)) }) {
		t.Error("the sets are not by hash")
	}
}

// lines returns n documents with some common words and some words of their own.
func lines(n, common, own int) string {
	var all strings.Builder
	for i := range n {
		for k := range common {
			fmt.Fprintf(&all, "common%d ", k)
		}
		for k := range own {
			fmt.Fprintf(&all, "own%dx%d ", i, k)
		}
		all.WriteByte('\n')
	}
	return all.String()
}

// TestBackground: copies, families and texts without a word are not background, however few other documents there are.
// What unrelated documents share is, with a warning if no bands and rows keep them apart.
func TestBackground(t *testing.T) {
	const documents = 20_000
	copies := lines(1, 3, 0)
	for name, input := range map[string]string{
		"one":               copies,
		"copies":            strings.Repeat(copies, documents),
		"copies and others": strings.Repeat(copies, documents) + lines(3, 0, 3),
		"family":            lines(documents, 20, 1),
		"family and others": lines(documents, 20, 1) + lines(documents/100, 0, 21),
		"no word":           strings.Repeat(".\n", documents),
	} {
		if plan := planOf(t, input); plan.Choice.Rows > 2 || len(plan.Warnings()) > 0 { // the cheapest, or as good
			t.Errorf("%s: %d × %d, warnings %q; want at most 2 rows", name, plan.Choice.Bands, plan.Choice.Rows, plan.Warnings())
		}
	}
	if plan := planOf(t, lines(documents, 14, 13)); len(plan.Warnings()) != 1 || plan.Warnings()[0] != plan.Choice.Reason {
		t.Errorf("unrelated documents that share a third: warnings %q, choice %+v", plan.Warnings(), plan.Choice)
	}
	// A few documents are all compared at once, if necessary.
	file := filepath.Join(t.TempDir(), "few.txt")
	if err := os.WriteFile(file, []byte("a b\nc d\ne f\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r := requestOf(records.Input{Inputs: []string{file}, Format: "lines", Text: []string{"text"}})
	r.Threshold, r.Recall = setsim.Threshold{Num: 1, Den: 2}, .999
	plan, err := NewPlan(t.Context(), r, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Warnings()) > 0 || !plan.Choice.Percolates {
		t.Errorf("a few documents: warnings %q, choice %+v", plan.Warnings(), plan.Choice)
	}
}

// TestBackgroundOfSome: if not all sets of the sample are compared, nothing is known about the other documents.
func TestBackgroundOfSome(t *testing.T) {
	plan := planOf(t, strings.Repeat(lines(6000, 0, 1), 2))
	// Of 12,000 documents, the 4,000 with 2,000 sets are known; one pair of them is assumed to be similar.
	want := 11_999 * float64(plan.Choice.Bands) * math.Pow(.4, float64(plan.Choice.Rows)) / (1 + 4000*3999/2)
	if got := plan.Choice.BackgroundEdges; plan.Documents != 12_000 || math.Abs(got-want) > 1e-9*want {
		t.Errorf("%d documents, %v background edges, want %v", plan.Documents, got, want)
	}
}

// TestInspectErrors: a file of the sample that does not match the settings is wrong usage; one with broken content is
// not.
func TestInspectErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		content, want string
		usage         bool
	}{
		"a.csv":     {"id,body\n1,x\n", `a.csv: no text column "text"; the columns are "id", "body"; name one of them with --text`, true},
		"b.csv":     {"id,texts\n1,x\n", `the columns are "id", "texts"; did you mean --text "texts"?`, true},
		"a.tsv":     {"id\tTEXT\n1\tx\n", `did you mean --text "TEXT"?`, true},
		"a.parquet": {"PAR1 and no footer", "a.parquet: ", false},
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(tt.content), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := NewPlan(t.Context(), requestOf(records.Input{Inputs: []string{file}, Text: []string{"text"}}), t.TempDir())
		usage := (*UsageError)(nil)
		if err == nil || errors.As(err, &usage) != tt.usage || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %s", name, err, tt.want)
		}
	}
}

// Input without columns needs no column, alone or beside files with other columns.
func TestPlainColumns(t *testing.T) {
	for _, tt := range []struct {
		files    string
		text, id string
		want     string
	}{
		{"a", "text", "id", ""},
		{"a", "body", "id", `--text body: there are no columns in the files format, whose documents are whole texts; drop --text`},
		{"a", "text", "key", `--id key: there are no columns in the files format`},
		{"a in.jsonl", "body", "id", `--text body: no sampled record has this column; the first record has "text", "id"`},
		{"a in.jsonl", "text", "key", `--id key: no sampled record has this column`},
		{"a in.jsonl", "text", "id", ""},
	} {
		folder := t.TempDir()
		var inputs []string
		for _, name := range strings.Fields(tt.files) {
			file := filepath.Join(folder, name)
			if err := os.WriteFile(file, []byte(`{"text":"a","id":1}`), 0o666); err != nil {
				t.Fatal(err)
			}
			inputs = append(inputs, file)
		}
		in := records.Input{Inputs: inputs, Text: []string{tt.text}, ID: tt.id}
		if len(inputs) == 1 {
			in.Format = "files"
		} else if err := os.Rename(inputs[0], inputs[0]+".tar"); err != nil {
			t.Fatal(err)
		} else {
			in.Inputs[0] += ".tar"
			if err := os.WriteFile(in.Inputs[0], tarOf(t, "one.txt", "a"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		_, err := NewPlan(t.Context(), requestOf(in), t.TempDir())
		usage := (*UsageError)(nil)
		if tt.want == "" && err != nil || tt.want != "" && (!errors.As(err, &usage) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("--text %s --id %s of %s: error %v, want %s", tt.text, tt.id, tt.files, err, tt.want)
		}
	}
}

func tarOf(t *testing.T, name, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o666}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// failing is a store that cannot be read.
type failing struct{ storage.Store }

func (failing) Stat(context.Context, string) (storage.Info, error) {
	return storage.Info{}, &fs.PathError{Op: "read", Path: "failing://x", Err: syscall.EIO}
}

// A read error while planning is not wrong usage.
func TestReadErrorInPlan(t *testing.T) {
	storage.Register("failing://", failing{})
	_, err := NewPlan(t.Context(), requestOf(records.Input{Inputs: []string{"failing://x"}, Text: []string{"text"}}), t.TempDir())
	if Status(err) != 1 || !errors.Is(err, syscall.EIO) {
		t.Errorf("status %d: %v", Status(err), err)
	}
	_, err = NewPlan(t.Context(), requestOf(records.Input{Inputs: []string{"missing"}, Text: []string{"text"}}), t.TempDir())
	if Status(err) != 2 {
		t.Errorf("missing: status %d: %v", Status(err), err)
	}
}

// TestPrefer: files are preferred by the first pattern that they match; patterns that match none are named.
func TestPrefer(t *testing.T) {
	in := &blocks.Inputs{Shards: 1}
	for _, source := range []string{"good/a.jsonl", "other/good/b.jsonl", "c.jsonl", "good/sub/d.jsonl", "good/last.jsonl"} {
		in.Add(&blocks.File{Source: source}, nil, nil)
	}
	idle := prefer(in, []string{"good", "none", "*.jsonl", "good/*", "other/good"})
	files := []int{0, 1, 2, 3, 4}
	slices.SortFunc(files, func(a, b int) int {
		return in.Preferred(&blocks.Profile{Key: blocks.NewKey(a, 0)}, &blocks.Profile{Key: blocks.NewKey(b, 0)})
	})
	if want := []int{0, 3, 4, 2, 1}; !slices.Equal(files, want) { // ranks 0, 0, 0, 2, 4
		t.Errorf("preferred in the order %v, want %v", files, want)
	}
	if want := []string{"none"}; !slices.Equal(idle, want) {
		t.Errorf("idle are %q, want %q", idle, want)
	}
}

// Every family of signatures has its own format id.
func TestFormatIDs(t *testing.T) {
	seen := map[string]bool{"": true}
	for _, family := range signature.Families() {
		id := Formats(shingle.Spec{}, family).Signature
		if seen[id] {
			t.Errorf("%s has the id %q", family, id)
		}
		seen[id] = true
	}
}

// The plan counts the sampled documents that the search takes for copies of an earlier one without being identical, and
// those of them that differ in symbols. The reason of the choice says what copies have in common.
func TestSampledCopies(t *testing.T) {
	const lines = "a + b\na - b\na + b\nb + a\na b c\na, b c\nA b c\n"
	for same, want := range map[copies.Same]struct {
		alike, symbols int64
		reason         string
	}{
		"":            {3, 2, ""},
		copies.Bytes:  {0, 0, "method exact: one key, the hash of the text"},
		copies.Tokens: {2, 2, "method exact: one key, the hash of the sequence of tokens"},
		copies.Set:    {3, 2, "method exact: one key, the hash of the shingle set"},
	} {
		chosen := planOfCopies(t, lines, same).Chosen()
		if chosen.Copies != want.alike || chosen.Symbols != want.symbols {
			t.Errorf("%q: %d copies, of which %d differ in symbols, want %d and %d", same, chosen.Copies, chosen.Symbols, want.alike, want.symbols)
		}
		if same != "" && (chosen.Reason != want.reason || chosen.Bands != 1 || chosen.Rows != 0 || chosen.Signature != 0) {
			t.Errorf("%q: chosen %+v, want %q, without a signature", same, chosen, want.reason)
		}
	}
}

// If groups must be small, a split has no more documents than fit a group.
func TestSmallGroups(t *testing.T) {
	const documents, group = 200_000, 1 << 20
	file := filepath.Join(t.TempDir(), "in.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("a b c\n", documents)), 0o666); err != nil {
		t.Fatal(err)
	}
	r := requestOf(records.Input{Inputs: []string{file}, Format: "lines", Text: []string{"text"}})
	for _, bytes := range []int64{0, group} {
		r.GroupBytes = bytes
		plan, err := NewPlan(t.Context(), r, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		splits := int64(plan.Listing.Inputs.Splits.Len())
		if fit := documents*memberBytes/splits <= group; fit != (bytes > 0) || splits > 5 {
			t.Errorf("groups of %d bytes: %d splits of %d documents", bytes, splits, documents)
		}
	}
}
