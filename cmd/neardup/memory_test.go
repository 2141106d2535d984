package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/neardup/neardup/records"
)

// inContainer simulates a container with a memory limit, on a machine with 8 GB, and a value of GOMEMLIMIT; "max" and
// math.MaxInt64 mean none.
func inContainer(t *testing.T, limit string, set int64) {
	t.Helper()
	files := fstest.MapFS{}
	for name, content := range map[string]string{
		"proc/meminfo": "MemTotal: 8000000 kB\n", "proc/self/cgroup": "0::/job\n",
		"proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "sys/fs/cgroup/job/memory.max": limit + "\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	oldMachine, oldSet, oldLimit := machine, goMemLimit, debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		machine, goMemLimit = oldMachine, oldSet
		debug.SetMemoryLimit(oldLimit)
	})
	machine, goMemLimit = fs.FS(files), set
	debug.SetMemoryLimit(set)
}

// TestDefaultMemory: with or without --memory, the plan, run.json and help name the same limit and its reason, and the
// collector keeps to nine tenths of it from before the plan on.
func TestDefaultMemory(t *testing.T) {
	input := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(input, []byte(`{"id":"a","text":"some words of a text that is compared"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	const none = math.MaxInt64
	for name, tt := range map[string]struct {
		limit string
		set   int64
		flags []string
		want  records.InForce
		heap  int64
	}{
		"a container":              {"600000000", none, nil, records.InForce{Memory: 300e6, From: "half of the container's limit of 600.0 MB"}, 270e6},
		"no container":             {"max", none, nil, records.InForce{Memory: 4096e6, From: "half of this machine's memory of 8.2 GB"}, 36864e5},
		"GOMEMLIMIT":               {"600000000", 360e6, nil, records.InForce{Memory: 400e6, From: "from GOMEMLIMIT, which is 360.0 MB"}, 360e6},
		"little":                   {"600000000", 90e6, nil, records.InForce{Memory: 256e6, From: "the minimum; from GOMEMLIMIT, which is 90.0 MB is less"}, 90e6},
		"--memory":                 {"600000000", none, []string{"--memory=400MB"}, records.InForce{Memory: 400e6, From: "set by --memory"}, 360e6},
		"--memory over GOMEMLIMIT": {"600000000", 90e6, []string{"--memory=400MB"}, records.InForce{Memory: 400e6, From: "set by --memory"}, 360e6},
	} {
		t.Run(name, func(t *testing.T) {
			inContainer(t, tt.limit, tt.set)
			var out, errs bytes.Buffer
			if status := run(append([]string{"plan", input, "--json", "--workers=1"}, tt.flags...), nil, &out, &errs); status != 0 {
				t.Fatalf("status %d: %s", status, errs.String())
			}
			var planned records.Run
			if err := json.Unmarshal(out.Bytes(), &planned); err != nil {
				t.Fatal(err)
			}
			if tt.want.Workers = 1; planned.InForce != tt.want || planned.Forecast.Memory != tt.want.Memory+100e6 {
				t.Errorf("in force: %+v, at most %d; want %+v", planned.InForce, planned.Forecast.Memory, tt.want)
			}
			if heap := debug.SetMemoryLimit(-1); heap != tt.heap {
				t.Errorf("the collector keeps to %d, want %d", heap, tt.heap)
			}
			out.Reset()
			if status := run(append([]string{"plan", input, "--workers=1"}, tt.flags...), nil, &out, &errs); status != 0 {
				t.Fatalf("status %d: %s", status, errs.String())
			}
			if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, tt.want.From) {
				t.Errorf("the plan does not say %q:\n%s", tt.want.From, out.String())
			}
			if len(tt.flags) > 0 {
				return
			}
			out.Reset()
			if status := run([]string{"dedup", "--help"}, nil, &out, &errs); status != 0 {
				t.Fatalf("status %d: %s", status, errs.String())
			}
			if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, fmt.Sprintf("(default: %.1f GB, %s).", float64(tt.want.Memory)/1e9, tt.want.From)) {
				t.Errorf("help does not say %q:\n%s", tt.want.From, out.String())
			}
		})
	}
}

// TestLimitOfCommands: commands without --memory keep to the default, too, and one on a cluster to what its machine
// has.
func TestLimitOfCommands(t *testing.T) {
	for _, tt := range []struct {
		args []string
		heap int64
	}{
		{[]string{"curve", "--bands=20", "--rows=5"}, 270e6},
		{[]string{"show", "nowhere", "a"}, 270e6},
		{[]string{"export", "nowhere", "--format=csv", "-o", "out"}, 270e6},
		{[]string{"query", "a", "nowhere", "--memory=512MB"}, 4608e5},
		{[]string{"compare", "nowhere"}, 270e6},
		{[]string{"study", "nowhere"}, 270e6},
		{[]string{"eval", "nowhere", "--sample=10"}, 270e6},
		{[]string{"diff", "a", "b", "nowhere"}, 270e6},
		{[]string{"plan", "nowhere", "--runner=flink", "--job-server=localhost:1"}, 420e6},
		{[]string{"plan", "nowhere", "--runner=direct"}, 420e6},
	} {
		inContainer(t, "600000000", math.MaxInt64)
		run(tt.args, nil, io.Discard, io.Discard)
		if heap := debug.SetMemoryLimit(-1); heap != tt.heap {
			t.Errorf("%v: the collector keeps to %d, want %d", tt.args, heap, tt.heap)
		}
	}
}

// TestMoreThanThereIs: a limit above the container's memory causes a warning, and so does a container with less than
// the minimum.
func TestMoreThanThereIs(t *testing.T) {
	for _, tt := range []struct {
		limit, memory string
		warned        bool
	}{
		{"600000000", "500MB", false}, {"600000000", "501MB", true}, {"300000000", "256MB", true}, {"356000000", "256MB", false},
	} {
		inContainer(t, tt.limit, math.MaxInt64)
		var errs bytes.Buffer
		run([]string{"plan", "nowhere", "--memory=" + tt.memory}, nil, io.Discard, &errs)
		if warned := strings.Contains(errs.String(), "the container's limit is"); warned != tt.warned {
			t.Errorf("--memory %s of %s: warned %v:\n%s", tt.memory, tt.limit, warned, errs.String())
		}
	}
}
