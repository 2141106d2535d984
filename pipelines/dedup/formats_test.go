package dedup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/records"
)

// formatted is a document to be written in a format.
type formatted struct {
	ID   string `json:"id" parquet:"id"`
	Text string `json:"text" parquet:"text"`
}

// thirty returns thirty documents in families of three: the second has one more word, and the third is another text.
func thirty() (all []formatted) {
	for i := range 10 {
		var page, other strings.Builder
		for word := range 40 {
			fmt.Fprintf(&page, "p%dw%d ", i, word)
			fmt.Fprintf(&other, "o%dw%d, ", i, word)
		}
		all = append(all, formatted{fmt.Sprintf("a%d", i), page.String() + "\"end\""}, formatted{fmt.Sprintf("b%d", i), page.String() + "the \"end\""},
			formatted{fmt.Sprintf("c%d", i), other.String()})
	}
	return all
}

// writers write documents as a file of a format.
var writers = map[string]func(t *testing.T, all []formatted) []byte{
	"jsonl": func(t *testing.T, all []formatted) []byte {
		var b bytes.Buffer
		for _, d := range all {
			mustDo(t, json.NewEncoder(&b).Encode(d))
		}
		return b.Bytes()
	},
	"json": func(t *testing.T, all []formatted) []byte {
		b, err := json.MarshalIndent(all, "", "  ")
		mustDo(t, err)
		return b
	},
	"csv": func(t *testing.T, all []formatted) []byte {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		mustDo(t, w.Write([]string{"id", "text"}))
		for _, d := range all {
			mustDo(t, w.Write([]string{d.ID, d.Text}))
		}
		w.Flush()
		mustDo(t, w.Error())
		return b.Bytes()
	},
	"tsv": func(_ *testing.T, all []formatted) []byte {
		b := []byte("id\ttext\n")
		for _, d := range all {
			b = fmt.Appendf(b, "%s\t%s\n", d.ID, d.Text)
		}
		return b
	},
	"parquet": func(t *testing.T, all []formatted) []byte {
		var b bytes.Buffer
		mustDo(t, parquet.Write(&b, all, parquet.MaxRowsPerRowGroup(7), parquet.Compression(&parquet.Snappy)))
		return b.Bytes()
	},
	"xml": func(t *testing.T, all []formatted) []byte {
		b := []byte("<?xml version='1.0'?>\n<dump>\n")
		for _, d := range all {
			b = fmt.Appendf(b, "<doc id='%s'><style>none</style><text>", d.ID)
			var text bytes.Buffer
			mustDo(t, xml.EscapeText(&text, []byte(d.Text)))
			b = append(append(b, text.Bytes()...), "</text><!-- </doc> --></doc>\n<!-- <doc> -->"...)
		}
		return append(b, "</dump>"...)
	},
	"warc": func(_ *testing.T, all []formatted) (b []byte) {
		for _, d := range all {
			b = fmt.Appendf(b, "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:%s>\r\nWARC-Target-URI: %[1]s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
				d.ID, len(d.Text), d.Text)
		}
		return b
	},
	"tar": func(t *testing.T, all []formatted) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, d := range all {
			mustDo(t, w.WriteHeader(&tar.Header{Name: d.ID, Mode: 0o644, Size: int64(len(d.Text))}))
			_, err := w.Write([]byte(d.Text))
			mustDo(t, err)
		}
		mustDo(t, w.Close())
		return b.Bytes()
	},
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fromStore returns the output of a job whose only input and whose output are in a store.
func fromStore(t *testing.T, name string, content []byte, args ...string) map[string]string {
	t.Helper()
	_, err := storage.WriteFile(t.Context(), "formats://bucket/"+name+"/"+name, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	mustDo(t, err)
	config := ask(t, append(args, "formats://bucket/"+name)...)
	config.Output = "formats://bucket/out/" + name
	_, err = runJob(t.Context(), config, launch(config))
	mustDo(t, err)
	return stored(t, config.Output)
}

// The same documents give the same result in every format, however they are packed, and the same bytes from a file in a
// store.
func TestEveryFormat(t *testing.T) {
	storage.Register("formats://", &storagetest.Memory{})
	all := thirty()
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprintf("b%d for a%d", i, i))
	}
	encoder, err := zstd.NewWriter(nil)
	mustDo(t, err)
	packings := map[string]func([]byte) []byte{
		"": slices.Clone[[]byte],
		".gz": func(data []byte) []byte {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			_, err := w.Write(data)
			mustDo(t, err)
			mustDo(t, w.Close())
			return b.Bytes()
		},
		".zst": func(data []byte) []byte { return encoder.EncodeAll(data, nil) },
	}
	var pairs []records.Pair
	for format, write := range writers {
		for packing, pack := range packings {
			if format == "parquet" && packing != "" {
				continue
			}
			name, content := "in."+format+packing, pack(write(t, all))
			path := filepath.Join(t.TempDir(), name)
			mustDo(t, os.WriteFile(path, content, 0o644))
			args := []string{"--shingle=word:3"}
			switch format {
			case "warc":
				args = append(args, "--id=WARC-Target-URI")
			case "xml":
				args = append(args, "--text=doc/text")
			}
			r := run(t, ask(t, append(args, path)...))
			sameOutput(t, name+" in a store", promised(t, r), fromStore(t, name, content, args...))
			var got []string
			for _, row := range rows[records.Removed](t, r, "removed") {
				got = append(got, row.ID+" for "+row.KeptID)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" || r.Run.Counts.Records != 30 {
				t.Errorf("%s%s: %d documents, removed %s", format, packing, r.Run.Counts.Records, diff)
			}
			for _, read := range []string{"read", "fetch", "corpus"} {
				if stored := r.Run.Steps[read+"/stored"]; stored != int64(len(content)) {
					t.Errorf("%s: %s has gone through %d of %d bytes", name, read, stored, len(content))
				}
			}
			found := rows[records.Pair](t, r, "pairs")
			for i := range found {
				found[i].SourceA, found[i].SourceB, found[i].PositionA, found[i].PositionB = "", "", 0, 0
			}
			if pairs == nil {
				pairs = found
			}
			if diff := cmp.Diff(pairs, found); diff != "" {
				t.Errorf("%s%s: pairs %s", format, packing, diff)
			}
		}
	}
}
