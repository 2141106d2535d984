package compare_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/pipelines/compare"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

func run(t *testing.T, args ...string) *records.Comparison {
	t.Helper()
	comparison, err := try(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return comparison
}

func try(t *testing.T, args ...string) (*records.Comparison, error) {
	t.Helper()
	config := parsed(t, args...)
	task, err := compare.New(config)
	if err != nil {
		return nil, err
	}
	return task.Run(context.Background(), beamtest.Launch(string(config.Runner), local.Options{}))
}

func parsed(t *testing.T, args ...string) (config compare.Config) {
	t.Helper()
	parser, err := kong.New(&config, kong.Vars(compare.Vars()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return config
}

// TestPlannedReads: before the first pipeline, the job says what all pipelines read.
func TestPlannedReads(t *testing.T) {
	for _, args := range [][]string{
		{"--methods=brute-force,minhash,bands"},
		{"--methods=brute-force,signatures,minhash", "--signature=classic"},
		{"--methods=complete,classic,salted"},
		{"--methods=bands", "--output=" + filepath.Join(t.TempDir(), "bands")},
		{"--methods=complete,simhash", "--compare=cosine", "--weights=tf-idf", "--output=" + filepath.Join(t.TempDir(), "out")},
		{"--methods=brute-force,minhash,complete,simhash,pieces", "--compare=cosine", "--weights=tf-idf"},
	} {
		config := parsed(t, append(args, "../../testdata/tldr/osx.jsonl", "../../testdata/tldr/windows.jsonl")...)
		var planned [][]job.Read
		config.Planned = func(pipelines [][]job.Read) {
			if planned != nil {
				t.Errorf("%q: reads are planned twice", args)
			}
			planned = pipelines
		}
		task, err := compare.New(config)
		if err != nil {
			t.Fatal(err)
		}
		begun, start := 0, beamtest.Launch("local", local.Options{})
		_, err = task.Run(t.Context(), func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
			if begun >= len(planned) {
				return nil, nil, fmt.Errorf("only %d pipelines are planned", len(planned))
			}
			want := map[string]bool{}
			for _, read := range planned[begun] {
				want[read.Counted] = true
			}
			result, stages, err := start(ctx, p, temp)
			if err != nil {
				return result, stages, err
			}
			stored := map[string]int64{}
			for _, c := range result.Metrics().AllMetrics().Counters() {
				if c.Name() == "stored" {
					stored[c.Namespace()] += c.Result()
				}
			}
			for read := range stored {
				if !want[read] {
					t.Errorf("%q: the read %q of pipeline %d is not planned", args, read, begun)
				}
			}
			if first := planned[begun][0]; stored[first.Counted] != first.Bytes {
				t.Errorf("%q: pipeline %d reads %d of %d bytes", args, begun, stored[first.Counted], first.Bytes)
			}
			begun++
			return result, stages, nil
		})
		if err != nil || begun != len(planned) {
			t.Errorf("%q: %d of %d pipelines planned have run: %v", args, begun, len(planned), err)
		}
	}
}

// TestHeldPairs: the maximum number of pairs, of a method and of all methods together in the table, is exact.
func TestHeldPairs(t *testing.T) {
	path, _ := fewWords(t, 60)
	args := []string{path, "--shingle=word:1", "--threshold=0.6", "--signature=salted", "--bands=3", "--rows=1"}
	holding := func(most int, more ...string) (*records.Comparison, error) {
		config := parsed(t, append(slices.Clone(args), more...)...)
		task, err := compare.New(config)
		if err != nil {
			t.Fatal(err)
		}
		task.Hold(most)
		return task.Run(t.Context(), beamtest.Launch("local", local.Options{}))
	}
	refused := func(err error, method string, most int) bool {
		usage := (*job.UsageError)(nil)
		return errors.As(err, &usage) && strings.HasPrefix(err.Error(), fmt.Sprintf("--methods %s: more than %s pairs", method, records.Count(int64(most))))
	}
	for _, methods := range []string{"minhash,brute-force", "brute-force,minhash", "complete,brute-force"} {
		first, _, _ := strings.Cut(methods, ",")
		found := run(t, append(slices.Clone(args), "--methods="+methods)...)
		most := found.Methods[0].Pairs
		if _, err := holding(most-1, "--methods="+methods); most < 2 || !refused(err, first, most-1) {
			t.Errorf("%s, %d pairs: %v", methods, most, err)
		}
		if _, err := holding(max(most, found.Methods[1].Pairs), "--methods="+methods); err != nil {
			t.Errorf("%s: %v", methods, err)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	two := []string{"--bands=1", "--rows=3", "--methods=salted,classic", "--write=pairs", "--output"} // each misses some
	c := run(t, slices.Concat(args, two, []string{out})...)
	all := len(table[records.Found](t, filepath.Join(out, "pairs")))
	if all <= max(c.Methods[0].Pairs, c.Methods[1].Pairs) {
		t.Fatalf("%d pairs, of one method %d and of the other %d", all, c.Methods[0].Pairs, c.Methods[1].Pairs)
	}
	if _, err := holding(all-1, append(slices.Clone(two), out+"1")...); !refused(err, "classic", all-1) {
		t.Errorf("of both methods: %v", err)
	}
	if _, err := holding(all, append(slices.Clone(two), out+"2")...); err != nil {
		t.Errorf("of both methods: %v", err)
	}
}

// 4,480 documents that differ in one of 41 words have 10,032,960 pairs, and are a crowd.
func TestTooManyNearPairs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "near.jsonl")
	var lines, common strings.Builder
	for i := range 40 {
		fmt.Fprintf(&common, "w%d ", i)
	}
	for i := range 4480 {
		fmt.Fprintf(&lines, `{"text": "%s own%d"}`+"\n", common.String(), i)
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := try(t, path, "--shingle=word:1", "--bands=20", "--rows=2", "--methods=minhash,brute-force")
	if usage := (*job.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--methods minhash: more than 10,000,000 pairs") {
		t.Error(err)
	}
}

// 4,473 equal documents have 10,001,628 pairs, more than can be held, whichever method finds them.
func TestTooManyPairs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "same.jsonl")
	line := `{"text": "the same five words again"}` + "\n"
	if err := os.WriteFile(path, []byte(strings.Repeat(line, 4473)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, methods := range []string{"brute-force,minhash", "minhash,signatures", "signatures,minhash", "bands,minhash"} {
		_, err := try(t, path, "--bands=2", "--rows=1", "--signature=salted", "--methods="+methods)
		first, _, _ := strings.Cut(methods, ",")
		if usage := (*job.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--methods "+first+": more than 10,000,000 pairs") || !strings.Contains(err.Error(), "--limit") {
			t.Errorf("--methods %s: %v", methods, err)
		}
	}
	// One document fewer has 9,997,156.
	if c := run(t, path, "--bands=2", "--rows=1", "--limit=4472", "--methods=minhash,brute-force"); c.Methods[0].Pairs != 9_997_156 || c.Methods[1].Common != 9_997_156 {
		t.Errorf("with --limit 4472: %+v", c.Methods)
	}
}

// With enough bands to miss nothing, minhash and bands find exactly the pairs of brute force: on the bundled pages,
// with every kind of signature.
func TestMinHashIsBruteForce(t *testing.T) {
	for family, others := range map[string]string{"fss": ",complete,classic,salted", "classic": "", "salted": ""} {
		inputs := []string{"../../testdata/tldr/osx.jsonl", "../../testdata/tldr/windows.jsonl"}
		if family != "classic" || nightly.On() {
			inputs = append(inputs, "../../testdata/tldr/linux.jsonl")
		}
		c := run(t, append(inputs, "--signature="+family, "--bands=40", "--rows=3", "--methods=brute-force,bands,signatures,minhash"+others)...)
		truth, bands, signatures := c.Methods[0], c.Methods[1], c.Methods[2]
		documents := int64(0)
		for _, input := range inputs {
			data, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			documents += int64(strings.Count(string(data), "\n"))
		}
		if want := documents * (documents - 1) / 2; truth.Candidates == nil || *truth.Candidates != want {
			t.Errorf("brute force has %v candidates, want %d", truth.Candidates, want)
		}
		for _, m := range c.Methods {
			if m.Seconds <= 0 || m.CPU < 0 || (m.Candidates == nil) != (m.Name == "complete") {
				t.Errorf("%s: %+v", family, m)
			}
		}
		for _, m := range append(c.Methods[3:], bands) {
			if truth.Pairs == 0 || m.Pairs != truth.Pairs || m.Common != truth.Pairs || m.Recall != 1 || m.Precision != 1 {
				t.Errorf("%s: brute force %+v, %+v", family, truth, m)
			}
		}
		if b := bands.Buckets; *b.True != int64(truth.Pairs) || b.Compared != b.Distinct || b.Refuted != b.Compared-*b.True || b.Refuted == 0 || b.Pairs <= b.Distinct {
			t.Errorf("%s: bands %+v", family, *b)
		}
		if signatures.Common == 0 || signatures.Common > truth.Pairs {
			t.Errorf("%s: signatures %+v", family, signatures)
		}
	}
}

var white = regexp.MustCompile(`[\s\v\x{85}\pZ]+`)

// textbook is the result of the published method.
type textbook struct {
	bucketPairs, distinct int64
	alike, true           int // distinct pairs, by signatures and by shingles
	both                  int
	labels                []string // of the documents in band 0, then in band 1 and so on
}

// textbookOf follows the published definition: sets of 10 characters, 10 bands of 5 of the functions SHA-1 of the
// shingle and a salt of 0 … 49, and a share of 4/5. It compares all pairs of documents.
func textbookOf(texts []string) (found textbook) {
	const bands, rows = 10, 5
	type document struct {
		shingles map[string]bool
		values   [bands * rows]uint32
		set      map[uint32]bool
	}
	var documents []document
	for _, text := range texts {
		characters := []rune(white.ReplaceAllString(strings.ToLower(text), " "))
		d := document{shingles: map[string]bool{}, set: map[uint32]bool{}}
		for i := 0; i == 0 || i+10 <= len(characters); i++ {
			d.shingles[string(characters[i:min(i+10, len(characters))])] = true
		}
		for i := range d.values {
			d.values[i] = math.MaxUint32
			salt := fmt.Sprintf("%020d", i)
			for shingle := range d.shingles {
				sum := sha1.Sum([]byte(shingle + salt))
				d.values[i] = min(d.values[i], binary.BigEndian.Uint32(sum[16:]))
			}
			d.set[d.values[i]] = true
		}
		documents = append(documents, d)
	}
	for band := range bands {
		for _, d := range documents {
			label := fmt.Sprint(d.values[band*rows : (band+1)*rows])
			found.labels = append(found.labels, strings.ReplaceAll(strings.Trim(label, "[]"), " ", "_"))
		}
	}
	for i, a := range documents {
		for _, b := range documents[:i] {
			buckets := int64(0)
			for at := 0; at < bands*rows; at += rows {
				if slices.Equal(a.values[at:at+rows], b.values[at:at+rows]) {
					buckets++
				}
			}
			if buckets == 0 {
				continue
			}
			found.bucketPairs += buckets
			found.distinct++
			alike, same := similar(a.set, b.set), similar(a.shingles, b.shingles)
			if alike {
				found.alike++
			}
			if same {
				found.true++
			}
			if alike && same {
				found.both++
			}
		}
	}
	return found
}

// similar reports whether two sets share 4/5 of their union.
func similar[T comparable](a, b map[T]bool) bool {
	shared := 0
	for x := range a {
		if b[x] {
			shared++
		}
	}
	return 5*shared >= 4*(len(a)+len(b)-shared)
}

// Classified ads, with the published parameters.
func TestClassifiedAds(t *testing.T) {
	path := filepath.Join("../../../shared/data/kijiji_rome", "dataset_rent_rome_kijiji.tsv")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the corpus is not there: %v", err)
	}
	out := filepath.Join(t.TempDir(), "out")
	c := run(t, path, "--output="+out, "--text=Title", "--text=Short Description", "--shingle=char:10", "--normalize=lower,collapse-space",
		"--signature=salted", "--seed=0", "--bands=10", "--rows=5", "--methods=brute-force,minhash,bands,signatures")
	for _, m := range c.Methods {
		t.Logf("%+v", m)
	}
	if m := c.Methods[1]; m.Precision != 1 || m.Recall < .98 || c.Methods[0].Pairs == 0 {
		t.Errorf("minhash %+v", m)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[1:] {
		title, rest, _ := strings.Cut(line, "\t")
		description, _, _ := strings.Cut(rest, "\t")
		texts = append(texts, title+" "+description)
	}
	want := textbookOf(texts)
	bands, signatures := c.Methods[2], c.Methods[3]
	if bands.Pairs != want.true || bands.Common != want.true {
		t.Errorf("bands %+v, want %+v", bands, want)
	}
	if signatures.Pairs != want.alike || signatures.Common != want.both {
		t.Errorf("signatures %+v, want %+v", signatures, want)
	}
	for _, b := range []*records.Buckets{bands.Buckets, signatures.Buckets} {
		if b.Pairs != want.bucketPairs || b.Distinct != want.distinct || b.Compared != want.distinct {
			t.Errorf("buckets %+v, want %+v", *b, want)
		}
	}
	// The published counts.
	if want.alike != 10_333 || want.both != 10_331 {
		t.Errorf("by the definition %d pairs, %d of them true; published 10,333, 2 of them wrong", want.alike, want.both)
	}
	rows, _ := tables(t, out)
	var labels []string
	for _, row := range rows {
		labels = append(labels, row.Label)
	}
	if !slices.Equal(labels, want.labels) {
		t.Errorf("%d labels are not the %d by the definition", len(labels), len(want.labels))
	}
}

// tables reads the tables of --output.
func tables(t *testing.T, out string) ([]records.Bucketed, []records.Candidate) {
	t.Helper()
	return table[records.Bucketed](t, filepath.Join(out, "buckets")), table[records.Candidate](t, filepath.Join(out, "candidates"))
}

func table[T any](t *testing.T, folder string) (rows []T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(files), err)
	}
	for _, file := range files {
		some, err := parquet.ReadFile[T](file)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, some...)
	}
	return rows
}

// The candidates are the pairs of documents in one bucket, and the name of a bucket is the CRC-32 of its label where
// that is its key. Both methods write the same tables, once.
func TestTablesOfBuckets(t *testing.T) {
	input := "../../testdata/tldr/osx.jsonl"
	for _, family := range []string{"classic", "fss"} {
		for _, methods := range []string{"bands,signatures", "minhash,signatures"} {
			out := filepath.Join(t.TempDir(), "out")
			c := run(t, input, "--signature="+family, "--bands=12", "--rows=3", "--methods="+methods, "-o", out)
			rows, candidates := tables(t, out)
			type bucket struct {
				band   int32
				bucket string
			}
			buckets, labels := map[bucket][]records.Bucketed{}, map[bucket]string{}
			for _, row := range rows {
				in := bucket{row.Band, row.Bucket}
				if strings.Count(row.Label, "_") != 2 || labels[in] != "" && labels[in] != row.Label {
					t.Fatalf("%s: %+v in the bucket of %q", family, row, labels[in])
				}
				if want := fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(row.Label))); family == "classic" && row.Bucket != want {
					t.Fatalf("%+v, want bucket %s", row, want)
				}
				buckets[in], labels[in] = append(buckets[in], row), row.Label
			}
			want, pairs := map[records.Candidate]bool{}, int64(0)
			for _, in := range buckets {
				for i, a := range in { // in input order
					for _, b := range in[i+1:] {
						pairs++
						want[records.Candidate{IDA: a.ID, IDB: b.ID, SourceA: a.Source, SourceB: b.Source, PositionA: a.Position, PositionB: b.Position}] = true
					}
				}
			}
			got := map[records.Candidate]bool{}
			for _, row := range candidates {
				got[row] = true
			}
			if len(candidates) != len(got) || !maps.Equal(got, want) {
				t.Errorf("%s, %s: %d candidates, %d distinct, want %d", family, methods, len(candidates), len(got), len(want))
			}
			if b := c.Methods[1].Buckets; b.Pairs != pairs || b.Distinct != int64(len(want)) || pairs == 0 {
				t.Errorf("%s, %s: %+v; the table has %d pairs, %d distinct", family, methods, *b, pairs, len(want))
			}
		}
	}
}

// More candidates than a call holds for one file, and more bytes than one bundle takes.
func TestManyCandidates(t *testing.T) {
	path, out := filepath.Join(t.TempDir(), "same.jsonl"), filepath.Join(t.TempDir(), "out")
	const documents = 1000
	if err := os.WriteFile(path, []byte(strings.Repeat(`{"text": "the same five words again"}`+"\n", documents)), 0o666); err != nil {
		t.Fatal(err)
	}
	c := run(t, path, "--bands=20", "--rows=2", "--methods=bands,minhash", "-o", out, "--write=candidates")
	rows := table[records.Candidate](t, filepath.Join(out, "candidates"))
	const pairs = documents * (documents - 1) / 2
	if b := c.Methods[0].Buckets; len(rows) != pairs || b.Pairs != 20*pairs || b.Distinct != pairs || b.Compared != pairs {
		t.Errorf("%d candidates, %+v", len(rows), *b)
	}
	sorted := slices.IsSortedFunc(rows, func(a, b records.Candidate) int {
		return cmp.Or(cmp.Compare(a.PositionA, b.PositionA), cmp.Compare(a.PositionB, b.PositionB))
	})
	if !sorted {
		t.Error("candidates are not in input order")
	}
}

// Valid values of --output, and what --write leaves out.
func TestOutput(t *testing.T) {
	input := "../../testdata/tldr/osx.jsonl"
	out := filepath.Join(t.TempDir(), "out")
	run(t, input, "--bands=4", "--rows=3", "--methods=bands,minhash", "-o", out, "--write=candidates")
	if there, err := os.ReadDir(out); err != nil || len(there) != 4 || there[1].Name() != "candidates" {
		t.Errorf("%v, %v", there, err)
	}
	for want, args := range map[string][]string{
		"use --overwrite":                                 {"--methods=bands,minhash", "-o", out},
		"none of these methods lists buckets":             {"--methods=brute-force,minhash", "-o", out + "2", "--write=pairs,buckets"},
		"kinds of similarity":                             {"--methods=complete,minhash,simhash", "-o", out + "2", "--write=pairs"},
		"methods of two measures have no table in common": {"--methods=complete,minhash,simhash", "-o", out + "2"},
		"add --temp-dir":                                  {"--methods=bands", "--runner=flink"},
		"runs only on the local machine":                  {"--methods=bands", "--runner=dataflow"},
		"add --runner flink":                              {"--methods=bands", "--job-server=localhost:1"},
		"nothing to write":                                {"--methods=bands,minhash", "-o", out + "2", "--write="},
		"add --output":                                    {"--methods=bands,minhash", "--write=buckets"},
	} {
		if _, err := try(t, append(args, input)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}

// The table of pairs has the pairs of every method, with their similarity by the definition.
func TestTableOfPairs(t *testing.T) {
	path, texts := fewWords(t, 250)
	sets := make([]map[string]bool, len(texts))
	for i, text := range texts {
		sets[i] = map[string]bool{}
		for _, word := range strings.Fields(text) {
			sets[i][word] = true
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	c := run(t, path, "--shingle=word:1", "--threshold=0.6", "--signature=salted", "--bands=8", "--rows=1",
		"--methods=minhash,brute-force,signatures,bands", "-o", out)
	rows := table[records.Found](t, filepath.Join(out, "pairs"))
	number := map[int64]int{} // numbers of documents by position
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at, i := int64(0), 0; i < len(texts); i++ {
		number[at] = i
		at += int64(bytes.IndexByte(content[at:], '\n')) + 1
	}
	counts, refuted := map[string]int{}, 0
	for _, row := range rows {
		a, b := number[row.PositionA], number[row.PositionB]
		shared := int32(0)
		for word := range sets[a] {
			if sets[b][word] {
				shared++
			}
		}
		union := float64(len(sets[a]) + len(sets[b]) - int(shared))
		if a >= b || row.IDA != fmt.Sprintf("few.jsonl@%d", row.PositionA) || row.IDB != fmt.Sprintf("few.jsonl@%d", row.PositionB) ||
			row.Shared != shared || row.SizeA != int32(len(sets[a])) || row.SizeB != int32(len(sets[b])) ||
			row.Similarity != float64(shared)/union {
			t.Fatalf("%+v of %q and %q", row, texts[a], texts[b])
		}
		for _, method := range row.Methods {
			counts[method]++
		}
		if row.Similarity < 0.6 {
			refuted++
			if !slices.Equal(row.Methods, []string{"signatures"}) {
				t.Errorf("%+v is below the threshold", row)
			}
		}
	}
	for _, m := range c.Methods {
		if counts[m.Name] != m.Pairs || m.Pairs == 0 {
			t.Errorf("%s: %d rows, %d pairs", m.Name, counts[m.Name], m.Pairs)
		}
	}
	sorted := slices.IsSortedFunc(rows, func(a, b records.Found) int {
		return cmp.Or(cmp.Compare(a.PositionA, b.PositionA), cmp.Compare(a.PositionB, b.PositionB))
	})
	if !sorted || refuted == 0 {
		t.Errorf("%d rows in order: %t, %d of them below the threshold", len(rows), sorted, refuted)
	}
}

// The bytes shuffled to make buckets grow with documents times bands.
func TestBucketBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "texts.jsonl")
	var lines strings.Builder
	for i := range 600 {
		fmt.Fprintf(&lines, `{"text": "common words and a%d b%d c%d"}`+"\n", i, i/2, i/3)
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	bytes := func(documents, bands int) int64 {
		c := run(t, path, "--shingle=word:1", fmt.Sprint("--limit=", documents), fmt.Sprint("--bands=", bands), "--rows=4", "--methods=bands,signatures")
		verified, estimated := c.Methods[0].Buckets, c.Methods[1].Buckets
		if verified.BucketBytes != estimated.BucketBytes || verified.BucketBytes >= verified.ShuffledBytes {
			t.Errorf("bands %+v, signatures %+v", *verified, *estimated)
		}
		return verified.BucketBytes
	}
	once := bytes(300, 8)
	if documents, bands, both := bytes(600, 8), bytes(300, 16), bytes(600, 16); once == 0 || documents != 2*once || bands != 2*once || both != 4*once {
		t.Errorf("%d bytes; of twice the documents %d, of twice the bands %d, of both %d", once, documents, bands, both)
	}
}
