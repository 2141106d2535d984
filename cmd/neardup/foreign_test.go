package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/fakegcs"
	"github.com/neardup/neardup/internal/fakes3"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// foreignStores are stores written by others, by name.
var foreignStores = map[string]struct {
	scheme  string
	refused string // the error for a store that two runs could write at once
	weak    bool   // it has no conditional DELETE
	keys    bool   // it checks access keys
	plain   bool   // it keeps no versions, or lists removed objects
	racy    bool   // two conditional writes at the same moment may both succeed
}{
	"s3mock":               {scheme: "s3", plain: true, racy: true},
	"moto":                 {scheme: "s3"},
	"minio":                {scheme: "s3", weak: true, keys: true},
	"s3proxy":              {scheme: "s3", weak: true, keys: true, plain: true, racy: true},
	"fake-gcs-server":      {scheme: "gs", weak: true},
	"gcp-storage-emulator": {scheme: "gs", refused: "the store does not say which generation of an object it sends"},
}

// TestForeign runs neardup on the store NEARDUP_STORE at NEARDUP_STORE_URL (.ci/stores): the bytes are those of a run
// on a disk, whatever the store refuses for a while, whatever else runs and, in nightly tests, whenever a run is
// killed.
func TestForeign(t *testing.T) {
	name, server := os.Getenv("NEARDUP_STORE"), os.Getenv("NEARDUP_STORE_URL")
	if name == "" {
		t.Skip("no NEARDUP_STORE")
	}
	store, ok := foreignStores[name]
	if !ok {
		t.Fatalf("no store is called %s", name)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", fakes3.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", fakes3.SecretKey)
	t.Setenv("AWS_REGION", "us-east-1")
	storeFlags{Endpoint: map[string]string{"s3": server, "gs": server}, Anonymous: []string{"gs"}}.register()
	t.Cleanup(storeFlags{}.register)
	objects := inputs(t, false)
	buckets, rounds := []string{"plain"}, 0
	if nightly.On() {
		rounds = 8
		if !store.plain {
			buckets = append(buckets, "versioned")
		}
	}
	if store.keys {
		c := foreign(t, store.scheme, server, "plain", objects)
		p := c.dedup()
		p.Env = append(p.Env, "AWS_SECRET_ACCESS_KEY=another")
		if said := c.ends(p, 2); !strings.Contains(said, "; check the credentials") {
			t.Errorf("%q does not name the credentials", said)
		}
	}
	if store.refused != "" {
		c := foreign(t, store.scheme, server, "plain", nil)
		p := c.command("dedup", filepath.Join(localInputs(t, objects), "in"), "-o", c.scheme+"b/out")
		if said := c.ends(p, 2); !strings.Contains(said, store.refused) {
			t.Errorf("%q does not say %q", said, store.refused)
		}
		return
	}
	want, overwrite := onDisk(t, objects), "--overwrite"
	if store.weak {
		overwrite = "--weak-overwrite"
	}
	for _, bucket := range buckets {
		t.Run(bucket, func(t *testing.T) {
			t.Parallel()
			c := foreign(t, store.scheme, server, bucket, objects)
			requests := c.replaces(want, overwrite)
			c.throttled(want, overwrite)
			c.atOnce(want, overwrite, store.racy)
			for i := range rounds {
				t.Run(fmt.Sprint("killed ", i), func(t *testing.T) {
					t.Parallel()
					c := foreign(t, store.scheme, server, bucket, objects)
					c.killed(want, overwrite, requests*(i+1)/(rounds+1), i%2 == 0)
				})
			}
		})
	}
}

// localInputs writes the inputs to a disk.
func localInputs(t *testing.T, objects map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "in"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, content := range objects {
		write(t, filepath.Join(folder, name), content)
	}
	return folder
}

// editions has the flags of outputs that replace each other: with other names, and with other bytes.
var editions = [][]string{{"--threshold=0.5", "--write=corpus,pairs,clusters"}, {"--threshold=0.8", "--write=corpus,pairs,removed"}}

// onDisk returns the manifests of both outputs.
func onDisk(t *testing.T, objects map[string]string) (manifests []string) {
	t.Helper()
	root := localInputs(t, objects)
	for _, flags := range editions {
		p := prepare(t, "neardup", append([]string{"dedup", filepath.Join(root, "in"), "-o", filepath.Join(root, "out"), "--overwrite"}, flags...)...).start()
		if said, status := p.ended(); status != 0 {
			t.Fatal(said)
		}
		manifest, err := os.ReadFile(filepath.Join(root, out, output.ManifestFile))
		if err != nil {
			t.Fatal(err)
		}
		manifests = append(manifests, string(manifest))
	}
	return manifests
}

// foreign returns a folder of a bucket on a server, which neardup reaches through this process.
func foreign(t *testing.T, scheme, server, bucket string, objects map[string]string) *cloud {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	c := &cloud{t: t, scheme: fmt.Sprintf("%s://%s/%s-%d/", scheme, bucket, filepath.Base(t.Name()), time.Now().UnixNano()), refuse: fakegcs.Refuse}
	if scheme == "s3" {
		c.refuse = refuseS3
	}
	c.scheme = strings.ReplaceAll(c.scheme, " ", "-")
	c.store = &httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		if scheme == "s3" {
			r.Out.Host = r.In.Host // the host is signed
		}
	}}
	c.put = func(name, content string) {
		_, err := storage.WriteFile(t.Context(), c.scheme+"b/"+name, func(w io.Writer) error { _, err := io.WriteString(w, content); return err })
		if err != nil {
			t.Fatal(err)
		}
	}
	c.all = func() (now map[string]string) {
		for before := map[string]string(nil); now == nil || !maps.Equal(before, now); { // a request of a killed run may be under way
			before, now = now, c.objects()
		}
		return now
	}
	if scheme == "gs" {
		return c.serve(objects, "gs", "--anonymous=gs")
	}
	return c.serve(objects, "s3")
}

// objects returns all current objects.
func (c *cloud) objects() map[string]string {
	c.t.Helper()
	objects := map[string]string{}
	store, err := storage.At(c.scheme + "b")
	if err != nil {
		c.t.Fatal(err)
	}
	for info, err := range store.List(context.Background(), c.scheme+"b", nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		data, err := storage.ReadFile(context.Background(), info.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.t.Fatal(err)
		}
		objects[strings.TrimPrefix(info.Path, c.scheme+"b/")] = string(data)
	}
	return objects
}

// edition prepares a run that makes one of the two outputs.
func (c *cloud) edition(i int, flags ...string) *process {
	return c.dedup(append(flags, editions[i]...)...)
}

// is checks that one of the two outputs is there and whole, and nothing else except a lock without a holder.
func (c *cloud) is(manifest string) {
	c.t.Helper()
	objects := c.all()
	got, err := finished(objects)
	if err != nil || got != manifest {
		c.t.Errorf("%v, or it is another output:\n%s", err, got)
	}
	for name, content := range objects {
		switch { // a lock that cannot be removed says so
		case name == out+output.LockFile && strings.Contains(content, `"released":true`):
		case strings.HasPrefix(name, out+"."):
			c.t.Errorf("%s is left", name)
		}
	}
}

// replaces makes an output from files on a disk, and replaces one output with the other. It returns the number of
// requests that this takes.
func (c *cloud) replaces(want []string, overwrite string) (requests int) {
	c.t.Helper()
	local := filepath.Join(localInputs(c.t, inputs(c.t, false)), "in")
	c.ends(c.command(append([]string{"dedup", local, "-o", c.scheme + "b/out"}, editions[0]...)...), 0)
	c.is(want[0])
	if overwrite == "--weak-overwrite" {
		if said := c.ends(c.edition(1, "--overwrite"), 2); !strings.Contains(said, "add --weak-overwrite if no other program writes there") {
			c.t.Errorf("%q does not name the flag", said)
		}
	}
	for _, i := range []int{1, 1, 0} {
		before := c.requests()
		c.ends(c.edition(i, overwrite), 0)
		requests = c.requests() - before
		c.is(want[i])
	}
	return requests
}

// atOnce runs three replacements of the output at the same time. On a racy store one of them may leave its files.
func (c *cloud) atOnce(want []string, overwrite string, racy bool) {
	c.t.Helper()
	var running []*process
	for range 3 {
		running = append(running, c.started(c.edition(1, overwrite)))
	}
	done := 0
	for _, p := range running {
		switch said, status := p.ended(); status.ExitStatus() {
		case 0:
			done++
		case 3:
		default:
			c.t.Errorf("exit status %d:\n%s", status.ExitStatus(), said)
		}
	}
	if done == 0 {
		c.t.Error("none replaced it")
	}
	if got, err := finished(c.all()); racy && (err != nil || got != want[1]) {
		c.t.Errorf("%v, or it is another output:\n%s", err, got)
	} else if !racy {
		c.is(want[1])
	}
}

// throttled makes the store refuse every ninth request.
func (c *cloud) throttled(want []string, overwrite string) {
	c.t.Helper()
	c.disturbed(func(w http.ResponseWriter, r *http.Request, n int) {
		if n%9 == 0 {
			c.refuse(w, r, http.StatusServiceUnavailable)
			return
		}
		c.store.ServeHTTP(w, r)
	})
	c.ends(c.edition(0, overwrite), 0)
	c.disturbed(nil)
	c.is(want[0])
	var run records.Run
	if err := json.Unmarshal([]byte(c.all()[out+output.RunFile]), &run); err != nil || run.Retries == 0 {
		c.t.Errorf("%d retries, %v", run.Retries, err)
	}
}

// killed kills a run that replaces the output at a request, which may take effect. The same command then completes,
// without --weak-overwrite if the run had sealed its output.
func (c *cloud) killed(want []string, overwrite string, at int, effect bool) {
	c.t.Helper()
	c.ends(c.edition(0), 0)
	p := c.edition(1, overwrite)
	c.disturbed(func(w http.ResponseWriter, r *http.Request, n int) {
		switch {
		case n < at:
			c.store.ServeHTTP(w, r)
			return
		case n == at:
			c.t.Logf("killed at request %d, %s %s, which takes effect: %t", n, r.Method, r.URL.Path, effect)
			arrived := readAll(r)
			if err := p.Process.Kill(); err != nil {
				c.t.Error(err)
			}
			if arrived && effect {
				unheard(c.store, r)
			}
		}
		panic(http.ErrAbortHandler)
	})
	c.started(p).ended()
	c.disturbed(nil)
	left := c.all()
	if _, err := finished(left); err != nil {
		c.t.Error(err)
	}
	sealed := false
	for name := range left {
		sealed = sealed || strings.HasSuffix(name, "/sealed")
	}
	if sealed {
		overwrite = "--overwrite"
	}
	c.ends(c.edition(1, overwrite, "--force-unlock"), 0)
	c.is(want[1])
}
