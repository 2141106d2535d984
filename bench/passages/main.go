// Command passages measures neardup passages on generated corpora of up to 10 GB, written to the temporary folder:
//
//	go build -tags disable_grpc_modules -o bin/neardup ./cmd/neardup && go run ./bench/passages -neardup bin/neardup
//
// It prints CPU seconds and peak memory for 10^6, 10^7 and 10^8 words, of which 3 in 100 occur earlier, and for data
// that no call may hold: copies of one page, a template in all documents, and one document of 1 GB.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/neardup/neardup/bench/internal/process"
)

// corpora lists the corpora to generate.
var corpora = []struct {
	name  string
	write func(c *corpus)
	flags []string
}{
	{"10^6 words", func(c *corpus) { c.quoting(1e6) }, nil},
	{"10^7 words", func(c *corpus) { c.quoting(1e7) }, nil},
	{"10^8 words", func(c *corpus) { c.quoting(1e8) }, nil},
	{"10^9 words", func(c *corpus) { c.quoting(1e9) }, nil},
	{"10^7 copies of 60 words", func(c *corpus) {
		for range int(1e7) {
			c.document(c.own(0, 60))
		}
	}, nil},
	{"150 L-grams in each of 10^6 documents", func(c *corpus) {
		for i := range int(1e6) {
			c.document(c.own(i, 20), c.own(-1, 199))
		}
	}, nil},
	{"1 GB in one document, not compared", large, nil},
	{"1 GB in one document, refused", large, []string{"--max-doc-bytes=1GiB"}},
	{"1 GB in one document, --memory=5400MB", large, []string{"--max-doc-bytes=1GiB", "--memory=5400MB"}},
}

// large writes a document of 1 GB, and one that shares 100 words with it.
func large(c *corpus) {
	c.document(func(yield func([]byte) bool) {
		for i, all := 0, 0; all < 1e9; i++ {
			for word := range c.own(i, 1000) {
				if all += len(word); !yield(word) {
					return
				}
			}
		}
	})
	c.document(c.own(-1, 100), c.own(7, 100))
}

func main() {
	neardup := flag.String("neardup", "bin/neardup", "the binary to measure")
	memory := flag.String("memory", "1GB", "what the runs are given")
	only := flag.String("only", "", "the corpora whose name has this in it; 10^9 words are left out without it")
	flag.Parse()
	if err := table(os.Stdout, *neardup, *memory, *only); err != nil {
		fmt.Fprintln(os.Stderr, "passages:", err)
		os.Exit(1)
	}
}

func table(w io.Writer, neardup, memory, only string) error {
	folder, err := os.MkdirTemp("", "bench-passages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	fmt.Fprintf(w, "| corpus | MB | CPU s | µs of CPU per word | wall s | peak MB | repeated words | passages |\n"+
		"|---|---|---|---|---|---|---|---|\n")
	for _, c := range corpora {
		if !strings.Contains(c.name, only) || only == "" && c.name == "10^9 words" {
			continue
		}
		input, output := filepath.Join(folder, "corpus.jsonl"), filepath.Join(folder, "out")
		size, err := generate(input, c.write)
		if err != nil {
			return err
		}
		args := append([]string{"passages", input, "--output", output, "--overwrite"}, c.flags...)
		if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--memory") }) {
			args = append(args, "--memory", memory)
		}
		taken, err := process.Measure(exec.Command(neardup, args...), io.Discard)
		if err != nil {
			fmt.Fprintf(w, "| %s | %d | %.1f | | %.1f | %d | %v | |\n", c.name, size/1e6, taken.CPU, taken.Wall, taken.Peak/1e6,
				err)
			continue
		}
		data, err := os.ReadFile(filepath.Join(output, "run.json"))
		if err != nil {
			return err
		}
		var run struct {
			Passages struct{ Words, Repeated, Passages int64 }
		}
		if err := json.Unmarshal(data, &run); err != nil {
			return err
		}
		found := run.Passages
		fmt.Fprintf(w, "| %s | %d | %.1f | %.3f | %.1f | %d | %d | %d |\n", c.name, size/1e6, taken.CPU,
			taken.CPU/float64(found.Words)*1e6, taken.Wall, taken.Peak/1e6, found.Repeated, found.Passages)
	}
	return nil
}

func generate(path string, write func(*corpus)) (size int64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	c := &corpus{out: bufio.NewWriterSize(f, 1<<20)}
	write(c)
	if err := c.out.Flush(); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	return info.Size(), err
}

// corpus writes documents as JSON Lines. The words of a document depend only on its number.
type corpus struct {
	out       *bufio.Writer
	documents int
	source    rand.PCG
}

type words = func(yield func(word []byte) bool)

// document writes a document of words. Errors are reported by Flush.
func (c *corpus) document(parts ...words) {
	fmt.Fprintf(c.out, `{"id":"%d","text":"`, c.documents)
	for _, part := range parts {
		for word := range part {
			c.out.Write(word)
		}
	}
	c.out.WriteString("\"}\n")
	c.documents++
}

// vocabulary is the number of distinct words. Their frequencies are about those of Zipf's law.
const vocabulary = 100_000

// own returns the first n words of document i, each after a space.
func (c *corpus) own(i, n int) words {
	return func(yield func([]byte) bool) {
		c.source.Seed(1, uint64(i))
		random := rand.New(&c.source)
		var word []byte
		for range n {
			word = append(word[:0], ' ')
			for left := int(math.Pow(vocabulary, random.Float64())); left > 0; left /= 100 {
				word = append(word, "bcdfghjklmnpqrstvwxz"[left%20], "aeiou"[left/20%5])
			}
			if !yield(word) {
				return
			}
		}
	}
}

// quoting writes documents of 200 words. Every tenth one quotes 60 words of an earlier one.
func (c *corpus) quoting(words int) {
	for i := range words / 200 {
		if i%10 > 0 {
			c.document(c.own(i, 200))
			continue
		}
		quoted := 0
		if i > 0 {
			quoted = rand.New(rand.NewPCG(2, uint64(i))).IntN(i)
		}
		c.document(c.own(i, 140), c.own(quoted, 60))
	}
}
