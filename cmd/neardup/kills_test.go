package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/nightly"
)

// expired is the time after which the lock of a killed run is taken over.
const expired = 5*time.Minute + 2*time.Second

// What happens to the request at which a run was killed.
const (
	never = iota // it does not reach the store
	now          // it takes effect
	late         // it takes effect once another run has finished
	fates
)

// TestKilled: whenever a run that replaces an output on an object store is killed, the same command completes, with the
// same bytes, and nothing else is left. At no moment is _SUCCESS beside other files than those of its manifest. A
// request that is under way for longer than the lock lasts can only leave an object whose name has its own run's id.
func TestKilled(t *testing.T) {
	small, large, inPhases := 3, 1, 4
	if nightly.On() {
		small, large, inPhases = 600, 60, 50
	}
	for scheme := range clouds {
		for name, n := range map[string]int{"small": small, "large": large, "small, in phases": small} {
			t.Run(scheme+" "+name, func(t *testing.T) {
				t.Parallel()
				flags, most := []string{"--resume=never"}, 2
				if strings.HasSuffix(name, "in phases") {
					flags, most = []string{"--resume=always"}, inPhases
				}
				before := replaced(t, scheme, name == "large", flags...)
				for seed := range n {
					t.Run(fmt.Sprint(seed), func(t *testing.T) {
						t.Parallel()
						killed(t, scheme, before, flags, most, rand.New(rand.NewPCG(uint64(seed), 0)))
					})
				}
			})
		}
	}
}

// killed kills at most the given number of runs.
func killed(t *testing.T, scheme string, before before, flags []string, most int, random *rand.Rand) {
	replace := append(flags, replace...)
	c := clouds[scheme](t, before.objects)
	var held sync.WaitGroup
	another := make(chan bool)
	after := false // whether a request takes effect after the runs
	for range 1 + random.IntN(most) {
		p, at, fate := c.dedup(replace...), 1+random.IntN(before.requests), random.IntN(fates)
		c.disturbed(func(w http.ResponseWriter, r *http.Request, n int) {
			switch {
			case n < at:
				c.store.ServeHTTP(w, r)
				return
			case n == at:
				t.Logf("killed at request %d, %s %s, whose fate is %d", n, r.Method, r.URL, fate)
				arrived := readAll(r)
				if err := p.Process.Kill(); err != nil {
					t.Error(err)
				}
				switch {
				case arrived && fate == now:
					unheard(c.store, r)
				case arrived && fate == late:
					after = true
					held.Go(func() {
						<-another
						unheard(c.store, r)
					})
				}
			}
			panic(http.ErrAbortHandler) // the process is gone
		})
		stderr, status := c.started(p).ended()
		if !status.Signaled() && status.ExitStatus() != 0 {
			t.Fatalf("exit status %d:\n%s", status.ExitStatus(), stderr)
		}
		c.later(expired)
	}
	c.disturbed(nil)
	c.ends(c.dedup(replace...), 0)
	c.holds(before.manifest)
	if left := c.left(); len(left) > 0 {
		t.Errorf("temporary files are left: %q", left)
	}
	close(another)
	held.Wait()
	if !after {
		return
	}
	objects := c.all()
	if manifest, err := finished(objects); err != nil || manifest != before.manifest {
		t.Errorf("after a late request: %v, or another output", err)
	}
	for name := range objects {
		if strings.HasPrefix(name, out+".") && !strings.HasPrefix(name, out+".neardup") && name != out+".lock" {
			t.Errorf("a late request leaves %s", name)
		}
	}
	c.later(expired)
	c.ends(c.dedup(replace...), 0)
	c.holds(before.manifest)
}

// TestLateWorker: a file that a worker writes after the next run has removed its staging folder stays there, and the
// run after that removes it.
func TestLateWorker(t *testing.T) {
	for scheme := range clouds {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			before := replaced(t, scheme, false)
			c := clouds[scheme](t, before.objects)
			p := c.dedup(replace...)
			var killed sync.Once
			held := make(chan *http.Request, 1)
			c.disturbed(func(w http.ResponseWriter, r *http.Request, _ int) {
				if r.Method != http.MethodPut && r.Method != http.MethodPost || !readAll(r) || !strings.Contains(content(r), "/w/") {
					c.store.ServeHTTP(w, r)
					return
				}
				killed.Do(func() {
					held <- r
					if err := p.Process.Kill(); err != nil {
						t.Error(err)
					}
				})
				panic(http.ErrAbortHandler)
			})
			if _, status := c.started(p).ended(); !status.Signaled() {
				t.Fatalf("nothing was written: %v", status)
			}
			c.disturbed(nil)
			c.later(expired)
			c.ends(c.dedup(replace...), 0)
			c.holds(before.manifest)
			objects := c.all()
			unheard(c.store, <-held)
			for name, content := range c.all() {
				if was, ok := objects[name]; !ok && !strings.HasPrefix(name, out+".neardup/") || ok && was != content {
					t.Errorf("the worker wrote %s", name)
				}
			}
			if len(c.all()) != len(objects)+1 {
				t.Errorf("there are %d objects, and were %d", len(c.all()), len(objects))
			}
			c.ends(c.dedup(replace...), 0)
			c.holds(before.manifest)
		})
	}
}

// content returns everything in a request.
func content(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r.URL.String() + string(body)
}

// TestKilledOnDisk: a run in phases that is killed again and again, at any moment, has the same bytes in the end, and
// leaves nothing else, whether its folder is exchanged with the output or its files move one by one.
func TestKilledOnDisk(t *testing.T) {
	kills := 6
	if nightly.On() {
		kills = 50
	}
	input, err := filepath.Abs("../../testdata/tldr")
	if err != nil {
		t.Fatal(err)
	}
	for _, swaps := range []bool{true, false} {
		t.Run(fmt.Sprintf("exchange of folders %t", swaps), func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			dir := filepath.Join(parent, "out")
			started := func(flags ...string) *exec.Cmd {
				if err := os.MkdirAll(dir, 0o777); err != nil {
					t.Fatal(err)
				}
				command := exec.Command("neardup", append([]string{"dedup", input, "--output", dir, "--resume", "always"}, flags...)...)
				command.Dir = parent
				if !swaps { // a working directory cannot be exchanged
					command.Dir = dir
				}
				return command
			}
			ends := func(flags ...string) {
				t.Helper()
				if text, err := started(flags...).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
			}
			begun := time.Now()
			ends()
			took := time.Since(begun)
			manifest, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
			if err != nil {
				t.Fatal(err)
			}
			whole := names(t, parent)
			random := rand.New(rand.NewPCG(uint64(kills), 0))
			const beside, below = ".out.neardup-*/kept", "out/.neardup/*/kept"
			staged := map[string]int{beside: 0, below: 0}
			for range kills {
				command := started("--overwrite")
				if err := command.Start(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(random.Int64N(int64(took)))) // any moment will do
				if err := command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
				if err := command.Wait(); err != nil && command.ProcessState.ExitCode() > 0 {
					t.Fatal(err)
				}
				for there := range staged {
					left, err := filepath.Glob(filepath.Join(parent, there))
					if err != nil {
						t.Fatal(err)
					}
					staged[there] += len(left)
				}
			}
			ends("--overwrite")
			if after, err := os.ReadFile(filepath.Join(dir, "manifest.json")); err != nil || !bytes.Equal(after, manifest) {
				t.Errorf("another manifest, or none: %v", err)
			}
			if after := names(t, parent); !slices.Equal(after, whole) {
				t.Errorf("there are %q, and were %q", after, whole)
			}
			if swaps && staged[below] > 0 || !swaps && staged[beside] > 0 {
				t.Errorf("what was left was staged in %v", staged)
			}
		})
	}
}

// names returns the names of all files and folders below a folder.
func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
