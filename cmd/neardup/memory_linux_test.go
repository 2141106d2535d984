//go:build !race

// The race detector takes memory, too.

package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/internal/nightly"
)

// asks is an input that needs much memory.
type asks struct {
	name    string
	write   func(t *testing.T, w *bufio.Writer)
	flags   []string
	nightly bool // takes long
}

// TestMemory: a run stays within --memory and 100 MB, as Linux measures it, whatever its input.
func TestMemory(t *testing.T) {
	const memory, beyond = 256_000_000, 100_000_000
	for _, c := range []asks{
		{"long ids", longIDs(20), nil, false},
		{"unreadable records", unreadable(3_000_000, 0), []string{"--max-rejected=100%"}, true},
		{"large unreadable records", unreadable(200, 2_000_000), []string{"--max-rejected=100%"}, true},
		{"large records", largeRecords(3), nil, false},
		{"texts of many words", lettersOnly(3, 8_000_000), nil, false},
		{"large texts, many workers", largeTexts(24), []string{"--workers=16"}, true},
		{"large near-duplicates, many workers", nearTexts(16), []string{"--workers=16"}, false},
		{"a text of 45 MB", tokens(5_000_000), []string{"--max-doc-bytes=64MiB"}, false},
		{"texts of many characters", lettersOnly(3, 8_000_000), []string{"--shingle=char:9"}, true},
		{"pages, many workers", hostilePages(8), []string{"--normalize=strip-markup", "--workers=16"}, false},
		{"copies of one line", copiesOfALine(3_000_000), nil, true},
		{"copies of one line, many workers", copiesOfALine(2_000_000), []string{"--workers=16"}, true},
		{"copies of one line, in phases", copiesOfALine(1_000_000), []string{"--resume=always"}, false},
		{"variants", variants(12_000, 6, false), nil, false},
		{"a crowd", variants(12_000, 2, false), nil, true},
		{"a chain", variants(100_000, 4, true), nil, true},
		{"variants, all documents compared", variants(12_000, 6, false), []string{"--method=complete"}, false},
		{"a chain, all documents compared", variants(100_000, 4, true), []string{"--method=complete"}, true},
		{"unrelated texts, all compared", variants(100_000, 200, false), []string{"--method=complete"}, true},
		{"unrelated texts in one component", variants(30_000, 200, false), []string{"--bands=30", "--rows=1"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.nightly && !nightly.On() {
				t.Skip("takes half a minute; NEARDUP_NIGHTLY=1 runs it")
			}
			input := filepath.Join(t.TempDir(), "in.jsonl")
			f, err := os.Create(input)
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriter(f)
			c.write(t, w)
			fmt.Fprintln(w, `{"id":"one","text":"that is compared, whatever the others are"}`)
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if peak := peakOf(t, append(c.flags, input)...); peak > memory+beyond {
				t.Errorf("%d MB, at most %d are expected", peak/1e6, (memory+beyond)/1_000_000)
			} else {
				t.Logf("%d MB", peak/1e6)
			}
		})
	}
	t.Run("windows", func(t *testing.T) {
		folder := t.TempDir()
		for i := range 6 {
			var b bytes.Buffer
			w, err := zstd.NewWriter(&b, zstd.WithWindowSize(128<<20))
			if err != nil {
				t.Fatal(err)
			}
			for j := range 4 {
				fmt.Fprintf(w, "{\"id\":\"%d-%d\",\"text\":\"the text of %d and %d\"}\n", i, j, i, j)
				if err := w.Flush(); err != nil { // else the total size is known, and no window needed
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.jsonl.zst", i)), b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if peak := peakOf(t, folder); peak > memory+beyond {
			t.Errorf("%d MB, at most %d are expected", peak/1e6, (memory+beyond)/1_000_000)
		}
	})
}

// hostilePages writes pages of 15 MB: one tag, open elements, references, and words in elements.
func hostilePages(n int) func(*testing.T, *bufio.Writer) {
	return func(_ *testing.T, w *bufio.Writer) {
		for i := range n {
			fmt.Fprintf(w, `{"id":"%d","text":"<p`, i)
			for j := range 1_000_000 {
				switch i % 4 {
				case 0:
					fmt.Fprintf(w, " a%08d=b  ", j)
				case 1:
					w.WriteString("><div><b><pre ")
				case 2:
					w.WriteString(">&#xFDFA;&eacut")
				default:
					fmt.Fprintf(w, "><i>w%08d ", j*7919%99_999_989)
				}
			}
			fmt.Fprintf(w, `>page %d"}`+"\n", i)
		}
	}
}

// TestMillionFiles: a million small files are listed, shared and read within 1 GB.
func TestMillionFiles(t *testing.T) {
	if !nightly.On() {
		t.Skip("takes some minutes and a million inodes; NEARDUP_NIGHTLY=1 runs it")
	}
	const files, most = 1_000_000, 1_000_000_000
	input := t.TempDir()
	for i := range files {
		folder := filepath.Join(input, fmt.Sprintf("part-%04d", i/1000))
		if i%1000 == 0 {
			if err := os.Mkdir(folder, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		text := fmt.Sprintf("{\"id\":\"%d\",\"text\":\"the %d words of the %d page are of the family %d\"}\n", i, i/3*7919%1009, i/3, i/3%8191)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("doc-%07d.jsonl", i)), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	peak := peakWith(t, "800MB", "--write=pairs,removed", input)
	t.Logf("%d MB", peak/1e6)
	if peak > most {
		t.Errorf("%d MB, at most %d are expected", peak/1e6, most/1_000_000)
	}
}

// peakOf is peakWith with 256 MB.
func peakOf(t *testing.T, args ...string) int64 {
	t.Helper()
	return peakWith(t, "256MB", args...)
}

// peakWith runs neardup with a memory limit, on two cores unless args have --workers, and returns its peak of memory.
func peakWith(t *testing.T, memory string, args ...string) int64 {
	t.Helper()
	t.Setenv("NEARDUP_WORKERS", "2")
	return peakOfCommand(t, append([]string{"dedup", "--memory=" + memory, "--output", filepath.Join(t.TempDir(), "out")}, args...)...)
}

// peakOfCommand runs neardup and returns its peak of memory.
func peakOfCommand(t *testing.T, args ...string) (peak int64) {
	t.Helper()
	cmd := exec.Command("neardup", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	// The system's figures for an ended process may include the time before it executed its own program.
	held := regexp.MustCompile(`(?m)^VmHWM:\s*(\d+) kB$`)
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			if peak == 0 {
				t.Fatal("nothing was measured")
			}
			return peak
		case <-time.After(5 * time.Millisecond):
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			if found := held.FindSubmatch(status); err == nil && found != nil {
				kib, err := strconv.ParseInt(string(found[1]), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				peak = max(peak, kib<<10)
			}
		}
	}
}

// longIDs writes documents with one text and ids of 10 MB.
func longIDs(n int) func(*testing.T, *bufio.Writer) {
	return func(_ *testing.T, w *bufio.Writer) {
		for i := range n {
			fmt.Fprintf(w, "{\"id\":\"%d%s\",\"text\":\"one and the same text of some words\"}\n", i, strings.Repeat("x", 10_000_000))
		}
	}
}

// copiesOfALine writes documents with one text.
func copiesOfALine(n int) func(*testing.T, *bufio.Writer) {
	return func(_ *testing.T, w *bufio.Writer) {
		for i := range n {
			fmt.Fprintf(w, "{\"id\":\"%d\",\"text\":\"the same few words in every one of them\"}\n", i)
		}
	}
}

// variants writes documents of 200 words, of which some are changed relative to the first document or, in a chain, to
// the previous one.
func variants(n, changed int, chain bool) func(*testing.T, *bufio.Writer) {
	return func(_ *testing.T, w *bufio.Writer) {
		r := mathrand.New(mathrand.NewPCG(1, 1))
		page := make([]string, 200)
		for i := range page {
			page[i] = fmt.Sprintf("w%05x", r.IntN(50_000))
		}
		for i := range n {
			text := page
			if !chain {
				text = append([]string{}, page...)
			}
			for range changed {
				text[r.IntN(len(text))] = fmt.Sprintf("w%05x", r.IntN(50_000))
			}
			fmt.Fprintf(w, "{\"id\":\"%d\",\"text\":%q}\n", i, strings.Join(text, " "))
		}
	}
}

// unreadable writes records that are not closed, with so many random bytes.
func unreadable(n int, size int64) func(*testing.T, *bufio.Writer) {
	return func(t *testing.T, w *bufio.Writer) {
		for i := range n {
			fmt.Fprintf(w, "{\"id\":%d", i)
			if size > 0 {
				random := make([]byte, size)
				_, _ = rand.Read(random) // never fails
				if _, err := w.Write(bytes.ReplaceAll(random, []byte("\n"), nil)); err != nil {
					t.Fatal(err)
				}
			}
			w.WriteByte('\n')
		}
	}
}

// largeRecords writes short documents with 120 MB of other data.
func largeRecords(n int) func(*testing.T, *bufio.Writer) {
	return func(_ *testing.T, w *bufio.Writer) {
		for i := range n {
			fmt.Fprintf(w, "{\"id\":%d,\"text\":\"text number %d\",\"other\":\"%s\"}\n", i, i, strings.Repeat("y", 120_000_000))
		}
	}
}

// lettersOnly writes texts of one-letter words.
func lettersOnly(n, words int) func(*testing.T, *bufio.Writer) {
	return func(_ *testing.T, w *bufio.Writer) {
		rng := mathrand.New(mathrand.NewPCG(1, 2))
		for i := range n {
			fmt.Fprintf(w, "{\"id\":%d,\"text\":\"", i)
			for range words {
				w.Write([]byte{'a' + byte(rng.IntN(26)), ' '})
			}
			io.WriteString(w, "\"}\n")
		}
	}
}

// largeTexts writes texts of 15 MB, no two of which have a shingle in common.
func largeTexts(n int) func(*testing.T, *bufio.Writer) {
	return func(_ *testing.T, w *bufio.Writer) {
		rng := mathrand.New(mathrand.NewPCG(1, 3))
		var words [5000]string
		for i := range words {
			words[i] = fmt.Sprintf("word%d ", i)
		}
		for i := range n {
			fmt.Fprintf(w, "{\"id\":%d,\"text\":\"", i)
			for range 1_650_000 {
				w.WriteString(words[rng.IntN(len(words))])
			}
			io.WriteString(w, "\"}\n")
		}
	}
}

// nearTexts writes texts of 14 MB, each with some words of its own.
func nearTexts(n int) func(*testing.T, *bufio.Writer) {
	return func(_ *testing.T, w *bufio.Writer) {
		const words, others = 1_300_000, 1000
		for i := range n {
			rng, own := mathrand.New(mathrand.NewPCG(1, 4)), mathrand.New(mathrand.NewPCG(uint64(i), 5))
			fmt.Fprintf(w, "{\"id\":%d,\"text\":\"", i)
			for range words {
				word := rng.IntN(200_000)
				if own.IntN(words) < others {
					word = own.IntN(200_000)
				}
				fmt.Fprintf(w, "word%d ", word)
			}
			io.WriteString(w, "\"}\n")
		}
	}
}

// tokens writes one text of n distinct words.
func tokens(n int) func(*testing.T, *bufio.Writer) {
	return func(_ *testing.T, w *bufio.Writer) {
		io.WriteString(w, `{"id":"0","text":"`)
		for i := range n {
			fmt.Fprintf(w, "t%07d ", i)
		}
		io.WriteString(w, "\"}\n")
	}
}
