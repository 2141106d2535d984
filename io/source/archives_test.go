package source

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/reading"
)

// TestArchives checks that every kind of archive yields the same six texts, whatever the splits.
func TestArchives(t *testing.T) {
	const folder = "../../testdata/archives/"
	texts := map[string][]string{}
	for _, file := range []string{"pages.tar", "pages.wet.gz", "pages.warc", "pages.warc.gz"} {
		for _, splitBytes := range []int64{0, 1, 1000} {
			o := Options{MaxDocument: 1 << 20, SplitBytes: splitBytes, Fields: codec.Fields{Text: []string{"text"}, ID: "id"}}
			in := inputs(t, o, folder+file)
			out := run(t, in, o)
			var found []string
			for i, doc := range out.local {
				text := string(doc.Text)
				if strings.Contains(file, ".warc") {
					title := fmt.Sprintf("Page %d\n", i/2)
					if !strings.HasPrefix(text, title) {
						t.Errorf("%s: %q has no title", file, text)
					}
					text = strings.TrimPrefix(text, title)
				}
				want := fmt.Sprintf("<urn:uuid:00000000-0000-4000-8000-%012d>", i)
				if file == "pages.tar" {
					want = fmt.Sprintf("%d.txt", i)
				}
				if !strings.HasSuffix(string(doc.ID), want) {
					t.Errorf("%s: id %q, want %q", file, doc.ID, want)
				}
				found = append(found, text)
			}
			if texts["pages.tar"] == nil {
				texts["pages.tar"] = found
			}
			if len(found) != 6 || !slices.Equal(found, texts["pages.tar"]) || len(out.rejected) != 0 {
				t.Errorf("%s, splits of %d: texts %q, want %q; rejected %v", file, splitBytes, found, texts["pages.tar"], out.rejected)
			}
			if cut := in.Splits.Len() > 1; cut != (splitBytes > 0 && (file == "pages.warc.gz" || file == "pages.wet.gz")) {
				t.Errorf("%s, splits of %d: %d", file, splitBytes, in.Splits.Len())
			}
		}
	}
}

// TestMarkedMembers checks that each member of an archive is read in the encoding of its own byte order mark, if asked.
func TestMarkedMembers(t *testing.T) {
	const text = "\u00e9t\u00e9"
	path := filepath.Join(t.TempDir(), "marked.tar")
	archive := codectest.Tar("plain.txt", '0', text) + codectest.Tar("little.txt", '0', "\xFF\xFE\xE9\x00t\x00\xE9\x00") +
		codectest.Tar("big.txt", '0', "\xFE\xFF\x00\xE9\x00t\x00\xE9") + codectest.Tar("wrong.txt", '0', "caf\xE9 cr\xE8me, d\xE9j\xE0 vu")
	if err := os.WriteFile(path, []byte(archive), 0o666); err != nil {
		t.Fatal(err)
	}
	o := Options{MaxDocument: 1 << 20, Encoding: reading.AutoEncoding}
	out := run(t, inputs(t, o, path), o)
	for _, doc := range out.local {
		if string(doc.Text) != text {
			t.Errorf("%s: text %q, want %q", doc.ID, doc.Text, text)
		}
	}
	if len(out.local) != 3 || len(out.rejected) != 1 {
		t.Fatalf("%d documents, rejected %v; want 3, and wrong.txt", len(out.local), out.rejected)
	}
}
