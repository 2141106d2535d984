package passages_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// A second run over the output of a first one only cuts runs of which one side crosses a seam of the first, and a third
// one cuts nothing.
func TestSecondRunCutsAcrossSeams(t *testing.T) {
	archive := "../../../shared/data/newsgroups20/20_newsgroup.tar.gz"
	if _, err := os.Stat(archive); err != nil {
		t.Skipf("the corpus is not there: %v", err)
	}
	originals := texts(t, archive, "tar")
	originals = originals[:nightly.Or(len(originals), 4000)]
	var lines bytes.Buffer
	for i, text := range originals {
		if err := json.NewEncoder(&lines).Encode(map[string]any{"id": i, "text": text}); err != nil {
			t.Fatal(err)
		}
	}
	in := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(in, lines.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	first := run(t, ask(t, in, "--cut=words"))
	second := run(t, ask(t, first.Path("corpus"), "--cut=words"))
	third := run(t, ask(t, second.Path("corpus"), "--cut=words"))

	var left []string // by the first run, for each document
	for _, line := range corpusLines(t, first) {
		var record struct{ Text string }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		left = append(left, record.Text)
	}
	seamless := func(id string, start, end int64) bool {
		var i int
		if err := json.Unmarshal([]byte(id), &i); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(originals[i], left[i][start:end])
	}
	for _, p := range rows[records.Passage](t, second, output.Passages) {
		if seamless(p.ID, p.Start, p.End) && seamless(p.FromID, p.FromStart, p.FromEnd) {
			t.Errorf("neither side crosses a seam: %+v", p)
		}
	}
	cut, again := first.Run.Passages, second.Run.Passages
	t.Logf("%d of %d words are cut with %d seams, then %d", cut.Repeated, cut.Words, cut.Seams, again.Repeated)
	if want := nightly.Or[int64](633, 158); again.Repeated != want || cut.Seams < 100 || third.Run.Passages.Repeated != 0 {
		t.Errorf("%d words are cut in the second run, want %d, and %d in the third", again.Repeated, want, third.Run.Passages.Repeated)
	}
}
