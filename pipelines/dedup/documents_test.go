package dedup_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// documentsOf returns the rows of documents/, by input file.
func documentsOf(t *testing.T, f *output.Finished) map[string][]records.Documented {
	t.Helper()
	all := map[string][]records.Documented{}
	for _, file := range f.Manifest.Files {
		if output.PartOf(file.Path) != output.Documents {
			continue
		}
		source := strings.TrimSuffix(strings.TrimPrefix(file.Path, "documents/"), ".parquet")
		all[source] = []records.Documented{}
		for row, err := range output.FileRows[records.Documented](t.Context(), filepath.Join(f.Dir, file.Path)) {
			if err != nil {
				t.Fatal(err)
			}
			row.Rank = nil // TestRankOfDocuments checks it
			all[source] = append(all[source], row)
		}
	}
	return all
}

// TestNullsBetweenValues: the raw bytes of a document not compared are null, and so is the rank of an unreadable record,
// in whatever order they follow one another.
func TestNullsBetweenValues(t *testing.T) {
	for _, unreadable := range [][]bool{{false, true, false}, {true, false, true}, {false, false, true, true, false}, {true, true, false, false, true}} {
		folder, lines := t.TempDir(), ""
		for _, is := range unreadable {
			lines += map[bool]string{false: `{"text":"!"}`, true: "broken"}[is] + "\n"
		}
		for name, content := range map[string]string{"a.jsonl": lines, "b.jsonl": `{"text":"a b c d e f"}`} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		f := finished(t, folder, "--max-rejected=100%", "--keep=longest", allParts)
		var raw, unranked []bool
		for _, row := range rows[records.Rejected](t, f, output.Rejected) {
			raw = append(raw, row.Raw != nil)
		}
		for row, err := range output.FileRows[records.Documented](t.Context(), filepath.Join(f.Dir, output.DocumentsFile("a.jsonl"))) {
			if err != nil {
				t.Fatal(err)
			}
			unranked = append(unranked, row.Rank == nil)
		}
		if !slices.Equal(raw, unreadable) || !slices.Equal(unranked, unreadable) {
			t.Errorf("raw: %t, unranked: %t, want %t", raw, unranked, unreadable)
		}
	}
}

// wantDocuments returns the rows that follow from the lines of the input files and from the other tables.
func wantDocuments(t *testing.T, f *output.Finished, folder string) map[string][]records.Documented {
	t.Helper()
	all := map[string][]records.Documented{}
	at := map[records.Place]*records.Documented{}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		position, source := 0, file.Name()
		rows := []records.Documented{}
		for i, line := range strings.SplitAfter(read(t, filepath.Join(folder, source)), "\n") {
			if line == "" {
				continue
			}
			var doc struct {
				ID any `json:"id"`
			}
			row := records.Documented{Row: int64(i), Position: int64(position), Status: records.StatusKept, Members: 1, ID: fmt.Sprintf("%s@%d", source, position)}
			if json.Unmarshal([]byte(line), &doc) == nil && doc.ID != nil {
				row.ID = fmt.Sprint(doc.ID)
			}
			rows = append(rows, row)
			position += len(line)
		}
		for i := range rows {
			at[records.Place{Source: source, Position: rows[i].Position}] = &rows[i]
		}
		all[source] = rows
	}
	for _, r := range rows[records.Rejected](t, f, output.Rejected) {
		row := at[records.Place{Source: r.Source, Position: r.Position}]
		row.Reason, row.Status = &r.Reason, records.StatusNotCompared
		if r.Raw != nil {
			row.Status = records.StatusUnreadable
		}
	}
	for _, c := range rows[records.Clustered](t, f, output.Clusters) {
		row := at[records.Place{Source: c.Source, Position: c.Position}]
		row.Cluster, row.Members = &c.Cluster, c.Members
	}
	for _, r := range rows[records.Removed](t, f, output.Removed) {
		row := at[records.Place{Source: r.Source, Position: r.Position}]
		row.Status, row.Reason, row.Similarity = records.StatusRemoved, &r.Reason, r.Similarity
		row.KeptIn, row.KeptID, row.KeptSource = r.KeptIn, &r.KeptID, &r.KeptSource
	}
	return all
}

const allParts = "--write=pairs,clusters,removed,rejected,corpus,documents"

// unsound returns a folder with pages of which some are unreadable, too short or without a text, and with a file
// without a record.
func unsound(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a.jsonl":     read(t, "../../testdata/tldr/osx.jsonl"),
		"b.jsonl":     `{"id": 7}` + "\n" + `{"text": "..."}` + "\n" + `not JSON` + "\n" + read(t, "../../testdata/tldr/linux.jsonl"),
		"c.jsonl":     read(t, "../../testdata/tldr/osx.jsonl")[:100_000],
		"empty.jsonl": "",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// Documents has a row for every record, which agrees with the other tables.
func TestDocuments(t *testing.T) {
	folder := unsound(t)
	for _, flags := range []string{"", "--cluster=components --threshold=.5 --min-words=20", "--method=exact", "--protect=c.jsonl --keep=longest"} {
		var want map[string]string
		for _, how := range []string{"", "--workers=1", "--workers=8 --memory=256MB", "--runner=direct", "--resume=always"} {
			config := ask(t, append(strings.Fields(flags+" "+how), folder, "--max-rejected=3", allParts)...)
			config.SplitBytes = 50_001
			if how != "" {
				config.SliceRows = 500
			}
			if _, err := runJob(t.Context(), config, launch(config)); err != nil {
				t.Fatal(err)
			}
			f, err := output.Open(t.Context(), config.Output)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = promised(t, f)
				if diff := gocmp.Diff(wantDocuments(t, f, folder), documentsOf(t, f)); diff != "" {
					t.Errorf("%s: %s", flags, diff)
				}
			}
			sameOutput(t, flags+" "+how, want, promised(t, f))
		}
	}
}

// Writing documents/ changes no other file, and is only done on request.
func TestDocumentsAreNamed(t *testing.T) {
	plain := promised(t, finished(t, "../../testdata/tldr"))
	named := promised(t, finished(t, "../../testdata/tldr", allParts))
	for path := range named {
		if strings.HasPrefix(path, "documents/") {
			delete(named, path)
		}
	}
	delete(plain, "manifest.json")
	delete(named, "manifest.json")
	sameOutput(t, "with documents", plain, named)
}

// Rank sorts documents by the policy: of similar ones, the first by rank, then by input order, is kept.
func TestRankOfDocuments(t *testing.T) {
	for policy, keep := range map[string][]string{
		"longest": {"--keep=longest"}, "max:id": {"--keep=max:id"}, "min:text": {"--keep=min:text"},
		"prefer": {"--keep=prefer:osx*,linux*"}, "prefer, longest": {"--keep=prefer:osx*,linux*", "--keep=longest"},
	} {
		f := finished(t, append([]string{"../../testdata/tldr", "--cluster=components", "--threshold=.6", allParts}, keep...)...)
		type member struct {
			records.Documented
			source string
		}
		clusters := map[int64][]member{}
		for _, file := range f.Manifest.Files {
			if output.PartOf(file.Path) != output.Documents {
				continue
			}
			for row, err := range output.FileRows[records.Documented](t.Context(), filepath.Join(f.Dir, file.Path)) {
				if err != nil {
					t.Fatal(err)
				}
				if row.Rank == nil {
					t.Errorf("%s: %s has no rank", policy, row.ID)
				}
				if row.Cluster != nil {
					clusters[*row.Cluster] = append(clusters[*row.Cluster], member{row, file.Path})
				}
			}
		}
		for number, members := range clusters {
			slices.SortFunc(members, func(a, b member) int {
				return cmp.Or(bytes.Compare(*a.Rank, *b.Rank), cmp.Compare(a.source, b.source), cmp.Compare(a.Position, b.Position))
			})
			for i, m := range members {
				if kept := m.Status == records.StatusKept; kept != (i == 0) {
					t.Errorf("%s: cluster %d: %s is number %d and %s", policy, number, m.ID, i, m.Status)
				}
			}
		}
		if len(clusters) == 0 {
			t.Errorf("%s: no cluster", policy)
		}
	}
}
