package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/internal/fakegcs"
	"github.com/neardup/neardup/internal/fakes3"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/output/index"
)

const indexFolder = "index/"

// stored is what an index has from one night, whichever run added it.
type stored struct {
	Kept, Removed int64
	Files         []string // with their hashes
}

// indexIn returns the content of the index, and an error if it would mislead its readers.
func indexIn(objects map[string]string) (nights []stored, err error) {
	var now struct {
		Generation int
		SHA256     string
	}
	if err := json.Unmarshal([]byte(objects[indexFolder+"current.json"]), &now); err != nil {
		return nil, fmt.Errorf("current.json: %w", err)
	}
	text := objects[fmt.Sprintf("%sgenerations/%06d.json", indexFolder, now.Generation)]
	if sumOf(text) != now.SHA256 {
		return nil, fmt.Errorf("generation %d is not the file that current.json names", now.Generation)
	}
	var g index.Generation
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		return nil, err
	}
	for _, s := range g.Segments {
		night := stored{Kept: s.Runs[0].Kept, Removed: s.Runs[0].Removed}
		for _, f := range s.Files {
			if sumOf(objects[indexFolder+f.Path]) != f.SHA256 {
				return nil, fmt.Errorf("generation %d: %s is not what it lists", g.Number, f.Path)
			}
			night.Files = append(night.Files, strings.Replace(f.Path, s.Name, "RUN", 1)+" "+f.SHA256)
		}
		slices.Sort(night.Files)
		nights = append(nights, night)
	}
	return nights, nil
}

// unlisted returns the files of an index that no generation has.
func unlisted(objects map[string]string) (names []string) {
	listed := map[string]bool{indexFolder + "current.json": true, indexFolder + ".lock": true}
	for name, content := range objects {
		if !strings.HasPrefix(name, indexFolder+"generations/") {
			continue
		}
		listed[name] = true
		var g index.Generation
		if json.Unmarshal([]byte(content), &g) != nil {
			continue
		}
		for _, s := range g.Segments {
			for _, f := range s.Files {
				listed[indexFolder+f.Path] = true
			}
		}
	}
	for _, name := range sorted(objects) {
		if strings.HasPrefix(name, indexFolder) && !listed[name] {
			names = append(names, name)
		}
	}
	return names
}

// night prepares the run of a night that adds to the index.
func (c *cloud) night(in, out string, more ...string) *process {
	c.t.Helper()
	args := []string{"dedup", c.scheme + "b/" + in, "-o", c.scheme + "b/" + out, "--format=jsonl", "--against", c.scheme + "b/index", "--append"}
	return c.command(append(args, more...)...)
}

// grown is a store for a night after an earlier one.
type grown struct {
	objects  map[string]string // before the night
	requests int               // number of requests of the night
	manifest string            // of the night's output
	nights   []stored          // content of the index after the night
}

func grow(t *testing.T, scheme string) (g grown) {
	t.Helper()
	objects := inputs(t, false)
	objects["earlier/0.jsonl"] = objects["in/0.jsonl"][:len(objects["in/0.jsonl"])/2]
	objects["earlier/0.jsonl"] = objects["earlier/0.jsonl"][:strings.LastIndex(objects["earlier/0.jsonl"], "\n")+1]
	c := clouds[scheme](t, objects)
	c.ends(c.command("index", "create", c.scheme+"b/index", "--threshold=.6"), 0)
	c.ends(c.night("earlier", "first"), 0)
	g.objects = maps.Clone(c.all())
	c.disturbed(nil)
	c.ends(c.night("in", "out"), 0)
	g.requests = c.requests()
	var err error
	if g.manifest, err = finished(c.all()); err != nil {
		t.Fatal(err)
	}
	if g.nights, err = indexIn(c.all()); err != nil || len(g.nights) != 2 || g.nights[0].Kept == 0 || g.nights[1].Removed == 0 {
		t.Fatalf("the index has %+v, %v", g.nights, err)
	}
	if left := unlisted(c.all()); len(left) > 0 {
		t.Fatalf("the index has %q besides", left)
	}
	return g
}

// TestKilledNight: whenever a night that adds to an index is killed, the index is the one before or the one after. The
// same command then gives the same output and the same index, and leaves nothing else, or says that both exist. At no
// moment does current.json name a missing file.
func TestKilledNight(t *testing.T) {
	kills := 8
	if nightly.On() {
		kills = 1000
	}
	for scheme := range clouds {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			g := grow(t, scheme)
			for seed := range kills {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					at := 1 + seed*g.requests/kills // from the first request to the last
					killedNight(t, scheme, &g, rand.New(rand.NewPCG(uint64(seed), 45)), func(_ *http.Request, n int) bool { return n >= at })
				})
			}
			t.Run("while publishing", func(t *testing.T) {
				t.Parallel()
				c := killedNight(t, scheme, &g, nil, func(r *http.Request, _ int) bool {
					return r.Header.Get("X-Amz-Copy-Source") != "" || strings.Contains(r.URL.Path, "/moveTo/")
				})
				c.another(t, 1, false)
			})
		})
	}
}

// killedNight kills the night at the first request for which told returns true. If chance is nil, nothing follows.
func killedNight(t *testing.T, scheme string, g *grown, chance *rand.Rand, told func(r *http.Request, n int) bool) *cloud {
	c := clouds[scheme](t, g.objects)
	misled := make(chan error, 1)
	c.watch(func(bucket string, objects map[string]string) {
		c.changed(bucket, objects)
		if _, err := indexIn(objects); err != nil {
			select {
			case misled <- err:
			default:
			}
		}
	})
	p, killed := c.night("in", "out"), false
	effect := chance == nil || chance.IntN(late) == now
	c.disturbed(func(w http.ResponseWriter, r *http.Request, n int) {
		c.mu.Lock()
		first := !killed && told(r, n)
		killed = killed || first
		gone := killed
		c.mu.Unlock()
		if !gone {
			c.store.ServeHTTP(w, r)
			return
		}
		if first {
			t.Logf("killed at request %d, %s %s, which takes effect: %t", n, r.Method, r.URL, effect)
			arrived := readAll(r)
			if err := p.Process.Kill(); err != nil {
				t.Error(err)
			}
			if arrived && effect {
				unheard(c.store, r)
			}
		}
		panic(http.ErrAbortHandler) // the process is gone
	})
	if stderr, status := c.started(p).ended(); !status.Signaled() && status.ExitStatus() != 0 {
		t.Fatalf("exit status %d:\n%s", status.ExitStatus(), stderr)
	}
	nights, err := indexIn(c.all())
	if err != nil || gocmp.Diff(g.nights[:1], nights) != "" && gocmp.Diff(g.nights, nights) != "" {
		t.Errorf("the index has %+v, %v", nights, err)
	}
	c.later(expired)
	c.disturbed(nil)
	if chance == nil {
		return c
	}
	manifest, _ := finished(c.all())
	if chance.IntN(3) == 0 {
		c.another(t, len(nights), manifest != "")
		return c
	}
	stderr, status := c.started(c.night("in", "out")).ended()
	if status != 0 && (manifest == "" || status.ExitStatus() != 3) {
		t.Fatalf("the output was there: %t; exit status %d:\n%s", manifest != "", status.ExitStatus(), stderr)
	}
	c.ended(g.manifest)
	if nights, err = indexIn(c.all()); err != nil || gocmp.Diff(g.nights, nights) != "" {
		t.Errorf("%v, and the index differs:\n%s\n%s", err, gocmp.Diff(g.nights, nights), stderr)
	}
	if left := unlisted(c.all()); len(left) > 0 {
		t.Errorf("the index has %q besides", left)
	}
	select {
	case err := <-misled:
		t.Errorf("readers were misled: %v", err)
	default:
	}
	return c
}

// another runs another night after the killed one, and then the killed one again: no batch is lost. If the killed
// night's output was almost published, the other night ends with a message for a person.
func (c *cloud) another(t *testing.T, nights int, published bool) {
	t.Helper()
	c.put("other/0.jsonl", c.all()["in/1.jsonl"])
	said, status := c.started(c.night("other", "second")).ended()
	unfinished := strings.Contains(said, "was killed while it was publishing")
	if status != 0 && (status.ExitStatus() != 3 || !unfinished || published) {
		t.Errorf("exit status %d:\n%s", status.ExitStatus(), said)
	}
	if now, err := indexIn(c.all()); err != nil || !unfinished && published && len(now) != 3 {
		t.Errorf("of %d nights and another the index has %d, %v", nights, len(now), err)
	}
	if said, status := c.started(c.night("in", "out")).ended(); status != 0 && (!published || status.ExitStatus() != 3) {
		t.Errorf("exit status %d:\n%s", status.ExitStatus(), said)
	}
	if unfinished {
		c.ends(c.night("other", "second"), 0)
	}
	if now, err := indexIn(c.all()); err != nil || len(now) != 3 {
		t.Errorf("the index has %d nights, %v", len(now), err)
	}
	if left := unlisted(c.all()); len(left) > 0 {
		t.Errorf("the index has %q besides", left)
	}
}

// watch calls f after each request.
func (c *cloud) watch(f func(bucket string, objects map[string]string)) {
	switch store := c.store.(type) {
	case *fakes3.Server:
		store.Changed = f
	case *fakegcs.Server:
		store.Changed = f
	}
}

// ended checks that the output of a night has the manifest, that no other output is left beside it, and that nothing
// was wrong before.
func (c *cloud) ended(manifest string) {
	c.t.Helper()
	objects := c.all()
	if got, err := finished(objects); err != nil || got != manifest {
		c.t.Errorf("%v, or the output has another manifest:\n%s", err, got)
	}
	for name := range objects {
		if strings.HasPrefix(name, out+".") {
			c.t.Errorf("%s is left", name)
		}
	}
	if left := c.uploads(); len(left) > 0 {
		c.t.Errorf("unfinished uploads of %q", left)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrong != "" {
		c.t.Errorf("at some moment, %s", c.wrong)
	}
}

// TestTwoNights: of two concurrent nights, the second ends with status 3 and says who has the index, or waits and then
// adds to what the first has added.
func TestTwoNights(t *testing.T) {
	for scheme := range clouds {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			g := grow(t, scheme)
			c := clouds[scheme](t, g.objects)
			c.put("other/0.jsonl", g.objects["in/1.jsonl"])
			arrived, goOn := make(chan bool), make(chan bool)
			c.disturbed(func(w http.ResponseWriter, r *http.Request, n int) {
				if n == g.requests/2 {
					arrived <- true
					<-goOn
				}
				c.store.ServeHTTP(w, r)
			})
			first := c.started(c.night("in", "out"))
			<-arrived
			if said := c.ends(c.night("other", "second"), 3); !strings.Contains(said, "index/.lock is held by job") {
				t.Errorf("%q does not say who has the index", said)
			}
			waiting := c.started(c.night("other", "third", "--wait-lock=1m"))
			close(goOn)
			for _, p := range []*process{first, waiting} {
				if said, status := p.ended(); status != 0 {
					t.Errorf("status %d:\n%s", status.ExitStatus(), said)
				}
			}
			if nights, err := indexIn(c.all()); err != nil || len(nights) != 3 || nights[2].Kept+nights[2].Removed == 0 {
				t.Errorf("the index has %+v, %v", nights, err)
			}
			c.ended(g.manifest)
		})
	}
}

// TestKilledNightOnDisk: the same holds on a disk, whenever the night is killed, again and again.
func TestKilledNightOnDisk(t *testing.T) {
	kills := 4
	if nightly.On() {
		kills = 300
	}
	parent := t.TempDir()
	neardup := func(args ...string) *process {
		p := prepare(t, "neardup", args...)
		p.Dir = parent
		return p
	}
	if err := os.Mkdir(filepath.Join(parent, "in"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, content := range inputs(t, false) {
		write(t, filepath.Join(parent, name), content)
	}
	there := func() (manifest string, nights []stored) {
		files := filesBelow(t, parent)
		manifest, err := finished(files)
		if err != nil {
			t.Error(err)
		}
		if nights, err = indexIn(files); err != nil {
			t.Error(err)
		}
		return manifest, nights
	}
	night := func() *process { return neardup("dedup", "in", "-o", "out", "--against=index", "--append", "--quiet") }
	done := func(p *process) string {
		t.Helper()
		said, status := p.start().ended()
		if status != 0 {
			t.Fatalf("status %d:\n%s", status.ExitStatus(), said)
		}
		return said
	}
	done(neardup("index", "create", "index", "--threshold=.6"))
	begun := time.Now()
	done(night())
	took := time.Since(begun)
	manifest, nights := there()
	random := rand.New(rand.NewPCG(uint64(kills), 45))
	for n := range kills {
		for _, folder := range []string{"index", "out"} {
			if err := os.RemoveAll(filepath.Join(parent, folder)); err != nil {
				t.Fatal(err)
			}
		}
		done(neardup("index", "create", "index", "--threshold=.6"))
		p := night().start()
		time.Sleep(time.Duration(random.Int64N(int64(took)))) // any moment will do
		_ = p.Process.Kill()                                  // it may have ended
		if said, status := p.ended(); !status.Signaled() && status != 0 {
			t.Fatalf("status %d:\n%s", status.ExitStatus(), said)
		}
		before, _ := there()
		if said, status := night().start().ended(); status != 0 && (before == "" || status.ExitStatus() != 3) {
			t.Errorf("kill %d: the output was there: %t; status %d:\n%s", n, before != "", status.ExitStatus(), said)
		}
		if m, has := there(); m != manifest || gocmp.Diff(nights, has) != "" {
			t.Errorf("kill %d: another output, or another index:\n%s", n, gocmp.Diff(nights, has))
		}
		if left := unlisted(filesBelow(t, parent)); len(left) > 0 {
			t.Errorf("kill %d: the index has %q besides", n, left)
		}
	}
}

// filesBelow returns the files below a folder.
func filesBelow(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, path := range names(t, folder) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		below, err := filepath.Rel(folder, path)
		if err != nil {
			t.Fatal(err)
		}
		files[below] = string(data)
	}
	return files
}
