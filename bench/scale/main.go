// Command scale shows that the work of neardup dedup grows no faster than the corpus:
//
//	go build -tags disable_grpc_modules -o bin/neardup ./cmd/neardup && go run ./bench/scale -neardup bin/neardup
//
// It prints CPU seconds and peak memory for 10^4, 10^5 and 10^6 generated documents, with few and many copies, only
// copies of one page, and a crowd of variants of one page. Two of a hundred documents are edited copies.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/neardup/neardup/bench/internal/process"
	"github.com/neardup/neardup/internal/corpusgen"
)

// corpora lists the corpora, each with its spec for a number of documents.
var corpora = []struct {
	name string
	spec func(documents int) corpusgen.Spec
}{
	{"no copies", func(int) corpusgen.Spec { return corpusgen.Spec{} }},
	{"10 % copies", func(int) corpusgen.Spec { return corpusgen.Spec{Copies: 0.1} }},
	{"50 % copies", func(int) corpusgen.Spec { return corpusgen.Spec{Copies: 0.5} }},
	{"90 % copies", func(int) corpusgen.Spec { return corpusgen.Spec{Copies: 0.9} }},
	{"90 % copies of one page", func(int) corpusgen.Spec { return corpusgen.Spec{Copies: 0.9, OnePage: true} }},
	{"10 % variants of one page", func(n int) corpusgen.Spec { return corpusgen.Spec{Crowd: n / 10, CrowdEdits: 0.02} }},
	{"variants below the threshold", func(n int) corpusgen.Spec { return corpusgen.Spec{Crowd: n, CrowdEdits: 0.03} }},
}

func main() {
	neardup := flag.String("neardup", "bin/neardup", "the binary to measure")
	least := flag.Int("least", 10_000, "documents of the smallest corpora")
	most := flag.Int("most", 1_000_000, "documents of the largest corpora")
	memory := flag.String("memory", "2GB", "what the runs are given")
	only := flag.String("only", "", "the name of one kind of corpus, instead of all")
	words := flag.Int("words", 100, "words of a document on average")
	flag.Parse()
	if err := table(os.Stdout, *neardup, *only, *least, *most, *words, *memory); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func table(w io.Writer, neardup, only string, least, most, words int, memory string) error {
	folder, err := os.MkdirTemp("", "bench-scale-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	fmt.Fprintf(w, "| corpus | documents | MB | CPU s | µs of CPU a document | peak MB | removed | pairs | crowds "+
		"|\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range corpora {
		if only != "" && c.name != only {
			continue
		}
		for n := least; n <= most; n *= 10 {
			spec := c.spec(n)
			spec.Documents, spec.Words, spec.Seed = n, words, 1
			spec.Near, spec.Edits = 0.02, 0.01
			size, taken, counts, err := measure(folder, neardup, memory, spec)
			if err != nil {
				return fmt.Errorf("%s, %d documents: %w", c.name, n, err)
			}
			fmt.Fprintf(w, "| %s | %d | %d | %.1f | %.1f | %d | %d | %d | %d |\n", c.name, n, size/1e6, taken.CPU,
				taken.CPU/float64(n)*1e6, taken.Peak>>20, counts["removed"], counts["pairs"], counts["pairs_partial"])
		}
	}
	return nil
}

// measure generates a corpus and deduplicates it.
func measure(
	folder, neardup, memory string, spec corpusgen.Spec,
) (size int64, t process.Taken, counts map[string]int64, err error) {
	input, output := filepath.Join(folder, "corpus.jsonl"), filepath.Join(folder, "out")
	f, err := os.Create(input)
	if err != nil {
		return 0, t, nil, err
	}
	if err := corpusgen.Write(f, spec); err != nil {
		return 0, t, nil, err
	}
	if err := f.Close(); err != nil {
		return 0, t, nil, err
	}
	info, err := os.Stat(input)
	if err != nil {
		return 0, t, nil, err
	}
	command := exec.Command(neardup, "dedup", input, "--output", output, "--overwrite", "--memory", memory)
	if t, err = process.Measure(command, io.Discard); err != nil {
		return 0, t, nil, err
	}
	data, err := os.ReadFile(filepath.Join(output, "run.json"))
	if err != nil {
		return 0, t, nil, err
	}
	var run struct{ Counts map[string]int64 }
	err = json.Unmarshal(data, &run)
	return info.Size(), t, run.Counts, err
}
