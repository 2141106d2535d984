package peers

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
	"syscall"
	"time"

	"github.com/neardup/neardup/bench/internal/process"
)

// cell is the cost of a tool for a corpus, and the quality of its answer.
type cell struct {
	Tool    string
	Runs    []process.Taken
	Failed  string   `json:",omitempty"` // why there is no answer
	Quality *quality `json:",omitempty"` // judged by the sets that the tool compares
	OnOurs  *quality `json:",omitempty"` // judged by neardup's sets, if asked for
	Disk    int64    `json:",omitempty"` // maximum size of a run's folder, if asked for

	tool tool
}

// least returns the minimum over the runs.
func (c cell) least(of func(process.Taken) float64) float64 { return c.sorted(of)[0] }

// median returns the median over the runs, or the larger middle value.
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

// measure runs the tools in turns, and judges the answers of the last round. If a tool fails or takes too long, its
// cell says so, and it is not run again.
func measure(o options, c corpus, tools []tool) ([]cell, error) {
	cells := make([]cell, len(tools))
	for i, t := range tools {
		cells[i] = cell{Tool: t.Name, Failed: t.why, tool: t}
	}
	for round := range o.rounds {
		for i := range cells {
			if cells[i].Failed != "" || o.public && round > 0 && cells[i].least(wall) > o.patience.Seconds()/10 {
				continue
			}
			fmt.Fprintf(os.Stderr, "peers: %s, round %d of %d: %s\n", c.Name, round+1, o.rounds, cells[i].Tool)
			if err := cells[i].run(o, c, answerOf(i)); err != nil {
				return nil, err
			}
		}
	}
	fmt.Fprintf(os.Stderr, "peers: %s: exact join\n", c.Name)
	return cells, judgeAll(o, c, cells)
}

func answerOf(i int) string { return filepath.Join(workFolder, fmt.Sprintf("answer-%d", i)) }

func (c *cell) run(o options, corpus corpus, answer string) error {
	if err := os.RemoveAll(answer); err != nil {
		return err
	}
	command := c.tool.command(corpus.File, answer)
	if o.public {
		if err := scratchFor(command); err != nil {
			return err
		}
	}
	taken, err := measureApart(command, o)
	c.Runs = append(c.Runs, taken.Taken)
	c.Failed, c.Disk = taken.Failed, max(c.Disk, taken.Disk)
	return err
}

// apart is the output of a process that measures a command.
type apart struct {
	process.Taken
	Failed string
	Disk   int64
}

// measureApart measures a command in a process of its own: on Linux, a process starts with the peak memory of its
// parent, and exact joins have used much memory in this one.
func measureApart(c *exec.Cmd, o options) (a apart, err error) {
	self, err := os.Executable()
	if err != nil {
		return a, err
	}
	flags := []string{"-measure", "-patience", o.patience.String()}
	if o.public {
		flags = append(flags, "-watch", scratch)
	}
	starter := exec.Command(self, slices.Concat(flags, []string{"--"}, c.Args)...)
	starter.Env, starter.Stderr = c.Env, os.Stderr
	out, err := starter.Output()
	if err != nil {
		return a, fmt.Errorf("%v: %w", starter.Args, err)
	}
	return a, json.Unmarshal(out, &a)
}

// printMeasured measures a command and prints the result, including the maximum size of a folder during the run.
func printMeasured(command []string, patience time.Duration, folder string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var a apart
	var err error
	adopt()
	looks := 0
	look := func() { a.Disk = max(a.Disk, sizeOf(folder)) }
	a.Taken, err = process.Watch(grouped(exec.CommandContext(ctx, command[0], command[1:]...)), io.Discard, func(int) {
		if looks++; looks%5 == 0 && folder != "" {
			look()
		}
	})
	look()
	a.CPU, a.Peak = reap(a.Taken)
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

// grouped makes the processes that a command starts end with it.
func grouped(c *exec.Cmd) *exec.Cmd {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 10 * time.Second
	return c
}

// judgeAll judges the answers, with one exact join for all tools that compare the same sets.
func judgeAll(o options, c corpus, cells []cell) error {
	type group struct {
		sets    [][]uint64
		answers []*answer
		cells   []*cell
	}
	groups := map[string]*group{}
	var all group // for Public: all answers, to judge by neardup's sets
	for i := range cells {
		this := &cells[i]
		if this.Failed != "" || this.tool.read == nil {
			continue
		}
		a := newAnswer(c.ids)
		if err := this.tool.read(answerOf(i), a); err != nil {
			return fmt.Errorf("answer of %s: %w", this.Tool, err)
		}
		if this.tool.sets == nil {
			all.answers, all.cells = append(all.answers, a), append(all.cells, this)
			continue
		}
		name, sets, err := this.tool.sets(c)
		if err != nil && o.public {
			this.Failed = "failed: " + err.Error()
			continue
		} else if err != nil {
			return err
		}
		if groups[name] == nil {
			groups[name] = &group{sets: sets}
		}
		g := groups[name]
		g.answers, g.cells = append(g.answers, a), append(g.cells, this)
	}
	for _, g := range groups {
		if o.public {
			if err := joinedTwice(g.sets); err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			all.answers, all.cells = append(all.answers, g.answers...), append(all.cells, g.cells...)
		}
		for k, q := range judge(g.sets, g.answers) {
			g.cells[k].Quality = &q
		}
	}
	if len(all.answers) == 0 {
		return nil
	}
	_, sets, err := shingleSets(c)
	if err != nil {
		return err
	}
	for k, q := range judge(sets, all.answers) {
		all.cells[k].OnOurs = &q
	}
	return nil
}
