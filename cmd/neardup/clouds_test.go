package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/fakegcs"
	"github.com/neardup/neardup/internal/fakes3"
	"github.com/neardup/neardup/internal/httpfault"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// TestTwoRuns: a run that finds the output in use, by any machine, ends with status 3 and says by whom.
func TestTwoRuns(t *testing.T) {
	for scheme := range clouds {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			before := replaced(t, scheme, false)
			c := clouds[scheme](t, before.objects)
			arrived, goOn := make(chan bool), make(chan bool)
			c.disturbed(func(w http.ResponseWriter, r *http.Request, n int) {
				if n == before.requests/2 {
					arrived <- true
					<-goOn
				}
				c.store.ServeHTTP(w, r)
			})
			first := c.started(c.dedup(replace...))
			<-arrived
			host, err := os.Hostname()
			if err != nil {
				t.Fatal(err)
			}
			said := c.ends(c.dedup(replace...), 3)
			if want := fmt.Sprintf("(process %d on %s, since ", first.Process.Pid, host); !strings.Contains(said, want) || !strings.Contains(said, "out/.lock is held by job "+c.holder()) {
				t.Errorf("%q does not say %q", said, want)
			}
			close(goOn)
			if said, status := first.ended(); status != 0 {
				t.Errorf("the first: status %d:\n%s", status.ExitStatus(), said)
			}
			c.disturbed(nil)
			c.holds(before.manifest)
		})
	}
}

// TestReport: the output of a run in a store has its page, and report draws the same page again, with the texts, to a
// file, to the store and to standard output. Nothing else in the store changes.
func TestReport(t *testing.T) {
	for scheme := range clouds {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			c := clouds[scheme](t, inputs(t, false))
			run := c.dedup()
			c.ends(run, 0)
			if want := "\nreport        " + c.scheme + "b/out/report.html\n"; !strings.HasSuffix(run.stdout.String(), want) {
				t.Errorf("the summary does not end with %q:\n%s", want, &run.stdout)
			}
			before := c.all()
			page := before[out+output.ReportFile]
			for _, want := range []string{" of 120 documents removed</h1>", "<mark class=", "kept", "removed"} {
				if !strings.Contains(page, want) {
					t.Errorf("the page of the run has no %q", want)
				}
			}
			dir := c.scheme + "b/out"
			stdout := c.command("report", dir)
			c.ends(stdout, 0)
			again := stdout.stdout.String()
			// The run's time went on while its page was drawn.
			if _, body, _ := strings.Cut(again, "In short"); !strings.Contains(page, body[:strings.Index(body, `<h2 id="cost">`)]) {
				t.Error("the page drawn again is another than that of the run")
			}
			local := filepath.Join(t.TempDir(), "page.html")
			for _, file := range []string{local, c.scheme + "b/page.html"} {
				c.ends(c.command("report", dir, "-o", file), 0)
				if said := c.ends(c.command("report", dir, "-o", file), 3); !strings.Contains(said, file+" already exists") {
					t.Errorf("%q does not say that there is %s", said, file)
				}
				c.ends(c.command("report", dir, "-o", file, "--overwrite"), 0)
			}
			after := c.all()
			inStore := after["page.html"]
			delete(after, "page.html")
			if content, err := os.ReadFile(local); err != nil || string(content) != again || inStore != again {
				t.Errorf("%v; pages of %d, %d and %d bytes", err, len(content), len(inStore), len(again))
			}
			if !maps.Equal(before, after) {
				t.Errorf("there are %q, and were %q", sorted(after), sorted(before))
			}
			if said := c.ends(c.command("report", c.scheme+"b/none"), 2); !strings.Contains(said, "folder "+c.scheme+"b/none does not exist") {
				t.Errorf("%q does not say that there is no output", said)
			}
		})
	}
}

// holder returns the job that holds the lock, or "".
func (c *cloud) holder() string {
	_, after, _ := strings.Cut(c.all()[out+".lock"], `"job":"`)
	job, _, _ := strings.Cut(after, `"`)
	return job
}

// TestStopped: a run that is stopped at any request, while another takes its lock by force, finds out when it
// continues, before or after the other's end. It ends with status 3, and leaves the other's output alone. On S3 the
// other waits for a minute.
func TestStopped(t *testing.T) {
	rounds := map[string]int{"gs": 10}
	if nightly.On() {
		rounds = map[string]int{"gs": 200, "s3": 30}
	}
	for scheme, n := range rounds {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			before := replaced(t, scheme, false)
			for seed := range n {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					stopped(t, scheme, before, rand.New(rand.NewPCG(uint64(seed), 1)))
				})
			}
		})
	}
}

func stopped(t *testing.T, scheme string, before before, random *rand.Rand) {
	c := clouds[scheme](t, before.objects)
	at, held, meanwhile := 1+random.IntN(before.requests), random.IntN(2) == 0, random.IntN(2) == 0
	arrived, goOn := make(chan bool), make(chan bool)
	p := c.dedup(replace...)
	c.disturbed(func(w http.ResponseWriter, r *http.Request, n int) {
		if n == at && readAll(r) {
			t.Logf("stopped at request %d, %s %s, which takes effect later: %t; goes on meanwhile: %t", n, r.Method, r.URL, held, meanwhile)
			_ = p.Process.Signal(syscall.SIGSTOP) // it may have ended and abandoned a request
			arrived <- true
			if held {
				<-goOn
			}
		}
		c.store.ServeHTTP(w, r)
	})
	c.started(p)
	type ending struct {
		said   string
		status syscall.WaitStatus
	}
	ended := make(chan ending, 1)
	go func() {
		said, status := p.ended()
		ended <- ending{said, status}
	}()
	select {
	case <-arrived:
	case <-ended: // it had fewer requests
		return
	}
	job := c.holder()
	committed, _ := finished(c.all())
	var first ending
	proceed := sync.OnceFunc(func() {
		close(goOn)
		_ = p.Process.Signal(syscall.SIGCONT)
		first = <-ended
	})
	var taken atomic.Int64
	wait, named := int64(1+random.IntN(before.requests/2)), false
	c.disturbed(func(w http.ResponseWriter, r *http.Request, _ int) {
		c.store.ServeHTTP(w, r)
		if by := c.holder(); meanwhile && by != job && by != "" && taken.Add(1) == wait {
			named = true
			proceed() // while this request waits, the other has the lock
		}
	})
	c.ends(c.dedup("--overwrite", "--threshold=0.7", "--write=corpus,clusters", "--force-unlock"), 0)
	proceed()
	c.disturbed(nil)
	manifest, err := finished(c.all())
	if err != nil {
		t.Error(err)
	}
	want := "the lock of job " + job + " was deleted while the job was running"
	if named {
		want = "the lock of job " + job + " was taken over by job "
	}
	switch status := first.status.ExitStatus(); {
	case status == 0 && (job == "" || committed == before.manifest): // it had not begun, or was done
	case job == "" && status == 3:
	case status != 3 || !strings.Contains(first.said, want):
		t.Errorf("exit status %d, want 3 and %q:\n%s", status, want, first.said)
	case manifest == before.manifest:
		t.Error("it replaced the output of the other")
	}
	c.ends(c.dedup(replace...), 0)
	c.holds(before.manifest)
}

// TestUnconditional: a store that ignores the conditions of writes is refused by name. One that ignores or refuses
// those of removals is used for a new output, and leaves an existing one unchanged.
func TestUnconditional(t *testing.T) {
	for _, scheme := range slices.Sorted(maps.Keys(clouds)) {
		ignoring := func(methods ...string) func(*fakes3.Server, *fakegcs.Server) {
			return func(s3 *fakes3.Server, gs *fakegcs.Server) {
				if s3 != nil {
					s3.Unconditional = methods
				} else {
					gs.Unconditional = methods
				}
			}
		}
		t.Run(scheme+" writes", func(t *testing.T) {
			before := inputs(t, false)
			c := clouds[scheme](t, before, ignoring(http.MethodPut, http.MethodPost))
			said := c.ends(c.dedup(), 2)
			if want := c.scheme + "b/out: the object store ignores conditional requests"; !strings.Contains(said, want) {
				t.Errorf("%q does not say %q", said, want)
			}
			if now := c.all(); !maps.Equal(now, before) {
				t.Errorf("there are %q", sorted(now))
			}
		})
		t.Run(scheme+" removals", func(t *testing.T) {
			c := clouds[scheme](t, inputs(t, false), ignoring(http.MethodDelete))
			c.unconditional(t)
		})
		if scheme == "gs" {
			continue // no such store answers like this
		}
		t.Run(scheme+" removals refused", func(t *testing.T) {
			c := clouds[scheme](t, inputs(t, false))
			c.disturbed(func(w http.ResponseWriter, r *http.Request, _ int) {
				if r.Method == http.MethodDelete && r.Header.Get("If-Match") != "" {
					c.refuse(w, r, http.StatusNotImplemented)
					return
				}
				c.store.ServeHTTP(w, r)
			})
			c.unconditional(t)
		})
	}
}

// unconditional runs twice on a store that ignores conditions of removals.
func (c *cloud) unconditional(t *testing.T) {
	t.Helper()
	c.ends(c.dedup(), 0)
	before := c.all()
	if manifest, err := finished(before); err != nil || manifest == "" {
		t.Fatalf("%v, or no output", err)
	}
	said := c.ends(c.dedup(replace...), 2)
	if want := c.scheme + "b/out: the object store does not support conditional DELETE"; !strings.Contains(said, want) {
		t.Errorf("%q does not say %q", said, want)
	}
	after := c.all()
	for _, objects := range []map[string]string{before, after} {
		delete(objects, out+".lock") // a lock without a holder
	}
	if !maps.Equal(before, after) {
		t.Errorf("there are %q, and were %q", sorted(after), sorted(before))
	}
	c.ends(c.dedup("--weak-overwrite", "--write=corpus"), 0)
	if manifest, err := finished(c.all()); err != nil || manifest == before[out+output.ManifestFile] {
		t.Errorf("%v, or it was not replaced", err)
	}
	for _, args := range [][]string{{"study", "--k=5"}, {"compare", "--methods=bands,brute-force"}} {
		args = append(args, c.scheme+"b/in/0.jsonl", "-o", c.scheme+"b/"+args[0])
		c.ends(c.command(args...), 0)
		if said := c.ends(c.command(append(args, "--overwrite")...), 2); !strings.Contains(said, "add --weak-overwrite") {
			t.Errorf("%q does not name the flag", said)
		}
		c.ends(c.command(append(args, "--weak-overwrite")...), 0)
	}
}

// TestFaultyStore: a run succeeds on a store that fails some of its requests in any way, with the same bytes, and says
// how many it repeated.
func TestFaultyStore(t *testing.T) {
	kinds := map[string]httpfault.Fault{
		"refused": {Kind: httpfault.Error, Status: 503}, "reset": {Kind: httpfault.Reset}, "lost": {Kind: httpfault.Lost},
		"cut": {Kind: httpfault.Cut, Bytes: 100},
	}
	for scheme := range clouds {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			before := replaced(t, scheme, false)
			for name, fault := range kinds {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					faulty(t, scheme, before, func(_ *http.Request, n int) httpfault.Fault {
						if n%17 == 0 {
							return fault
						}
						return httpfault.Fault{}
					})
				})
			}
			t.Run("stalled", func(t *testing.T) { // takes half a minute
				t.Parallel()
				var once sync.Once
				faulty(t, scheme, before, func(r *http.Request, _ int) (fault httpfault.Fault) {
					if r.URL.Query().Get("prefix") == "in/" {
						once.Do(func() { fault = httpfault.Fault{Kind: httpfault.Stall, Bytes: 100} })
					}
					return fault
				})
			})
		})
	}
}

func faulty(t *testing.T, scheme string, before before, decide func(r *http.Request, n int) httpfault.Fault) {
	c := clouds[scheme](t, before.objects)
	faults := &httpfault.Faults{Handler: c.store, Decide: decide, Refuse: c.refuse}
	c.disturbed(func(w http.ResponseWriter, r *http.Request, _ int) { faults.ServeHTTP(w, r) })
	c.ends(c.dedup(replace...), 0)
	c.holds(before.manifest)
	var run records.Run
	if err := json.Unmarshal([]byte(c.all()[out+output.RunFile]), &run); err != nil || run.Retries == 0 {
		t.Errorf("%d retries, %v", run.Retries, err)
	}
}

// TestRefusingStore: if a store keeps refusing a request, the run ends with the name of the object and advice, and the
// old output is unchanged.
func TestRefusingStore(t *testing.T) {
	statuses := []int{http.StatusForbidden}
	if nightly.On() {
		statuses = append(statuses, http.StatusInternalServerError) // retried for about a minute
	}
	for scheme := range clouds {
		before := replaced(t, scheme, false)
		for _, status := range statuses {
			for name, refused := range map[string]func(*http.Request) bool{
				"in/1.jsonl": func(r *http.Request) bool {
					return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/in/1.jsonl")
				},
				"out/.neardup/": func(r *http.Request) bool {
					return (r.Method == http.MethodPut || r.Method == http.MethodPost) && readAll(r) && strings.Contains(content(r), "/w/")
				},
			} {
				t.Run(fmt.Sprint(scheme, " ", status, " ", name), func(t *testing.T) {
					t.Parallel()
					c := clouds[scheme](t, before.objects)
					c.disturbed(func(w http.ResponseWriter, r *http.Request, _ int) {
						if refused(r) {
							c.refuse(w, r, status)
							return
						}
						c.store.ServeHTTP(w, r)
					})
					want := 1
					if status == http.StatusForbidden { // until somebody grants access
						want = 2
					}
					said := c.ends(c.dedup(replace...), want)
					if last := said[strings.LastIndex(strings.TrimSpace(said), "neardup: "):]; !strings.Contains(last, c.scheme+"b/"+name) || !strings.Contains(last, "; ") {
						t.Errorf("%q does not name %s and what to do", last, name)
					} else {
						t.Log(last)
					}
					c.disturbed(nil)
					for name, content := range c.all() {
						if was, ok := before.objects[name]; strings.HasPrefix(name, out) && (!ok || was != content) {
							t.Errorf("%s has changed", name)
						}
					}
					c.ends(c.dedup(replace...), 0)
					c.holds(before.manifest)
				})
			}
		}
	}
}

// TestUnlistedUploads: a store that cannot list unfinished uploads is used; one that denies these credentials the
// listing is refused, with the missing permission.
func TestUnlistedUploads(t *testing.T) {
	before := replaced(t, "s3", false)
	for status, want := range map[int]int{http.StatusNotImplemented: 0, http.StatusNotFound: 0, http.StatusForbidden: 2} {
		c := s3Cloud(t, before.objects)
		c.disturbed(func(w http.ResponseWriter, r *http.Request, _ int) {
			if r.Method == http.MethodGet && r.URL.Query().Has("uploads") {
				c.refuse(w, r, status)
				return
			}
			c.store.ServeHTTP(w, r)
		})
		said := c.ends(c.dedup(replace...), want)
		if want == 0 {
			c.holds(before.manifest)
		} else if !strings.Contains(said, "ListMultipartUploads needs s3:ListBucketMultipartUploads") {
			t.Errorf("%q does not name the permission", said)
		}
	}
}

// TestProbeAnswersLost: a run continues if each answer to its probe of the store is lost once.
func TestProbeAnswersLost(t *testing.T) {
	for scheme := range clouds {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			before := replaced(t, scheme, false)
			asked := 0
			faulty(t, scheme, before, func(r *http.Request, _ int) (fault httpfault.Fault) {
				probe := readAll(r) && (strings.HasSuffix(r.URL.Path, "/probe") || strings.Contains(content(r), "/probe"))
				if asked++; probe && r.Method != http.MethodGet && r.Method != http.MethodHead && asked%2 == 1 {
					fault.Kind = httpfault.Lost
				} else if !probe {
					asked = 0
				}
				return fault
			})
		})
	}
}

// TestWhoMustAct: status 2 means that a person must fix what the message names, and 1 that the cause may pass. Neither
// takes long.
func TestWhoMustAct(t *testing.T) {
	fake := fakes3.New("b")
	plain := httptest.NewServer(fake)
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(fake)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	closed := httptest.NewServer(nil)
	closed.Close()
	fake.Put("b", "in/0.jsonl", `{"id":"0","text":"a text"}`, nil)
	out := filepath.Join(t.TempDir(), "out")
	for name, test := range map[string]struct {
		endpoint, in, out, secret string
		status                    int
		want                      string
	}{
		"refused":          {closed.URL, "s3://b/in", out, "", 1, "warning: cannot reach a store"},
		"refused output":   {closed.URL, "in.jsonl", "s3://b/out", "", 1, "warning: cannot reach a store"},
		"authority":        {secure.URL, "s3://b/in", out, "", 2, "; set AWS_CA_BUNDLE to a file"},
		"output authority": {secure.URL, "in.jsonl", "s3://b/out", "", 2, "; set AWS_CA_BUNDLE to a file"},
		"bucket":           {plain.URL, "s3://none/in", out, "", 2, "; check the name of the bucket"},
		"output bucket":    {plain.URL, "in.jsonl", "s3://none/out", "", 2, "; check the name of the bucket"},
		"secret":           {plain.URL, "s3://b/in", out, "other", 2, "; check the credentials"},
		"output secret":    {plain.URL, "in.jsonl", "s3://b/out", "other", 2, "; check the credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prepare(t, "neardup", "dedup", test.in, "-o", test.out+strings.ReplaceAll(name, " ", "-"), "--store-endpoint=s3="+test.endpoint, "--json")
			write(t, filepath.Join(p.Dir, "in.jsonl"), similar)
			p.Env = append(p.Env, "AWS_ACCESS_KEY_ID="+fakes3.AccessKey, "AWS_SECRET_ACCESS_KEY="+cmp.Or(test.secret, fakes3.SecretKey),
				"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_CA_BUNDLE=", "AWS_REGION=us-east-1")
			stderr, status := p.start().ended()
			if status.ExitStatus() != test.status || !strings.Contains(stderr, test.want) {
				t.Errorf("exit status %d, want %d and %q:\n%s", status.ExitStatus(), test.status, test.want, stderr)
			}
			if want := fmt.Sprintf(`"exit": %d`, test.status); !strings.Contains(p.stdout.String(), want) {
				t.Errorf("%s has no %s", &p.stdout, want)
			}
		})
	}
}

// TestInterruptedWhilePublishing: a run that is interrupted while a store keeps it from publishing says so at once. It
// publishes if the store answers in time, otherwise it ends with the status of the signal, and the same command
// completes.
func TestInterruptedWhilePublishing(t *testing.T) {
	answers := []bool{true}
	if nightly.On() {
		answers = append(answers, false) // for about 20 s
	}
	for scheme := range clouds {
		for _, answer := range answers {
			t.Run(fmt.Sprint(scheme, " ", answer), func(t *testing.T) {
				t.Parallel()
				before := replaced(t, scheme, false)
				c := clouds[scheme](t, before.objects)
				arrived, goOn := make(chan bool, 1), make(chan bool)
				c.disturbed(func(w http.ResponseWriter, r *http.Request, _ int) {
					if r.Header.Get("X-Amz-Copy-Source") != "" || strings.Contains(r.URL.Path, "/moveTo/") {
						select {
						case arrived <- true:
						default:
						}
						select {
						case <-goOn:
						case <-r.Context().Done():
						}
					}
					c.store.ServeHTTP(w, r)
				})
				p := c.started(c.dedup(replace...))
				<-arrived
				p.signal(syscall.SIGTERM)
				p.said("interrupted while publishing the output")
				want := syscall.SIGTERM + 128
				if answer {
					want = 0
					close(goOn)
				}
				said, status := p.ended()
				if status.ExitStatus() != int(want) || !answer && !strings.Contains(said, "publishing was interrupted: interrupted by SIGTERM; the new output is complete; run again") {
					t.Errorf("exit status %d, want %d:\n%s", status.ExitStatus(), want, said)
				}
				if !answer {
					c.disturbed(nil)
					c.later(10 * time.Minute)
					c.ends(c.dedup(replace...), 0)
				}
				c.holds(before.manifest)
			})
		}
	}
}
