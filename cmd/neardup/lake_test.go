package main

import (
	"bytes"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/fakegcs"
	"github.com/neardup/neardup/internal/fakes3"
)

// lake is an object store with a bucket called lake.
type lake struct {
	scheme string
	flags  []string
	put    func(name, content string)
	get    func(name string) (content string, ok bool)
	names  func() []string // names of all objects
	// requests returns the number of requests for an object so far, and the bytes of their answers.
	requests func(name string) (n int, sent int64)
	before   func(*http.Request) // called before each request; may be nil
}

// lakes returns both kinds of lake.
func lakes(t *testing.T) []*lake {
	t.Setenv("AWS_ACCESS_KEY_ID", fakes3.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", fakes3.SecretKey)
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	s3, gs := fakes3.New("lake"), fakegcs.New("lake")
	onS3 := &lake{
		scheme: "s3://",
		put:    func(name, content string) { s3.Put("lake", name, content, nil) },
		get:    func(name string) (string, bool) { content, _, ok := s3.Get("lake", name); return content, ok },
		names:  func() []string { return s3.Names("lake") },
		requests: func(name string) (n int, sent int64) {
			for _, r := range s3.Log() {
				if r.Key == name {
					n, sent = n+1, sent+int64(r.Bytes)
				}
			}
			return n, sent
		},
	}
	onGS := &lake{
		scheme: "gs://",
		put:    func(name, content string) { gs.Put("lake", name, "", []byte(content)) },
		get:    func(name string) (string, bool) { data, _, ok := gs.Get("lake", name); return string(data), ok },
		names:  func() []string { return gs.Names("lake") },
		requests: func(name string) (n int, sent int64) {
			for _, r := range gs.Log() {
				if r.Object == "lake/"+name {
					n, sent = n+1, sent+r.Bytes
				}
			}
			return n, sent
		},
	}
	for store, l := range map[http.Handler]*lake{s3: onS3, gs: onGS} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if l.before != nil {
				l.before(r)
			}
			store.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		name := "s3="
		if l == onGS {
			name = "gs="
		}
		l.flags = []string{"--store-endpoint", name + server.URL}
	}
	onGS.flags = append(onGS.flags, "--anonymous=gs")
	return []*lake{onS3, onGS}
}

// neardup runs a command on the lake and returns its status and messages.
func (l *lake) neardup(args ...string) (status int, said string) {
	var out bytes.Buffer
	status = run(append(args, l.flags...), strings.NewReader(""), &out, &out)
	return status, out.String()
}

// load stores the files below a folder.
func (l *lake) load(t *testing.T, folder, prefix string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		l.put(path.Join(prefix, filepath.ToSlash(rel)), string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLake: the same files in a folder and in a bucket give the same output, and nothing else is left in the bucket.
func TestLake(t *testing.T) {
	in := t.TempDir()
	for name, lines := range map[string]string{
		"days/dt=2026-11-20/lang=en/a.jsonl": similar, "days/dt=2026-11-21/lang=en/a.jsonl": similar, "days/dt=2026-11-21/lang=de/b c+d%.jsonl": similar,
	} {
		if err := os.MkdirAll(filepath.Join(in, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(in, name), lines)
	}
	for name, from := range map[string]string{
		"pages": "archives/pages.warc.gz", "tar": "archives/pages.tar", "rows": "parquet/pyarrow-zstd-1.parquet", "tsv": "made/made.tsv", "files": "tldr",
	} {
		if err := os.MkdirAll(filepath.Join(in, name), 0o777); err != nil {
			t.Fatal(err)
		}
		from = filepath.Join("..", "..", "testdata", from)
		if info, err := os.Stat(from); err != nil {
			t.Fatal(err)
		} else if info.IsDir() {
			if err := os.CopyFS(filepath.Join(in, name), os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(in, name, filepath.Base(from)), string(data))
	}
	for _, l := range lakes(t) {
		l.load(t, in, "in")
		for name, flags := range map[string]string{
			"days": "--keep max:dt", "pages": "", "tar": "", "rows": "--text text", "tsv": "--text Title", "files": "",
		} {
			t.Run(l.scheme+name, func(t *testing.T) {
				args := append([]string{"dedup", "--min-words", "1"}, strings.Fields(flags)...)
				folder := filepath.Join(t.TempDir(), "out")
				if status, said := l.neardup(append(args, filepath.Join(in, name), "-o", folder)...); status != 0 {
					t.Fatalf("folder: status %d: %s", status, said)
				}
				out := "out/" + name
				if status, said := l.neardup(append(args, l.scheme+"lake/in/"+name, "-o", l.scheme+"lake/"+out)...); status != 0 {
					t.Fatalf("bucket: status %d: %s", status, said)
				}
				l.same(t, folder, out)
			})
		}
	}
}

// same compares an output in a folder with one in the bucket.
func (l *lake) same(t *testing.T, folder, out string) {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		names[path.Join(out, rel)] = true
		want, err := os.ReadFile(name)
		if got, ok := l.get(path.Join(out, rel)); !ok || rel != "run.json" && rel != "report.html" && rel != "_SUCCESS" && got != string(want) {
			t.Errorf("%s: %d bytes in the bucket, %d in the folder", rel, len(got), len(want))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range l.names() {
		if strings.HasPrefix(name, out+"/") && !names[name] {
			t.Errorf("%s is left", name)
		}
	}
}

// TestLakeChanged: an object that is replaced between the reads ends the job with its name, and nothing looks finished.
func TestLakeChanged(t *testing.T) {
	for _, l := range lakes(t) {
		l.put("in/a.jsonl", similar)
		l.put("in/b.jsonl", similar)
		reads := 0
		l.before = func(r *http.Request) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/b.jsonl") {
				if reads++; reads == 2 {
					l.put("in/b.jsonl", strings.Repeat(similar, 2))
				}
			}
		}
		status, said := l.neardup("dedup", l.scheme+"lake/in", "-o", l.scheme+"lake/out")
		if status != 1 || !strings.Contains(said, l.scheme+"lake/in/b.jsonl changed since it was listed; run again once nothing writes to it") {
			t.Errorf("status %d: %s", status, said)
		}
		for _, name := range l.names() {
			if strings.HasPrefix(name, "out/") && name != "out/run.json" {
				t.Errorf("%s is left", name)
			}
		}
		l.before = nil
		if status, said := l.neardup("dedup", l.scheme+"lake/in", "-o", l.scheme+"lake/out"); status != 0 {
			t.Errorf("again: status %d: %s", status, said)
		}
	}
}

// TestLakeTemporary: temporary files are in a bucket on request, and removed at the end. The runner spills to a disk.
func TestLakeTemporary(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "in.jsonl", similar)
	for _, l := range lakes(t) {
		below := 0
		l.before = func(r *http.Request) {
			if strings.Contains(r.URL.Path, "tmp/") || strings.Contains(r.URL.RawPath, "tmp%2F") {
				below++
			}
		}
		if status, said := l.neardup("dedup", "in.jsonl", "-o", l.scheme+"lake/out", "--temp-dir", l.scheme+"lake/tmp"); status != 0 {
			t.Errorf("status %d: %s", status, said)
		}
		if below == 0 || slices.ContainsFunc(l.names(), func(name string) bool { return strings.HasPrefix(name, "tmp/") }) {
			t.Errorf("%d requests for temporary files; there are now %q", below, l.names())
		}
		if here, err := os.ReadDir("."); err != nil || len(here) != 1 {
			t.Errorf("on the disk there is %v, %v", here, err)
		}
	}
}

// TestLakeList: files that flags name may be objects.
func TestLakeList(t *testing.T) {
	for _, l := range lakes(t) {
		l.put("in/a.jsonl", similar)
		l.put("list", l.scheme+"lake/in\n")
		l.put("text", "a text that no document has")
		for _, args := range [][]string{
			{"dedup", "--inputs-from", l.scheme + "lake/list", "-o", l.scheme + "lake/out"}, {"query", l.scheme + "lake/in", "--file", l.scheme + "lake/text"},
		} {
			if status, said := l.neardup(args...); status != 0 {
				t.Errorf("%q: status %d: %s", args, status, said)
			}
			args[2], args[3] = strings.Replace(args[2], "list", "none", 1), strings.Replace(args[3], "text", "none", 1)
			if status, said := l.neardup(args...); status != 2 || !strings.Contains(said, l.scheme+"lake/none") {
				t.Errorf("%q: status %d: %s", args, status, said)
			}
		}
	}
}

// TestLakeRefused: the error names what a bucket lacks.
func TestLakeRefused(t *testing.T) {
	for _, l := range lakes(t) {
		for in, want := range map[string]struct {
			status int
			said   string
		}{
			l.scheme + "lake/none":          {2, l.scheme + "lake/none: no such file or folder"},
			l.scheme + "other/in":           {2, "bucket"},
			"abfs://lake/in":                {2, "paths that begin with abfs:// are not supported"},
			l.scheme + "lake/in/[a-b]*.gz*": {2, "no such file or folder"},
		} {
			if status, said := l.neardup("dedup", in, "-o", filepath.Join(t.TempDir(), "out")); status != want.status || !strings.Contains(said, want.said) {
				t.Errorf("%s: status %d: %s", in, status, said)
			}
		}
	}
}
