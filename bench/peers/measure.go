package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/bench/internal/process"
)

// cell is what a tool took for a corpus, and how good its answer is.
type cell struct {
	Tool    string
	Runs    []process.Taken
	Failed  string   `json:",omitempty"` // why there is no answer
	Quality *quality `json:",omitempty"`

	tool tool
}

// least returns the smallest of what the runs took.
func (c cell) least(of func(process.Taken) float64) float64 { return c.sorted(of)[0] }

// median returns the middle one, of two the larger.
func (c cell) median(of func(process.Taken) float64) float64 { return c.sorted(of)[len(c.Runs)/2] }

func (c cell) sorted(of func(process.Taken) float64) (values []float64) {
	for _, r := range c.Runs {
		values = append(values, of(r))
	}
	slices.Sort(values)
	return values
}

func cpu(t process.Taken) float64  { return t.CPU }
func wall(t process.Taken) float64 { return t.Wall }
func peak(t process.Taken) float64 { return float64(t.Peak) }

// measure runs the tools by turns, and judges the answers of the last round. A tool that fails or takes
// too long has a cell that says so, and no further turn.
func measure(o options, c corpus, tools []tool) ([]cell, error) {
	cells := make([]cell, len(tools))
	for i, t := range tools {
		cells[i] = cell{Tool: t.Name, tool: t}
	}
	for round := range o.rounds {
		for i := range cells {
			if cells[i].Failed != "" {
				continue
			}
			fmt.Fprintf(os.Stderr, "peers: %s, round %d of %d: %s\n", c.Name, round+1, o.rounds, cells[i].Tool)
			if err := cells[i].run(o, c, answerOf(i)); err != nil {
				return nil, err
			}
		}
	}
	fmt.Fprintf(os.Stderr, "peers: %s: exact join\n", c.Name)
	return cells, judgeAll(c, cells)
}

func answerOf(i int) string { return filepath.Join(workFolder, fmt.Sprintf("answer-%d", i)) }

func (c *cell) run(o options, corpus corpus, answer string) error {
	if err := os.RemoveAll(answer); err != nil {
		return err
	}
	taken, failed, err := measureApart(c.tool.command(corpus.File, answer), o.patience)
	c.Runs = append(c.Runs, taken)
	c.Failed = failed
	return err
}

// apart is what a process that measures a command prints.
type apart struct {
	process.Taken
	Failed string
}

// measureApart measures a command from a process of its own: to Linux, a process begins with the peak
// memory of the one that started it, and here exact joins have taken much.
func measureApart(c *exec.Cmd, patience time.Duration) (t process.Taken, failed string, err error) {
	self, err := os.Executable()
	if err != nil {
		return t, "", err
	}
	starter := exec.Command(self, append([]string{"-measure", "-patience", patience.String(), "--"}, c.Args...)...)
	starter.Env = c.Env
	starter.Stderr = os.Stderr
	out, err := starter.Output()
	if err != nil {
		return t, "", fmt.Errorf("%v: %w", starter.Args, err)
	}
	var a apart
	err = json.Unmarshal(out, &a)
	return a.Taken, a.Failed, err
}

// printMeasured measures a command and prints what it took.
func printMeasured(command []string, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var a apart
	var err error
	a.Taken, err = process.Measure(exec.CommandContext(ctx, command[0], command[1:]...), io.Discard)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		a.Failed = fmt.Sprintf("stopped after %v", patience)
	case err != nil:
		fmt.Fprintln(os.Stderr, "peers:", err)
		lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
		a.Failed = "failed: " + lines[len(lines)-1]
	}
	return json.NewEncoder(os.Stdout).Encode(a)
}

// judgeAll judges the answers: those of tools that compare the same sets in one join.
func judgeAll(c corpus, cells []cell) error {
	type group struct {
		sets    [][]uint64
		answers []*answer
		cells   []*cell
	}
	groups := map[string]*group{}
	for i := range cells {
		this := &cells[i]
		if this.Failed != "" || this.tool.read == nil {
			continue
		}
		a := newAnswer(c.ids)
		if err := this.tool.read(answerOf(i), a); err != nil {
			return fmt.Errorf("answer of %s: %w", this.Tool, err)
		}
		name, sets, err := this.tool.sets(c)
		if err != nil {
			return err
		}
		if groups[name] == nil {
			groups[name] = &group{sets: sets}
		}
		g := groups[name]
		g.answers, g.cells = append(g.answers, a), append(g.cells, this)
	}
	for _, g := range groups {
		for k, q := range judge(g.sets, g.answers) {
			g.cells[k].Quality = &q
		}
	}
	return nil
}
