package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/neardup/neardup/bench/internal/process"
)

// table measures all cells and prints them with their goals.
func table(w io.Writer, quick bool, neardup, corpus string) error {
	scale := int64(1)
	if quick {
		scale = 10
	}
	t := &printer{out: w}
	fmt.Fprintln(w, "| work | runner | wall s | CPU s | peak MB | spilled MB |\n|---|---|---|---|---|---|")
	const million = 1_000_000

	ours := t.cell("8 M small elements", cell{Work: "small", N: 8 * million / scale, Runner: "local"})
	direct := t.cell("8 M small elements", cell{Work: "small", N: 8 * million / scale, Runner: "direct"})
	prism := t.cell("2 M small elements", cell{Work: "small", N: 2 * million / scale, Runner: "prism"})
	t.goal("CPU of local / prism, per element", ours.CPU/(4*prism.CPU), 1.0/6)
	t.goal("CPU of local / direct", ours.CPU/direct.CPU, 1.0/3)

	ours = t.cell("1 M documents, 320 MB", cell{Work: "large", N: million / scale, Runner: "local"})
	prism = t.cell("1 M documents, 320 MB", cell{Work: "large", N: million / scale, Runner: "prism"})
	t.goal("CPU of local / prism", ours.CPU/prism.CPU, 1.0/4)
	t.goal("peak of local / prism", float64(ours.Peak)/float64(prism.Peak), 1.0/4)

	const tight = 512 << 20
	free := t.cell("8 M documents, 2.5 GB, in memory",
		cell{Work: "large", N: 8 * million / scale, Runner: "local", Memory: 16 << 30})
	spilling := t.cell("the same with 512 MB", cell{Work: "large", N: 8 * million / scale, Runner: "local", Memory: tight})
	t.goal("CPU with 512 MB / in memory", spilling.CPU/free.CPU, 2)
	t.goal("peak with 512 MB, MB", float64(spilling.Peak)/(1<<20), 612)

	one := t.cell("8 M small elements, 1 worker, 1 core",
		cell{Work: "small", N: 8 * million / scale, Runner: "local", Workers: 1})
	two := t.cell("8 M small elements, 2 workers, 2 cores",
		cell{Work: "small", N: 8 * million / scale, Runner: "local", Workers: 2})
	t.goal("wall of 2 workers / 1 (1.8 times as fast is 0.56)", two.Wall/one.Wall, 1/1.8)

	chain := t.cell("20 empty stages", cell{Work: "chain", Runner: "local"})
	t.goal("ms per empty stage", 1000*chain.Wall/chainLength, 5)

	if neardup != "" {
		t.command(neardup, corpus)
	}
	return t.err
}

// printer prints rows until the first error.
type printer struct {
	out io.Writer
	err error
}

func (p *printer) cell(name string, c cell) (t taken) {
	if p.err != nil {
		return t
	}
	t, p.err = measureCell(c)
	p.row(name, c.Runner, t)
	return t
}

func (p *printer) row(name, runner string, t taken) {
	if t.GaveUp {
		runner += ", stopped"
	}
	if p.err == nil {
		fmt.Fprintf(p.out, "| %s | %s | %.2f | %.2f | %d | %d |\n", name, runner, t.Wall, t.CPU, t.Peak>>20, t.Spilled>>20)
	}
}

func (p *printer) goal(name string, value, most float64) {
	reached := "yes"
	if value > most {
		reached = "NO"
	}
	if p.err == nil {
		fmt.Fprintf(p.out, "| → %s: **%.2f** (goal ≤ %.2f: %s) | | | | | |\n", name, value, most, reached)
	}
}

// command measures neardup itself.
func (p *printer) command(neardup, corpus string) {
	for _, runner := range []string{"local", "direct", "prism"} {
		if p.err != nil {
			return
		}
		output, err := os.MkdirTemp("", "bench-runner-")
		if err != nil {
			p.err = err
			return
		}
		var t taken
		t.Taken, p.err = process.Measure(exec.Command(neardup, "dedup", corpus, "--runner="+runner, "--output",
			output, "--overwrite"), io.Discard)
		p.row("neardup dedup", runner, t)
		if err := os.RemoveAll(output); err != nil && p.err == nil {
			p.err = err
		}
	}
}
