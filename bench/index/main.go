// Command index measures the cost of a night's documents when compared with an index of all previous nights:
//
//	go build -tags disable_grpc_modules -o bin/neardup ./cmd/neardup && go run ./bench/index -neardup bin/neardup
//
// It prints CPU seconds, peak memory and bytes read for the last hundredth of the documents, alone, against an index of
// the others, and added to it; for all documents in one run; and the size of the index by table. Three of ten generated
// documents are copies or variants.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/neardup/neardup/bench/internal/process"
	"github.com/neardup/neardup/internal/corpusgen"
)

func main() {
	neardup := flag.String("neardup", "bin/neardup", "the binary to measure")
	input := flag.String("input", "", "a JSON Lines file, instead of generated documents")
	documents := flag.Int("documents", 10_000_000, "how many documents to generate")
	words := flag.Int("words", 50, "words of a generated document on average")
	memory := flag.String("memory", "2GB", "what the runs are given")
	night := flag.Int("night", 100, "which part of the documents is the last night")
	flag.Parse()
	folder, err := os.MkdirTemp("", "bench-index-")
	if err == nil {
		b := bench{os.Stdout, *neardup, *memory, folder}
		err = b.run(*input, corpusgen.Spec{
			Documents: *documents, Words: *words, Seed: 1, Copies: 0.15, Near: 0.15, Edits: 0.01,
		}, *night)
		os.RemoveAll(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "index:", err)
		os.Exit(1)
	}
}

type bench struct {
	out             io.Writer
	neardup, memory string
	folder          string
}

func (b *bench) run(input string, spec corpusgen.Spec, night int) error {
	if input == "" {
		input = b.path("all.jsonl")
		if err := write(input, func(w io.Writer) error { return corpusgen.Write(w, spec) }); err != nil {
			return err
		}
	}
	documents, bytes, err := b.split(input, night)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%d documents; the night has %d and %.1f MB\n\n", documents, documents/night, float64(bytes)/1e6)
	fmt.Fprintf(b.out, "| | CPU s | peak MB | MB read | removed |\n|---|---|---|---|---|\n")
	create := exec.Command(b.neardup, "index", "create", b.path("index"), "--expect", fmt.Sprint(documents))
	if err := create.Run(); err != nil {
		return err
	}
	against := []string{"--against", b.path("index")}
	for _, run := range []struct {
		name string
		args []string
	}{
		{"all in one run", []string{b.path("before.jsonl"), b.path("night.jsonl")}},
		{"all but the night, added", append(against, "--append", b.path("before.jsonl"))},
		{"the night alone", []string{b.path("night.jsonl")}},
		{"the night against the index", append(against, b.path("night.jsonl"))},
		{"the night, added", append(against, "--append", b.path("night.jsonl"))},
	} {
		if err := b.measure(run.name, run.args); err != nil {
			return fmt.Errorf("%s: %w", run.name, err)
		}
	}
	return b.tables(documents)
}

func (b *bench) path(name string) string { return filepath.Join(b.folder, name) }

func write(path string, to func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(f, 1<<20)
	err = to(buffered)
	if flushing := buffered.Flush(); err == nil {
		err = flushing
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

// split writes the last of the given number of parts of the lines to night.jsonl and the others to before.jsonl. It
// returns the number of lines, and the bytes of the last part.
func (b *bench) split(input string, parts int) (lines int, bytes int64, err error) {
	each := func(do func(line []byte) error) error {
		f, err := os.Open(input)
		if err != nil {
			return err
		}
		defer f.Close()
		for r := bufio.NewReaderSize(f, 1<<20); ; {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				if err := do(line); err != nil {
					return err
				}
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
	if err := each(func([]byte) error { lines++; return nil }); err != nil {
		return 0, 0, err
	}
	at := 0
	err = write(b.path("before.jsonl"), func(before io.Writer) error {
		return write(b.path("night.jsonl"), func(night io.Writer) error {
			return each(func(line []byte) error {
				if at++; at <= lines-lines/parts {
					_, err := before.Write(line)
					return err
				}
				bytes += int64(len(line))
				_, err := night.Write(line)
				return err
			})
		})
	})
	return lines, bytes, err
}

func (b *bench) measure(name string, args []string) error {
	before, err := hasRead()
	if err != nil {
		return err
	}
	command := exec.Command(b.neardup, append([]string{
		"dedup", "--output", b.path("out"), "--overwrite", "--memory", b.memory, "--write", "removed", "--quiet",
	}, args...)...)
	taken, err := process.Measure(command, io.Discard)
	if err != nil {
		return err
	}
	after, err := hasRead()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(b.path("out"), "run.json"))
	if err != nil {
		return err
	}
	var run struct{ Counts map[string]int64 }
	if err := json.Unmarshal(data, &run); err != nil {
		return err
	}
	_, err = fmt.Fprintf(b.out, "| %s | %.2f | %d | %.1f | %d |\n", name, taken.CPU, taken.Peak>>20,
		float64(after-before)/1e6, run.Counts["removed"])
	return err
}

// hasRead returns the bytes read so far by this process and the processes that it has waited for.
func hasRead() (n int64, err error) {
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscanf(string(data), "rchar: %d", &n)
	return n, err
}

// tables prints the bytes of the index per document, by table.
func (b *bench) tables(documents int) error {
	sizes := map[string]int64{}
	segments := os.DirFS(filepath.Join(b.path("index"), "segments"))
	err := fs.WalkDir(segments, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sizes[strings.Split(path, "/")[1]] += info.Size()
		}
		return err
	})
	fmt.Fprintf(b.out, "\n| table of the index | bytes a document |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		fmt.Fprintf(b.out, "| %s | %.1f |\n", name, float64(sizes[name])/float64(documents))
	}
	return err
}
