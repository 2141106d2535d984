package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/corpusgen"
	"github.com/neardup/neardup/internal/fakegcs"
	"github.com/neardup/neardup/internal/fakes3"
	"github.com/neardup/neardup/internal/httpfault"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// cloud is an object store in this process, with the bucket b, which neardup uses in other processes.
type cloud struct {
	t      *testing.T
	scheme string
	flags  []string
	store  http.Handler
	put    func(name, content string)
	all    func() map[string]string
	// uploads returns the uploads that a killed run leaves for others to end.
	uploads func() []string
	// refuse answers with a status.
	refuse func(w http.ResponseWriter, r *http.Request, status int)
	temp   string // for all processes

	mu      sync.Mutex
	n       int // number of requests so far
	ahead   time.Duration
	disturb func(w http.ResponseWriter, r *http.Request, n int) // may answer instead of the store; may be nil
	wrong   string                                              // the first moment at which readers were misled
}

func (c *cloud) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// later advances the clock of the store.
func (c *cloud) later(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// disturbed lets f answer the following requests, numbered from 1.
func (c *cloud) disturbed(f func(w http.ResponseWriter, r *http.Request, n int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n, c.disturb = 0, f
}

func (c *cloud) requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.n++
	n, disturb := c.n, c.disturb
	c.mu.Unlock()
	if disturb == nil {
		c.store.ServeHTTP(w, r)
		return
	}
	disturb(w, r, n)
}

// changed checks the output after each request.
func (c *cloud) changed(_ string, objects map[string]string) {
	if _, err := finished(objects); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.wrong == "" {
			c.wrong = err.Error()
		}
	}
}

// clouds makes stores with the objects; more configures one of the two.
var clouds = map[string]func(t *testing.T, objects map[string]string, more ...func(*fakes3.Server, *fakegcs.Server)) *cloud{
	"s3": s3Cloud, "gs": gsCloud,
}

func s3Cloud(t *testing.T, objects map[string]string, more ...func(*fakes3.Server, *fakegcs.Server)) *cloud {
	fake := fakes3.New("b")
	c := &cloud{t: t, scheme: "s3://", store: fake, uploads: fake.Uploads}
	fake.Now, fake.Changed = c.now, c.changed
	c.put = func(name, content string) { fake.Put("b", name, content, nil) }
	c.all = func() map[string]string { return fake.All("b") }
	c.refuse = refuseS3
	for _, f := range more {
		f(fake, nil)
	}
	return c.serve(objects, "s3")
}

func refuseS3(w http.ResponseWriter, r *http.Request, status int) {
	refusing := fakes3.New()
	refusing.Fault = func(*http.Request, int) httpfault.Fault {
		return httpfault.Fault{Kind: httpfault.Error, Status: status}
	}
	refusing.ServeHTTP(w, r)
}

func gsCloud(t *testing.T, objects map[string]string, more ...func(*fakes3.Server, *fakegcs.Server)) *cloud {
	fake := fakegcs.New("b")
	c := &cloud{t: t, scheme: "gs://", store: fake, uploads: func() []string { return nil }, refuse: fakegcs.Refuse}
	fake.Now, fake.Changed = c.now, c.changed
	c.put = func(name, content string) { fake.Put("b", name, "", []byte(content)) }
	c.all = func() map[string]string { return fake.All("b") }
	for _, f := range more {
		f(nil, fake)
	}
	return c.serve(objects, "gs", "--anonymous=gs")
}

func (c *cloud) serve(objects map[string]string, store string, flags ...string) *cloud {
	server := httptest.NewServer(c)
	c.t.Cleanup(server.CloseClientConnections)
	c.flags = append(flags, "--store-endpoint="+store+"="+server.URL)
	c.temp = c.t.TempDir()
	for name, content := range objects {
		c.put(name, content)
	}
	return c
}

// dedup prepares a run from in to out.
func (c *cloud) dedup(flags ...string) *process {
	c.t.Helper()
	return c.command(append([]string{"dedup", c.scheme + "b/in/", "-o", c.scheme + "b/out", "--format=jsonl"}, flags...)...)
}

// command prepares a command that can reach the store.
func (c *cloud) command(args ...string) *process {
	c.t.Helper()
	p := prepare(c.t, "neardup", append(args, c.flags...)...)
	p.Env = append(os.Environ(), "TMPDIR="+c.temp, "AWS_ACCESS_KEY_ID="+fakes3.AccessKey, "AWS_SECRET_ACCESS_KEY="+fakes3.SecretKey,
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_REGION=us-east-1")
	return p
}

// started starts a process. Requests wait until it is recorded.
func (c *cloud) started(p *process) *process {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.start()
}

// ends runs a process, which must end with status want, and returns its messages.
func (c *cloud) ends(p *process, want int) string {
	c.t.Helper()
	stderr, status := c.started(p).ended()
	if status.ExitStatus() != want {
		c.t.Fatalf("exit status %d, want %d:\n%s", status.ExitStatus(), want, stderr)
	}
	return stderr
}

// left returns the temporary files that no run needs any more.
func (c *cloud) left() []string { return (&process{Cmd: &exec.Cmd{Dir: c.temp}, t: c.t}).left() }

// inputs returns small files and, if large, one whose corpus file is large enough for an upload in parts.
func inputs(t *testing.T, large bool) map[string]string {
	t.Helper()
	objects := map[string]string{}
	for i := range 3 {
		var content bytes.Buffer
		spec := corpusgen.Spec{Documents: 40, Seed: uint64(i), Copies: 0.2, Near: 0.2, Edits: 0.02}
		if large && i == 0 {
			spec.Documents, spec.Words = 20, 80_000
		}
		if err := corpusgen.Write(&content, spec); err != nil {
			t.Fatal(err)
		}
		objects[fmt.Sprintf("in/%d.jsonl", i)] = strings.ReplaceAll(content.String(), `"id":"`, fmt.Sprintf(`"id":"%d-`, i))
	}
	return objects
}

const out = "out/"

// finished returns the manifest of the output, or "" if it is not finished, and an error if a finished output would
// mislead readers.
func finished(objects map[string]string) (string, error) {
	text, ok := objects[out+output.SuccessFile]
	if !ok {
		return "", nil
	}
	var mark output.Success
	if err := json.Unmarshal([]byte(text), &mark); err != nil {
		return "", err
	}
	manifest := objects[out+output.ManifestFile]
	if sumOf(manifest) != mark.Manifest {
		return "", fmt.Errorf("the manifest is not that of %s", output.SuccessFile)
	}
	var m records.Manifest
	if err := json.Unmarshal([]byte(manifest), &m); err != nil {
		return "", err
	}
	ours := map[string]bool{output.SuccessFile: true, output.ManifestFile: true, output.RunFile: true, output.ReportFile: true, output.LockFile: true}
	for _, f := range m.Files {
		ours[f.Path] = true
		if content := objects[out+f.Path]; sumOf(content) != f.SHA256 {
			return "", fmt.Errorf("%s is not what the manifest says", f.Path)
		}
	}
	for name := range objects {
		if name, below := strings.CutPrefix(name, out); below && !ours[name] && !strings.HasPrefix(name, ".neardup") {
			return "", fmt.Errorf("%s stands beside %s", name, output.SuccessFile)
		}
	}
	var run records.Run
	if err := json.Unmarshal([]byte(objects[out+output.RunFile]), &run); err != nil {
		return "", err
	}
	if run.Job != mark.Run {
		return "", fmt.Errorf("%s is of run %s, %s of %s", output.RunFile, run.Job, output.SuccessFile, mark.Run)
	}
	if page, ok := objects[out+output.ReportFile]; ok && !strings.Contains(page, "run "+run.Job+",") {
		return "", fmt.Errorf("%s is of another run than %s", output.ReportFile, output.SuccessFile)
	}
	return manifest, nil
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// holds checks that the store holds the inputs and a finished output with the manifest, and that nothing was wrong before.
func (c *cloud) holds(manifest string) {
	c.t.Helper()
	objects := c.all()
	got, err := finished(objects)
	if err != nil {
		c.t.Error(err)
	} else if got != manifest {
		c.t.Errorf("the output has\n%s\nwant\n%s", got, manifest)
	}
	for name := range objects {
		if strings.HasPrefix(name, out+".") || !strings.HasPrefix(name, out) && !strings.HasPrefix(name, "in/") {
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

// unheard answers a request as if its client had gone: it takes effect completely.
func unheard(store http.Handler, r *http.Request) {
	store.ServeHTTP(httptest.NewRecorder(), r)
}

// readAll makes the body of a request independent of its connection.
func readAll(r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil
}

// before is an output, and the command that replaces it.
type before struct {
	objects  map[string]string
	manifest string // of the output that replaces it
	requests int    // of the run that replaces it
}

var replace = []string{"--overwrite", "--write=corpus,pairs,removed"}

// replaced runs the command undisturbed, with additional flags.
func replaced(t *testing.T, scheme string, large bool, flags ...string) before {
	t.Helper()
	c := clouds[scheme](t, inputs(t, large))
	c.ends(c.dedup("--threshold=0.5", "--write=corpus,pairs,clusters"), 0)
	old := c.all()
	c.disturbed(nil)
	c.ends(c.dedup(append(flags, replace...)...), 0)
	manifest, err := finished(c.all())
	if err != nil || manifest == old[out+output.ManifestFile] {
		t.Fatalf("%v, or the output is as it was", err)
	}
	c.holds(manifest)
	return before{old, manifest, c.requests()}
}

func sorted(objects map[string]string) []string { return slices.Sorted(maps.Keys(objects)) }
