package passages_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/kernels/passage/passagetest"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/token"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// texts reads the texts of a corpus, in order.
func texts(t *testing.T, path, format string) (all []string) {
	t.Helper()
	options := source.Options{
		Format: format, MaxDocument: 16 << 20, Encoding: "utf-8",
		Fields: codec.Fields{Text: []string{"text"}, ID: "id"},
	}
	listing, err := source.Plan(t.Context(), []string{path}, options)
	if err != nil {
		t.Fatal(err)
	}
	in := listing.Inputs
	for i := range in.Splits.Len() {
		_, err := source.Records(t.Context(), in, []blocks.Span{in.Splits.At(i)}, options, func(r *reading.Record) error {
			if r.Err == nil && !r.Doc.NoText {
				all = append(all, string(r.Doc.Text))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Real corpora have the passages of the definition in words, which this test compares by number, without hashes.
func TestCorporaAreThoseOfTheDefinition(t *testing.T) {
	policy, err := textnorm.Parse("default")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		path, format string
		lengths      []int
	}{
		"tldr":    {"../../testdata/tldr", "", []int{5, 13, 50}},
		"reuters": {"../../../shared/data/reuters21578/*.sgm", "reuters", []int{13, 50}},
		"thai":    {"../../../shared/data/wisesight_thai/*.txt", "lines", []int{13, 50}},
	} {
		if found, err := filepath.Glob(tt.path); err != nil || len(found) == 0 {
			t.Logf("SKIP: %s is not there (%v)", name, err)
			continue
		}
		numbers := map[string]int32{}
		var docs [][]int32
		seen := map[string]bool{}
		var sizes []int // sizes of groups of copies
		for _, text := range texts(t, tt.path, tt.format) {
			var words []int32
			for word := range token.Segments(policy.Append(nil, []byte(text)), false) {
				n, ok := numbers[string(word)]
				if !ok {
					n = int32(len(numbers))
					numbers[string(word)] = n
				}
				words = append(words, n)
			}
			if seen[text] {
				sizes = append(sizes, len(words))
				continue
			}
			seen[text] = true
			docs = append(docs, words)
		}
		for _, length := range tt.lengths {
			found, broken := passagetest.Passages(docs, length)
			want := records.PassagesFound{Length: length, Broken: broken}
			var spans []int64 // number of words of each passage
			for _, of := range found {
				for _, p := range of {
					spans = append(spans, int64(p.End-p.Start))
				}
			}
			copied := int64(0)
			for _, n := range sizes {
				if n >= length {
					copied++
					spans = append(spans, int64(n))
				}
			}
			want.Passages, want.Copies = int64(len(spans)), copied
			for _, n := range spans {
				want.Repeated += n
			}
			flags := []string{tt.path, fmt.Sprint("--length=", length), "--max-rejected=100%"}
			if tt.format != "" {
				flags = append(flags, "--format="+tt.format)
			}
			finished := run(t, ask(t, flags...))
			var got []int64
			for _, row := range rows[records.Passage](t, finished, output.Passages) {
				got = append(got, row.Words)
			}
			f := *finished.Run.Passages
			sum := records.PassagesFound{Length: f.Length, Broken: f.Broken, Passages: f.Passages, Copies: f.Copies, Repeated: f.Repeated}
			if diff := cmp.Diff(want, sum); diff != "" {
				t.Errorf("%s, L = %d: %s", name, length, diff)
			}
			slices.Sort(spans)
			slices.Sort(got)
			if !slices.Equal(spans, got) {
				t.Errorf("%s, L = %d: other passages", name, length)
			}
			t.Logf("%s, L = %d: %d passages, %d words, %d broken", name, length, want.Passages, want.Repeated, broken)
		}
	}
}
