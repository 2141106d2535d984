// Command flink measures the cost per document on Flink, and the cost of a job before its first document:
//
//	go run ./bench/flink -neardup bin/neardup -corpus imdb.jsonl.zst -job-server localhost:8099 -pid PID
//
// It prints CPU seconds of neardup dedup for a corpus and for four times as much, locally and on Flink, and the ratio
// of the differences. It also prints the cost of ten documents. The job server must be on this machine and contain its
// own Flink (docs/flink.md); its process is PID, whose CPU time during a run counts towards the run. Workers are
// loopback, so their CPU time is that of the submitting process.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/bench/internal/process"
)

type bench struct {
	neardup, server string
	pid             int
	folder          string
}

func main() {
	var b bench
	flag.StringVar(&b.neardup, "neardup", "bin/neardup", "the binary to measure")
	flag.StringVar(&b.server, "job-server", "localhost:8099", "the job server")
	flag.IntVar(&b.pid, "pid", 0, "the job server's process")
	corpus := flag.String("corpus", "", "JSON lines with id and text, as zstd")
	flag.Parse()
	if err := b.run(os.Stdout, *corpus); err != nil {
		fmt.Fprintln(os.Stderr, "flink:", err)
		os.Exit(1)
	}
}

func (b *bench) run(w io.Writer, corpus string) (err error) {
	if b.folder, err = os.MkdirTemp("", "bench-flink-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.folder)
	once, fourfold, few := filepath.Join(b.folder, "1x.jsonl"), filepath.Join(b.folder, "4x.jsonl"),
		filepath.Join(b.folder, "few.jsonl")
	for path, size := range map[string]struct{ copies, documents int }{once: {1, 0}, fourfold: {4, 0}, few: {1, 10}} {
		if err := repeat(path, corpus, size.copies, size.documents); err != nil {
			return err
		}
	}
	if _, err := b.flink(once); err != nil { // warm-up
		return err
	}
	fmt.Fprintln(w, "| input | runner | wall s | CPU s |\n|---|---|---|---|")
	cpu := map[string]float64{}
	for _, input := range []string{few, once, fourfold} {
		for _, runner := range []struct {
			name    string
			measure func(string) (process.Taken, error)
		}{{"local", b.local}, {"flink", b.flink}} {
			taken, err := runner.measure(input)
			if err != nil {
				return err
			}
			cpu[runner.name+input] = taken.CPU
			fmt.Fprintf(w, "| %s | %s | %.1f | %.1f |\n", filepath.Base(input), runner.name, taken.Wall, taken.CPU)
		}
	}
	local, flink := cpu["local"+fourfold]-cpu["local"+once], cpu["flink"+fourfold]-cpu["flink"+once]
	fmt.Fprintf(w, "\nCPU of 4x − 1x: %.1f s on flink, %.1f s locally: %.2f times (goal ≤ 1.3); to start: %.1f s and "+
		"%.1f s\n",
		flink, local, flink/local, cpu["flink"+few], cpu["local"+few])
	return nil
}

func (b *bench) local(input string) (process.Taken, error) { return b.dedup(input) }

func (b *bench) flink(input string) (process.Taken, error) {
	before, err := cpuOf(b.pid)
	if err != nil {
		return process.Taken{}, err
	}
	taken, err := b.dedup(input, "--runner", "flink", "--job-server", b.server, "--environment", "loopback")
	if err != nil {
		return taken, err
	}
	after, err := cpuOf(b.pid)
	taken.CPU += after - before
	return taken, err
}

func (b *bench) dedup(input string, flags ...string) (process.Taken, error) {
	args := append([]string{"dedup", input, "--output", filepath.Join(b.folder, "out"), "--overwrite"}, flags...)
	return process.Measure(exec.Command(b.neardup, args...), io.Discard)
}

// ticks is the number of ticks per second in which /proc counts CPU time: USER_HZ.
const ticks = 100

// cpuOf returns the CPU time of a process so far, in seconds.
func cpuOf(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ") // skip the name, which may contain anything
	fields := strings.Fields(rest)
	const user, system = 11, 12 // numbered from the third field
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields))
	}
	u, err := strconv.ParseFloat(fields[user], 64)
	s, err2 := strconv.ParseFloat(fields[system], 64)
	return (u + s) / ticks, errors.Join(err, err2)
}

// repeat writes the first documents of a corpus, or all if documents is 0, several times. Each copy has different
// words, so there are no more similar documents than before.
func repeat(path, corpus string, copies, documents int) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := bufio.NewWriterSize(out, 1<<20)
	for copy := range copies {
		if err := rewrite(w, corpus, copy, documents); err != nil {
			return fmt.Errorf("%s: %w", corpus, err)
		}
	}
	return w.Flush()
}

// rewrite writes the documents with a letter before every word; each copy has its own letter.
func rewrite(w io.Writer, corpus string, copy, documents int) error {
	in, err := os.Open(corpus)
	if err != nil {
		return err
	}
	defer in.Close()
	decoder, err := zstd.NewReader(in)
	if err != nil {
		return err
	}
	defer decoder.Close()
	letter := string(rune('a' + copy))
	scanner := bufio.NewScanner(decoder)
	scanner.Buffer(nil, 64<<20)
	for n := 0; (documents == 0 || n < documents) && scanner.Scan(); n++ {
		var document struct {
			ID   json.RawMessage `json:"id"`
			Text string          `json:"text"`
		}
		if err := json.Unmarshal(scanner.Bytes(), &document); err != nil {
			return err
		}
		words := strings.Fields(document.Text)
		line, err := json.Marshal(map[string]string{
			"id":   letter + string(bytes.Trim(document.ID, `"`)),
			"text": letter + strings.Join(words, " "+letter),
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return scanner.Err()
}
