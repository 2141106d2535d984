// Command large measures neardup dedup on many short documents, and checks that it finds the planted ones:
//
//	go build -tags disable_grpc_modules -o bin/neardup ./cmd/neardup && go run ./bench/large 1000000 100000000
//
// For each number of documents, it generates a corpus with about 155 bytes per document. Of these, 2 % are
// near-duplicates of another document, 1 % copies of another, 1 % variants of one template, all above the threshold,
// and 1 % copies of one page. It runs dedup, writing tables only, and fails if a table has anything that was not
// planted, or lacks more than the recall allows. All runs use the bands that the first one chose.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/neardup/neardup/bench/internal/process"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

func main() {
	neardup := flag.String("neardup", "bin/neardup", "the binary to measure")
	memory := flag.String("memory", "2GB", "what a run is given")
	temp := flag.String("temp", os.TempDir(), "where corpora and temporary files are")
	seed := flag.Uint64("seed", 1, "what the corpora follow from")
	resume := flag.String("resume", "never", "never for one job, always for phases that keep what they have done")
	flag.Parse()
	b := &bench{neardup: *neardup, memory: *memory, temp: *temp, seed: *seed, resume: *resume}
	if err := b.runs(os.Stdout, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "large:", err)
		os.Exit(1)
	}
}

// A bench runs neardup on corpora.
type bench struct {
	neardup, memory, temp, resume string
	seed                          uint64
	bands, rows                   int // chosen by the first run
}

func (b *bench) runs(w io.Writer, sizes []string) error {
	for _, size := range sizes {
		documents, err := strconv.Atoi(size)
		if err != nil || documents < block {
			return fmt.Errorf("%s: give numbers of documents, %d or more", size, block)
		}
		if err := b.run(w, documents); err != nil {
			return fmt.Errorf("%d documents: %w", documents, err)
		}
	}
	return nil
}

func (b *bench) run(w io.Writer, documents int) error {
	folder, err := os.MkdirTemp(b.temp, "bench-large-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	corpus, err := b.corpus(folder, documents)
	if err != nil {
		return err
	}
	temporary, out := filepath.Join(folder, "temporary"), filepath.Join(folder, "out")
	if err := os.Mkdir(temporary, 0o777); err != nil {
		return err
	}
	command := exec.Command(b.neardup, "dedup", corpus, "--output", out, "--write", "pairs,clusters,removed,rejected",
		"--memory", b.memory, "--temp-dir", temporary, "--resume", b.resume, "--quiet")
	if b.bands > 0 {
		command.Args = append(command.Args, "--bands", strconv.Itoa(b.bands), "--rows", strconv.Itoa(b.rows))
	}
	var most, kept int64
	taken, err := process.Watch(command, io.Discard, func(pid int) {
		most, kept = max(most, held(pid, temporary)), max(kept, below(folder, ".out.*/kept/*"))
	})
	if err != nil {
		return err
	}
	finished, err := output.Open(context.Background(), out)
	if err != nil {
		return err
	}
	run := finished.Run
	b.bands, b.rows = run.Chosen.Bands, run.Chosen.Rows
	fmt.Fprintf(w, "%d documents, %d MB, %d bands of %d rows: %.1f CPU s, %.2f µs a document, %.1f s, peak %d MB, "+
		"temporary files at most %d MB, kept ones %d MB\n", documents, run.Input.Bytes/1e6, b.bands, b.rows, taken.CPU,
		taken.CPU/float64(documents)*1e6, taken.Wall, taken.Peak/1e6, most/1e6, kept/1e6)
	printPhases(w, run.Stages)
	return check(w, finished, documents)
}

// corpus generates documents in a file in the folder.
func (b *bench) corpus(folder string, documents int) (string, error) {
	f, err := os.Create(filepath.Join(folder, "corpus.jsonl"))
	if err != nil {
		return "", err
	}
	g := &generator{seed: b.seed}
	if err := g.write(f, documents); err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// held returns the size of the files below a folder that a process has open. Most have no name. 0 except on Linux.
func held(pid int, folder string) (bytes int64) {
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	seen := map[uint64]bool{}
	for _, link := range open {
		name, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(name, folder+"/") {
			continue
		}
		info, err := os.Stat(link)
		if err != nil {
			continue // closed in the meantime
		}
		if file, ok := info.Sys().(*syscall.Stat_t); ok && !seen[file.Ino] {
			seen[file.Ino] = true
			bytes += file.Blocks * 512
		}
	}
	return bytes
}

// below returns the size of the files in a folder that match a pattern.
func below(folder, pattern string) (bytes int64) {
	names, _ := filepath.Glob(filepath.Join(folder, pattern))
	for _, name := range names {
		if info, err := os.Stat(name); err == nil { // otherwise, it has been moved
			bytes += info.Size()
		}
	}
	return bytes
}

// phases groups stages by the prefixes of their names. The last phase has all remaining stages.
var phases = []struct {
	name     string
	prefixes []string
}{
	{"read and sign", []string{"source.Read", "signature."}},
	{"copies and buckets", []string{"candidates."}},
	{"connect", []string{"components."}},
	{"read again", []string{"source.Fetch", "sets."}},
	{"compare", []string{"verify.", "crowds.", "spool."}},
	{"decide", []string{"decide."}},
	{"tables", []string{""}},
}

func printPhases(w io.Writer, stages []records.Stage) {
	took := make([]records.Stage, len(phases))
	for _, s := range stages {
		p := 0
		for !begins(s.Name, phases[p].prefixes) {
			p++
		}
		took[p].CPU += s.CPU
		took[p].Bytes += s.Bytes
		took[p].Spilled += s.Spilled
	}
	fmt.Fprint(w, "| phase | CPU s | MB sent on | MB of them on disk |\n|---|---|---|---|\n")
	for p, t := range took {
		fmt.Fprintf(w, "| %s | %.1f | %d | %d |\n", phases[p].name, t.CPU, t.Bytes/1e6, t.Spilled/1e6)
	}
}

func begins(name string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// check compares the tables with the planted documents, and prints what was found.
func check(w io.Writer, finished *output.Finished, documents int) error {
	type row struct {
		ID     string `parquet:"id"`
		KeptID string `parquet:"kept_id"`
		Reason string `parquet:"reason"`
	}
	found := map[string]int{}
	for r, err := range output.Rows[row](context.Background(), finished, output.Removed) {
		if err != nil {
			return err
		}
		kind, family := split(r.ID)
		if _, kept := split(r.KeptID); kind == "own" || family != kept {
			return fmt.Errorf("removed/ has %s, for %s", r.ID, r.KeptID)
		}
		if exact := kind == "copy" || kind == "page"; exact && r.Reason == records.ReasonNear {
			return fmt.Errorf("removed/ has %s as %s", r.ID, r.Reason)
		}
		found[kind]++
	}
	type pair struct {
		IDA string `parquet:"id_a"`
		IDB string `parquet:"id_b"`
	}
	for p, err := range output.Rows[pair](context.Background(), finished, output.Pairs) {
		if err != nil {
			return err
		}
		_, a := split(p.IDA)
		if _, b := split(p.IDB); a != b {
			return fmt.Errorf("pairs/ has %s and %s", p.IDA, p.IDB)
		}
	}
	recall := finished.Run.Parameters.Recall
	var problems []string
	for _, p := range planted(documents) {
		allowed := 0.
		if !p.exact { // a run with the requested recall misses more with probability 1e-9
			missed := float64(p.number) * (1 - recall)
			allowed = missed + 6*math.Sqrt(missed) + 6
		}
		fmt.Fprintf(w, "%s: %d of %d found\n", p.kind, found[p.kind], p.number)
		if n := found[p.kind]; n > p.number || float64(p.number-n) > allowed {
			problems = append(problems, fmt.Sprintf("%d of %d %s found", n, p.number, p.kind))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "; "))
	}
	return nil
}

// split returns the kind and the family of the document with an id.
func split(id string) (kind, family string) {
	kind, rest, _ := strings.Cut(id, "/")
	_, family, _ = strings.Cut(rest, "/")
	return kind, family
}

// A kind is a kind of documents that should be removed.
type kind struct {
	kind   string
	number int
	exact  bool
}

func planted(documents int) []kind {
	at := func(slot int) int { return documents/block + min(1, max(0, documents%block-slot)) }
	return []kind{
		{"copy", at(copied), true},
		{"near", at(near) + at(near+1), false},
		{"variant", max(0, at(variants)-1), false}, // one variant is kept
		{"page", max(0, at(pages)-1), true},
	}
}
