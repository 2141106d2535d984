package output_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	_, err := storage.WriteFile(t.Context(), path, func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// finish makes dir a finished output of the run job, whose manifest lists the files.
func finish(t *testing.T, dir, job string, files ...string) {
	t.Helper()
	folder := output.Folder{Dir: dir}
	m := records.Manifest{Version: 1}
	for _, file := range files {
		m.Files = append(m.Files, records.ManifestFile{Path: file})
	}
	if err := storage.Begin(t.Context(), dir, false); err != nil {
		t.Fatal(err)
	}
	sum, err := output.WriteJSON(t.Context(), dir, folder.Path(output.ManifestFile), m)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{output.RunFile: records.Run{Job: job, Formats: records.Formats{Tables: records.Tables}}, output.SuccessFile: output.Success{Run: job, Manifest: sum}} {
		if _, err := output.WriteJSON(t.Context(), dir, folder.Path(name), v); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	finish(t, dir, "a", "corpus/x")
	f, err := output.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if f.Run.Job != "a" || len(f.Manifest.Files) != 1 || f.Manifest.Files[0].Path != "corpus/x" || f.Path("corpus/x") != dir+"/corpus/x" {
		t.Errorf("%+v", f)
	}
}

// TestOpenRefuses: an output that is not finished, or not from a single run, is refused.
func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct{ file, content, says string }{
		"no mark":             {says: "it has no _SUCCESS file"},
		"an empty mark":       {output.SuccessFile, "", "run again"},
		"a mark that is cut":  {output.SuccessFile, `{"run": "a", "man`, "run again"},
		"a mark of no output": {output.SuccessFile, `{"run": "a"}`, "run again"},
		"another manifest":    {output.ManifestFile, `{"version": 1, "files": []}`, "belongs to another run"},
		"another run":         {output.RunFile, `{"job": "b"}`, "belongs to another run"},
		"older tables": {output.RunFile, `{"job": "a", "formats": {"tables": "neardup-tables-2"}}`,
			`has tables in the format "neardup-tables-2", but this version reads "neardup-tables-3"; run dedup again with --overwrite`},
		"a manifest cut off": {output.ManifestFile, `{"ver`, "/manifest.json is damaged; run again with --overwrite"},
		"a record cut off":   {output.RunFile, `{"jo`, "/run.json is damaged; run again with --overwrite"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.file != "" {
				finish(t, dir, "a", "corpus/x")
				write(t, path.Join(dir, c.file), c.content)
			}
			if _, err := output.Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want one that says %q", err, c.says)
			}
		})
	}
}

// TestOpenNowhere: a missing folder is not called an output, and an existing one is not called missing.
func TestOpenNowhere(t *testing.T) {
	dir := t.TempDir()
	for folder, there := range map[string]bool{dir: true, path.Join(dir, "none"): false} {
		_, err := output.Open(t.Context(), folder)
		if err == nil || errors.As(err, new(*output.NoFolderError)) == there || strings.Contains(err.Error(), output.SuccessFile) != there {
			t.Errorf("%s: error %v", folder, err)
		}
	}
}

// replacing is a store in which something happens before a file is opened.
type replacing struct {
	*storagetest.Memory
	before func(path string)
}

func (s *replacing) Open(ctx context.Context, path string) (storage.Reader, error) {
	if s.before != nil {
		s.before(path)
	}
	return s.Memory.Open(ctx, path)
}

// TestOpenWhileReplaced: whichever file of an output is replaced first while it is opened, Open returns the output of a
// single run.
func TestOpenWhileReplaced(t *testing.T) {
	for _, file := range []string{output.RunFile, output.ManifestFile} {
		store := &replacing{Memory: &storagetest.Memory{}}
		storage.Register("replacing://", store)
		const dir = "replacing://lake/out"
		finish(t, dir, "a", "corpus/a")
		store.before = func(path string) {
			if strings.HasSuffix(path, file) {
				store.before = nil
				finish(t, dir, "b", "corpus/b")
			}
		}
		f, err := output.Open(t.Context(), dir)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if f.Run.Job != "b" || f.Manifest.Files[0].Path != "corpus/b" {
			t.Errorf("%s: %s of run %s", file, f.Manifest.Files[0].Path, f.Run.Job)
		}
	}
}

func TestUnchanged(t *testing.T) {
	dir := t.TempDir()
	finish(t, dir, "a", "corpus/x")
	f, err := output.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	is := func(when string, want bool) {
		t.Helper()
		if same, err := f.Unchanged(t.Context()); same != want || err != nil {
			t.Errorf("%s: %t, %v", when, same, err)
		}
	}
	is("as it was", true)
	finish(t, dir, "b", "corpus/x")
	is("of another run", false)
	if err := storage.RemoveAll(t.Context(), path.Join(dir, output.SuccessFile)); err != nil {
		t.Fatal(err)
	}
	is("being replaced", false)
}

type row struct {
	N    int64
	Text string
}

// TestRows: Rows yields the rows of all files of a table, and of no other, in order; a row stays valid after the next
// is read.
func TestRows(t *testing.T) {
	dir := t.TempDir()
	const perFile = 1000 // more than one batch
	table := func(name string, from int) {
		_, err := storage.WriteFile(t.Context(), path.Join(dir, name), func(w io.Writer) error {
			writer := parquet.NewGenericWriter[row](w, output.WriterOptions(nil)...)
			for i := range perFile {
				if _, err := writer.Write([]row{{int64(from + i), fmt.Sprint("row ", from+i)}}); err != nil {
					return err
				}
			}
			return writer.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	first, last := output.TableFile(output.Pairs, 0, 2), output.TableFile(output.Pairs, 1, 2)
	table(first, 0)
	table(last, perFile)
	write(t, path.Join(dir, "corpus/pairs/x"), "no table")
	finish(t, dir, "a", first, last, "corpus/pairs/x")
	f, err := output.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []row
	for r, err := range output.Rows[row](t.Context(), f, output.Pairs) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if len(got) != 2*perFile {
		t.Fatalf("%d rows", len(got))
	}
	for i, r := range got {
		if want := (row{int64(i), fmt.Sprint("row ", i)}); r != want {
			t.Fatalf("row %d is %v", i, r)
		}
	}
	for range output.Rows[row](t.Context(), f, output.Pairs) {
		break // a reader may stop
	}

	write(t, path.Join(dir, last), "no table")
	n, failed := 0, false
	for _, err := range output.Rows[row](t.Context(), f, output.Pairs) {
		if n++; err != nil {
			n, failed = n-1, strings.Contains(err.Error(), last)
		}
	}
	if n != perFile || !failed {
		t.Errorf("with a file that cannot be read: %d rows; that it is named: %t", n, failed)
	}
}

// wide is a row with a field of each kind.
type wide struct {
	Text   string  `parquet:"text"`
	Source string  `parquet:"source,dict"`
	Named  *string `parquet:"named,optional"`
	Raw    []byte  `parquet:"raw,optional"`
	Long   int64   `parquet:"long"`
	Short  int32   `parquet:"short"`
	Share  float64 `parquet:"share"`
	Kept   bool    `parquet:"kept"`

	Score *float64 `parquet:"score,optional"`
	Size  *int32   `parquet:"size,optional"`

	Scores []float64 `parquet:"scores,optional,list"`
	Names  []string  `parquet:"names,optional,list" parquet-element:",dict"`
}

// TestRowsOfAnyKind: rows are equal to those of Parquet's own reader.
func TestRowsOfAnyKind(t *testing.T) {
	dir := t.TempDir()
	name := output.TableFile(output.Pairs, 0, 1)
	finish(t, dir, "a", name)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 5, -1)
		var want []wide
		for range rapid.IntRange(0, 700).Draw(t, "rows") {
			r := wide{
				Text: text.Draw(t, "text"), Source: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "source"),
				Long: rapid.Int64().Draw(t, "long"), Short: rapid.Int32().Draw(t, "short"), Share: rapid.Float64().Draw(t, "share"), Kept: rapid.Bool().Draw(t, "kept"),
			}
			if rapid.Bool().Draw(t, "has a name") {
				named := text.Draw(t, "named")
				r.Named, r.Score, r.Size = &named, &r.Share, &r.Short
			}
			if rapid.Bool().Draw(t, "is raw") {
				r.Raw = []byte(text.Draw(t, "raw"))
			}
			if rapid.Bool().Draw(t, "has lists") {
				r.Scores, r.Names = rapid.SliceOfN(rapid.Float64(), 0, 3).Draw(t, "scores"), rapid.SliceOfN(text, 0, 3).Draw(t, "names")
			}
			want = append(want, r)
		}
		_, err := storage.WriteFile(context.Background(), path.Join(dir, name), func(w io.Writer) error {
			writer := parquet.NewGenericWriter[wide](w, append(output.WriterOptions(nil), parquet.MaxRowsPerRowGroup(300), parquet.PageBufferSize(512))...)
			if _, err := writer.Write(want); err != nil {
				return err
			}
			return writer.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
		f, err := output.Open(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []wide
		for r, err := range output.Rows[wide](context.Background(), f, output.Pairs) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r)
		}
		assembled, err := parquet.ReadFile[wide](path.Join(dir, name))
		if err != nil || len(got) != len(want) || len(assembled) != len(want) {
			t.Fatalf("%d rows, %d assembled, want %d (%v)", len(got), len(assembled), len(want), err)
		}
		for i := range got {
			if !reflect.DeepEqual(got[i], assembled[i]) || !reflect.DeepEqual(got[i].Scores, want[i].Scores) || !reflect.DeepEqual(got[i].Names, want[i].Names) {
				t.Fatalf("row %d is %#v, assembled %#v", i, got[i], assembled[i])
			}
		}
		type narrow struct {
			Kept  bool  `parquet:"kept"`
			Other int64 `parquet:"other"`
			Short int32 `parquet:"short"`
		}
		i := 0
		for r, err := range output.Rows[narrow](context.Background(), f, output.Pairs) {
			if want := (narrow{Kept: want[i].Kept, Short: want[i].Short}); err != nil || r != want {
				t.Fatalf("some columns of row %d are %+v, want %+v (%v)", i, r, want, err)
			}
			i++
		}
		type other struct {
			Text int64 `parquet:"text"`
		}
		for _, err := range output.Rows[other](context.Background(), f, output.Pairs) {
			if err == nil || !strings.HasSuffix(err.Error(), ": the file is damaged; run dedup again with --overwrite") {
				t.Fatalf("texts read as numbers: %v", err)
			}
		}
	})
}

// writeRows writes rows as the file of a table.
func writeRows[T any](t *testing.T, path string, rows []T) {
	t.Helper()
	_, err := storage.WriteFile(t.Context(), path, func(w io.Writer) error {
		writer := parquet.NewGenericWriter[T](w, append(output.WriterOptions(nil), parquet.MaxRowsPerRowGroup(300), parquet.PageBufferSize(512))...)
		if _, err := writer.Write(rows); err != nil {
			return err
		}
		return writer.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRowsOfDamaged: a file with some bytes changed, or truncated, gives all rows or an error that names it.
func TestRowsOfDamaged(t *testing.T) {
	dir := t.TempDir()
	name := output.TableFile(output.Pairs, 0, 1)
	finish(t, dir, "a", name)
	f, err := output.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]wide, 700)
	for i := range rows {
		text := strconv.Itoa(i)
		rows[i] = wide{Text: text, Source: "s", Long: int64(i)}
		if i%3 == 0 {
			rows[i].Named, rows[i].Raw = &text, []byte(text)
			rows[i].Scores, rows[i].Names = make([]float64, i%4), []string{text}
		}
	}
	file := path.Join(dir, name)
	writeRows(t, file, rows)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const random = 1000
	var pages []int // pages whose headers claim 128 values, all null, in Thrift
	header := []byte{0x15, 0x80, 2, 0x15, 0x80, 2}
	for at := range whole {
		if bytes.HasPrefix(whole[at:], header) {
			pages = append(pages, at)
		}
	}
	if len(pages) == 0 {
		t.Fatal("no page has only nulls")
	}
	r, failed := rand.New(rand.NewPCG(1, 2)), 0
	for n := range random + len(pages) {
		data := slices.Clone(whole)
		if n < random {
			for range 1 + n%3 {
				data[r.IntN(len(data))] ^= byte(1 + r.IntN(255))
			}
			if n%10 == 0 {
				data = data[:r.IntN(len(data))]
			}
		} else {
			data[pages[n-random]+len(header)-1]++ // more nulls than values: the Parquet package panics
		}
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
		read, err := 0, error(nil)
		for _, err = range output.Rows[wide](t.Context(), f, output.Pairs) {
			if err == nil {
				read++
			}
		}
		switch {
		case err == nil && read != len(rows):
			t.Errorf("damage %d: %d rows and no error", n, read)
		case err != nil && !strings.Contains(err.Error(), file):
			t.Errorf("damage %d: %v does not name the file", n, err)
		case err != nil && n < random:
			failed++
		}
	}
	if failed < random/2 {
		t.Errorf("%d of %d files fail", failed, random)
	}
}

// TestRowsOfLists: a column of lists is refused, because it does not have one value per row.
func TestRowsOfLists(t *testing.T) {
	dir := t.TempDir()
	name := output.TableFile(output.Pairs, 0, 1)
	finish(t, dir, "a", name)
	type listed struct {
		Text []string `parquet:"text"`
	}
	writeRows(t, path.Join(dir, name), []listed{{[]string{"a", "b"}}, {[]string{"c"}}, {[]string{"d"}}})
	f, err := output.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range output.Rows[wide](t.Context(), f, output.Pairs) {
		if err == nil || !strings.HasSuffix(err.Error(), ": the file is damaged; run dedup again with --overwrite") {
			t.Errorf("read %+v, %v", row, err)
		}
	}
}

// TestOpaque: no reader takes a staged file for one of an output, and all names differ.
func TestOpaque(t *testing.T) {
	staged := output.Folder{Dir: "dir", Opaque: true}
	seen := map[string]bool{}
	for _, part := range output.Parts() {
		for _, name := range []string{output.TableFile(part, 0, 2), output.TableFile(part, 1, 2), output.CorpusFile(string(part) + "/x.jsonl.gz")} {
			got := staged.Name(name)
			if _, err := hex.DecodeString(got); err != nil || seen[got] {
				t.Errorf("%s is staged as %s", name, got)
			}
			seen[got] = true
			if path := staged.Path(name); path != "dir/"+got {
				t.Errorf("%s is staged at %s", name, path)
			}
			if plain := (output.Folder{Dir: "dir"}).Path(name); plain != "dir/"+name {
				t.Errorf("%s is published at %s", name, plain)
			}
		}
	}
	names := []string{output.RunFile, output.ManifestFile, output.SuccessFile, output.ReportFile}
	if i := slices.IndexFunc(names, func(name string) bool { return strings.Contains(staged.Name(name), ".") || staged.Name(name) == name }); i >= 0 {
		t.Errorf("%s is staged as %s", names[i], staged.Name(names[i]))
	}
}

// TestWriteJSON: the sum is that of the file, in which nothing is escaped without need.
func TestWriteJSON(t *testing.T) {
	dir := t.TempDir()
	file := path.Join(dir, "x.json")
	if err := storage.Begin(t.Context(), dir, false); err != nil {
		t.Fatal(err)
	}
	sum, err := output.WriteJSON(t.Context(), dir, file, map[string]string{"a": "<&>"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := storage.ReadFile(t.Context(), file)
	if want := sha256.Sum256(data); err != nil || sum != hex.EncodeToString(want[:]) {
		t.Errorf("sum %s of %q, %v", sum, data, err)
	}
	var back map[string]string
	if err := json.Unmarshal(data, &back); err != nil || back["a"] != "<&>" || !strings.Contains(string(data), "<&>") {
		t.Errorf("%q, %v", data, err)
	}
}

// What a failed run left is only read if its tables have this format.
func TestRejectedOfAnotherFormat(t *testing.T) {
	for tables, refused := range map[string]bool{records.Tables: false, "neardup-tables-0": true} {
		dir := t.TempDir()
		run, err := json.Marshal(records.Run{Files: []string{"rejected/part-00000-of-00001.parquet"}, Formats: records.Formats{Tables: tables}})
		if err == nil {
			err = os.WriteFile(path.Join(dir, output.RunFile), run, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := output.OpenRejected(t.Context(), dir); (err != nil) != refused {
			t.Errorf("tables of %s: %v", tables, err)
		}
	}
}
