package dedup_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/internal/corpusgen"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// sameOutput compares the promised files of two outputs.
func sameOutput(t *testing.T, name string, want, got map[string]string) {
	t.Helper()
	for path := range want {
		if got[path] != want[path] {
			t.Errorf("%s: %s has other bytes (%d, was %d)", name, path, len(got[path]), len(want[path]))
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s: %s is new", name, path)
		}
	}
}

// The bytes are the same from run to run, whatever the splits and the runner.
func TestSameBytes(t *testing.T) {
	base := ask(t, "../../testdata/tldr")
	first := promised(t, run(t, base))
	if !strings.Contains(first["corpus/osx.jsonl"], `"id": "osx/`) {
		t.Fatal("the corpus has no osx pages")
	}
	for _, split := range []int64{0, 64 << 10, 100_001, 1 << 20} {
		for _, runner := range []job.Runner{job.Local, job.Prism, job.Direct} {
			config := ask(t, "../../testdata/tldr")
			config.SplitBytes, config.Runner = split, runner
			sameOutput(t, fmt.Sprintf("%s, splits of %d", runner, split), first, promised(t, run(t, config)))
		}
	}
	for _, workers := range []int{1, 2, 8} {
		config := ask(t, "../../testdata/tldr", "--runner=local", "--memory=256MB")
		config.Workers, config.SplitBytes = workers, 64<<10
		sameOutput(t, fmt.Sprintf("%d workers, 256 MB", workers), first, promised(t, run(t, config)))
	}
}

// The same holds for Flink's pipeline, which groups all of the first read at once, lists no copies and has small
// groups.
func TestSameBytesTogether(t *testing.T) {
	flags := []string{"../../testdata/tldr", "--min-words=20", "--threshold=0.5", "--shingle=char:5"}
	alone := run(t, ask(t, flags...))
	if n := alone.Run.Counts; n.NotCompared == 0 || n.Copies == 0 || n.NearPairs == 0 {
		t.Fatalf("one of these is not grouped: %+v", n)
	}
	first := promised(t, alone)
	for _, group := range []int64{0, 2000} {
		config := ask(t, append(flags, "--runner=flink")...)
		config.GroupBytes = group
		if _, err := runJob(t.Context(), config, beamtest.Launch("local", local.Options{})); err != nil {
			t.Fatal(err)
		}
		finished, err := output.Open(t.Context(), config.Output)
		if err != nil {
			t.Fatal(err)
		}
		sameOutput(t, fmt.Sprintf("together, groups of %d", group), first, promised(t, finished))
	}
}

// The same holds if no worker can hold the components of the bundled pages.
func TestSameBytesOfContraction(t *testing.T) {
	first := promised(t, run(t, ask(t, "../../testdata/tldr")))
	for _, limit := range []int64{100, 1000} {
		for _, runner := range []job.Runner{job.Local, job.Prism} {
			config := ask(t, "../../testdata/tldr", "--resume=always")
			config.ConnectDocuments, config.Runner, config.SplitBytes = limit, runner, 100_001
			sameOutput(t, fmt.Sprintf("%s, %d documents in a group", runner, limit), first, promised(t, run(t, config)))
		}
	}
}

// The same holds whether distant copies are listed, and have no edge, or are too many to list.
func TestSameBytesOfListedCopies(t *testing.T) {
	path := generatedFile(t, corpusgen.Spec{Documents: 3000, Seed: 3, Copies: 0.5, Near: 0.2, Edits: 0.02})
	for _, policy := range []string{"--keep=first", "--keep=longest"} {
		var first map[string]string
		var entries int64
		for _, limit := range []int64{0, 1000} {
			for _, runner := range []job.Runner{job.Local, job.Prism} {
				config := ask(t, path, policy)
				config.ConnectDocuments, config.Runner, config.SplitBytes = limit, runner, 100_001
				record, err := runJob(t.Context(), config, launch(config))
				if err != nil {
					t.Fatal(err)
				}
				finished, err := output.Open(t.Context(), config.Output)
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first, entries = promised(t, finished), record.Steps["buckets/entries"]
				}
				sameOutput(t, fmt.Sprintf("%s, %s, at most %d documents in a group", policy, runner, limit), first, promised(t, finished))
				if now := record.Steps["buckets/entries"]; runner == job.Local && (limit > 0) != (now > entries*5/4) {
					t.Errorf("limit %d: %d entries, with a list %d", limit, now, entries)
				}
			}
		}
	}
}

// The same holds for any number of slices in which the rows of a table are sorted.
func TestSameBytesOfSlices(t *testing.T) {
	flags := []string{"../../testdata/tldr", "--shingle=char:5", "--threshold=0.5"}
	first := promised(t, run(t, ask(t, flags...)))
	for _, rows := range []int64{100, 10_000} {
		config := ask(t, flags...)
		config.SliceRows = rows
		sameOutput(t, fmt.Sprintf("%d rows in a slice", rows), first, promised(t, run(t, config)))
	}
}

// The same holds under every policy, each of which gives another corpus.
func TestSameBytesOfPolicies(t *testing.T) {
	seen := map[string]string{}
	for _, flags := range [][]string{
		{}, {"--keep=longest", "--cluster=components"}, {"--keep=max:id"}, {"--keep=min:text", "--cluster=components"}, {"--keep=prefer:windows*,linux.jsonl"},
	} {
		name := strings.Join(flags, " ")
		first := promised(t, run(t, ask(t, append(flags, "../../testdata/tldr")...)))
		corpus := fmt.Sprint(first["corpus/linux.jsonl"], first["corpus/osx.jsonl"], first["corpus/windows.jsonl"])
		if other, ok := seen[corpus]; ok {
			t.Errorf("%q gives the corpus of %q", name, other)
		}
		seen[corpus] = name
		for _, runner := range []job.Runner{job.Local, job.Prism, job.Direct} {
			config := ask(t, append(flags, "../../testdata/tldr")...)
			config.SplitBytes, config.Runner = 100_001, runner
			sameOutput(t, fmt.Sprintf("%s, %s", name, runner), first, promised(t, run(t, config)))
		}
	}
}

// The order in which a store lists files does not matter: a test in package source shuffles it; this one creates files
// in another order, which changes the listing of most file systems, and their times.
func TestSameBytesFromAnotherListing(t *testing.T) {
	var outputs []map[string]string
	for seed := range uint64(3) {
		folder := filepath.Join(t.TempDir(), "in")
		files, err := filepath.Glob("../../testdata/tldr/*.jsonl")
		if err != nil || len(files) == 0 {
			t.Fatal("no test data", err)
		}
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), []byte(read(t, file)), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		outputs = append(outputs, promised(t, run(t, ask(t, folder))))
	}
	sameOutput(t, "second", outputs[0], outputs[1])
	sameOutput(t, "third", outputs[0], outputs[2])
}

// A compressed input gives the same tables except for the files' names, and a corpus that decompresses to the same
// bytes.
func TestCompressedInput(t *testing.T) {
	plain := read(t, "../../testdata/tldr/osx.jsonl") + read(t, "../../testdata/tldr/linux.jsonl")
	folder := t.TempDir()
	path := filepath.Join(folder, "pages.jsonl")
	if err := os.WriteFile(path, []byte(plain), 0o666); err != nil {
		t.Fatal(err)
	}
	want := run(t, ask(t, path))
	wantCorpus := read(t, filepath.Join(want.Dir, "corpus", "pages.jsonl"))
	if want.Run.Counts.Removed == 0 {
		t.Fatal("nothing was removed")
	}
	pack := map[string]func(*bytes.Buffer) error{
		"pages.jsonl.gz": func(b *bytes.Buffer) error {
			w := gzip.NewWriter(b)
			w.Write([]byte(plain))
			return w.Close()
		},
		"pages.jsonl.zst": func(b *bytes.Buffer) error {
			w, err := zstd.NewWriter(b)
			if err != nil {
				return err
			}
			w.Write([]byte(plain))
			return w.Close()
		},
	}
	unpack := map[string]func(string) string{
		"pages.jsonl.gz": func(s string) string {
			r, err := gzip.NewReader(strings.NewReader(s))
			if err != nil {
				t.Fatal(err)
			}
			return readAll(t, r)
		},
		"pages.jsonl.zst": func(s string) string {
			r, err := zstd.NewReader(strings.NewReader(s))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			return readAll(t, r)
		},
	}
	for name, write := range pack {
		var packed bytes.Buffer
		if err := write(&packed); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, packed.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		got := run(t, ask(t, path))
		if corpus := unpack[name](read(t, filepath.Join(got.Dir, "corpus", name))); corpus != wantCorpus {
			t.Errorf("%s: the corpus unpacks to other bytes", name)
		}
		wantPairs, gotPairs := rows[records.Pair](t, want, "pairs"), rows[records.Pair](t, got, "pairs")
		if len(wantPairs) != len(gotPairs) {
			t.Fatalf("%s: %d pairs, want %d", name, len(gotPairs), len(wantPairs))
		}
		for i, w := range wantPairs {
			w.SourceA, w.SourceB = name, name
			if diff := cmp.Diff(w, gotPairs[i]); diff != "" {
				t.Errorf("%s: pair %d: %s", name, i, diff)
			}
		}
	}
}
