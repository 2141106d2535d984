package main

import (
	"context"
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

	"github.com/neardup/neardup/internal/fakes3"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
)

// TestWeakOverwrite holds --weak-overwrite to stores that others wrote and that have no conditional DELETE, at NEARDUP_MINIO and
// NEARDUP_FAKE_GCS (.ci/minio), each with the buckets plain and versioned: the bytes are those of a run on a disk, whoever is killed when.
func TestWeakOverwrite(t *testing.T) {
	servers := map[string]string{"s3": os.Getenv("NEARDUP_MINIO"), "gs": os.Getenv("NEARDUP_FAKE_GCS")}
	if servers["s3"] == "" || servers["gs"] == "" {
		t.Skip("no NEARDUP_MINIO, or no NEARDUP_FAKE_GCS")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", fakes3.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", fakes3.SecretKey)
	t.Setenv("AWS_REGION", "us-east-1")
	storeFlags{S3Endpoint: servers["s3"], GSEndpoint: servers["gs"], GSAnonymous: true}.register()
	t.Cleanup(storeFlags{}.register)
	objects := inputs(t, false)
	want := onDisk(t, objects)
	for scheme, server := range servers {
		for _, bucket := range []string{"plain", "versioned"} {
			t.Run(scheme+" "+bucket, func(t *testing.T) {
				t.Parallel()
				c := foreign(t, scheme, server, bucket, objects)
				requests := c.replacesWeakly(want)
				c.atOnce(want)
				const rounds = 8
				for i := range rounds {
					t.Run(fmt.Sprint("killed ", i), func(t *testing.T) {
						t.Parallel()
						c := foreign(t, scheme, server, bucket, objects)
						c.killedWeakly(want, requests*(i+1)/(rounds+1), i%2 == 0)
					})
				}
			})
		}
	}
}

// editions are the flags of outputs that replace each other: with other names, and with other bytes.
var editions = [][]string{{"--threshold=0.5", "--write=corpus,pairs,clusters"}, {"--threshold=0.8", "--write=corpus,pairs,removed"}}

// onDisk are the manifests of both outputs.
func onDisk(t *testing.T, objects map[string]string) (manifests []string) {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "in"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, content := range objects {
		write(t, filepath.Join(root, name), content)
	}
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

// foreign is a folder of a bucket on a server, which neardup reaches by way of this process.
func foreign(t *testing.T, scheme, server, bucket string, objects map[string]string) *cloud {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	c := &cloud{t: t, scheme: fmt.Sprintf("%s://%s/%s-%d/", scheme, bucket, filepath.Base(t.Name()), time.Now().UnixNano())}
	c.scheme = strings.ReplaceAll(c.scheme, " ", "-")
	c.store = &httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		if scheme == "s3" {
			r.Out.Host = r.In.Host // which is signed
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
		return c.serve(objects, "--gs-endpoint", "--gs-anonymous")
	}
	return c.serve(objects, "--s3-endpoint")
}

// objects are all there are at this moment.
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

// is checks that one of the two outputs is there, whole, and nothing else but a lock that nobody holds.
func (c *cloud) is(manifest string) {
	c.t.Helper()
	objects := c.all()
	got, err := finished(objects)
	if err != nil || got != manifest {
		c.t.Errorf("%v, or it is another output:\n%s", err, got)
	}
	for name, content := range objects {
		switch {
		case name == out+output.LockFile && strings.Contains(content, `"released":true`):
		case strings.HasPrefix(name, out+"."):
			c.t.Errorf("%s is left", name)
		}
	}
}

// replacesWeakly replaces one output by the other, and returns how many requests that takes.
func (c *cloud) replacesWeakly(want []string) (requests int) {
	c.t.Helper()
	c.ends(c.edition(0), 0)
	c.is(want[0])
	if said := c.ends(c.edition(1, "--overwrite"), 2); !strings.Contains(said, "add --weak-overwrite if no other program writes there") {
		c.t.Errorf("%q does not name the flag", said)
	}
	for _, i := range []int{0, 1, 1, 0} {
		before := c.requests()
		c.ends(c.edition(i, "--weak-overwrite"), 0)
		requests = c.requests() - before
		c.is(want[i])
	}
	return requests
}

// atOnce has two runs replace the output at the same time.
func (c *cloud) atOnce(want []string) {
	c.t.Helper()
	one, other := c.started(c.edition(1, "--weak-overwrite")), c.started(c.edition(1, "--weak-overwrite"))
	done := 0
	for _, p := range []*process{one, other} {
		switch said, status := p.ended(); status.ExitStatus() {
		case 0:
			done++
		case 3:
		default:
			c.t.Errorf("exit status %d:\n%s", status.ExitStatus(), said)
		}
	}
	if done == 0 {
		c.t.Error("neither replaced it")
	}
	c.is(want[1])
}

// killedWeakly kills a run that replaces the output at a request, which may take effect. The same command then finishes it, without the
// flag if it had sealed.
func (c *cloud) killedWeakly(want []string, at int, effect bool) {
	c.t.Helper()
	c.ends(c.edition(0), 0)
	p := c.edition(1, "--weak-overwrite")
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
		c.ends(c.edition(1, "--overwrite", "--force-unlock"), 0)
	} else {
		c.ends(c.edition(1, "--weak-overwrite", "--force-unlock"), 0)
	}
	c.is(want[1])
}
