package source

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/fakes3"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/s3"
)

// lake is an object store that counts requests.
type lake struct {
	*fakes3.Server
	busy sync.WaitGroup
	seen int
}

// newLake starts a store with the bucket lake and registers it for s3://.
func newLake(t testing.TB) *lake {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": fakes3.AccessKey, "AWS_SECRET_ACCESS_KEY": fakes3.SecretKey, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
	} {
		t.Setenv(name, value)
	}
	l := &lake{Server: fakes3.New("lake")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.busy.Add(1)
		defer l.busy.Done()
		l.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s3.Register(s3.Options{Endpoint: server.URL, Region: l.Region})
	return l
}

// since returns, for the time since its last call, how often objects were read, how many bytes of them were fetched,
// and how often the store was asked what an object is.
func (l *lake) since() (gets, bytes, heads int) {
	l.busy.Wait()
	log := l.Log()
	for _, r := range log[l.seen:] {
		switch {
		case r.Method == http.MethodHead:
			heads++
		case r.Method == http.MethodGet && r.Key != "" && r.Status != http.StatusNotFound:
			gets++
			bytes += r.Bytes
		}
	}
	l.seen = len(log)
	return gets, bytes, heads
}

// texts returns n lines of JSON of about 2 KB each, which compress to three quarters.
func texts(n int) (lines []string) {
	random := rand.NewChaCha8([32]byte{})
	raw := make([]byte, 1500)
	for i := range n {
		_, _ = random.Read(raw)
		lines = append(lines, fmt.Sprintf("{\"id\":\"%d\",\"text\":%q}\n", i, base64.StdEncoding.EncodeToString(raw)))
	}
	return lines
}

type row struct {
	ID    string `parquet:"id"`
	Other string `parquet:"other"`
	Text  string `parquet:"text"`
}

// stored returns the content of an object with the lines, in the format of its name.
func stored(t testing.TB, name string, lines []string) string {
	t.Helper()
	var b bytes.Buffer
	write := func(w io.WriteCloser, err error, lines ...string) {
		for _, line := range lines {
			_, _ = io.WriteString(w, line)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case strings.HasSuffix(name, ".gz") && strings.Contains(name, ".warc"):
		for _, line := range lines {
			write(gzip.NewWriter(&b), nil, fmt.Sprintf("WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: <urn:uuid:1>\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", len(line), line))
		}
	case strings.HasSuffix(name, ".gz"):
		write(gzip.NewWriter(&b), nil, lines...)
	case strings.HasSuffix(name, "frames.jsonl.zst"):
		encoder, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		for part := range slices.Chunk(lines, 500) {
			b.Write(encoder.EncodeAll([]byte(strings.Join(part, "")), nil))
		}
	case strings.HasSuffix(name, ".zst"):
		encoder, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(encoder.EncodeAll([]byte(strings.Join(lines, "")), nil))
	case strings.HasSuffix(name, ".parquet"):
		var rows []row
		for i, line := range lines {
			rows = append(rows, row{fmt.Sprint(i), line[100:400], line})
		}
		per := int64(4000)
		if strings.HasPrefix(name, "one") {
			per = int64(len(rows)) // of one row group
		}
		if err := parquet.Write(&b, rows, parquet.MaxRowsPerRowGroup(per), parquet.Compression(&parquet.Uncompressed)); err != nil {
			t.Fatal(err)
		}
	default:
		b.WriteString(strings.Join(lines, ""))
	}
	return b.String()
}

// TestFetchedOnce checks that each read of all splits fetches hardly more bytes than the object has, with few requests.
func TestFetchedOnce(t *testing.T) {
	l := newLake(t)
	lines := texts(16000)
	for _, name := range []string{"a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "frames.jsonl.zst", "a.parquet", "one.parquet", "a.warc.gz"} {
		t.Run(name, func(t *testing.T) {
			content := stored(t, name, lines)
			l.Put("lake", name, content, nil)
			o := Options{Fields: fields, MaxDocument: 1 << 20, SplitBytes: 4 << 20}
			if !strings.Contains(name, ".jsonl") { // formats with a footer, or that look back
				o.SplitBytes = 16 << 20
			}
			in := inputs(t, o, "s3://lake/"+name)
			l.since() // listing takes a HEAD, and inspecting a GET or two
			check := func(what string) {
				t.Helper()
				gets, bytes, heads := l.since()
				// A split read in any order asks for at least 1 MB at a time, except for a footer or the end of its last record.
				most := len(content)>>20 + 8*in.Splits.Len()
				if times := float64(bytes) / float64(len(content)); times > 1.05 || heads > 0 || gets > most {
					t.Errorf("%s: fetched %.3f times, with %d requests, at most %d are meant, and %d for what it is", what, times, gets, most, heads)
				}
			}
			positions := make([][]int64, in.Splits.Len())
			for i := range positions {
				_, err := Records(t.Context(), in, []blocks.Span{in.Splits.At(i)}, o, func(r *reading.Record) error {
					positions[i] = append(positions[i], r.Position)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			check("first read")
			var dropped []int64
			for _, which := range []int{1, 2, 1000} {
				for i, some := range positions {
					var wanted []int64
					for j := 0; j < len(some); j += which {
						wanted = append(wanted, some[j])
					}
					err := recordsAt(t.Context(), in, in.Splits.At(i), wanted, o, func(*reading.Record) error { return nil })
					if err != nil {
						t.Fatal(err)
					}
					if which == 1000 {
						dropped = append(dropped, wanted...)
					}
				}
				check(fmt.Sprintf("second read of one in %d", which))
			}
			for _, dropped := range [][]int64{nil, dropped} {
				if _, _, err := Copy(t.Context(), io.Discard, in, in.Pieces.At(0), reading.Changes{Dropped: dropped}, o); err != nil {
					t.Fatal(err)
				}
				check(fmt.Sprintf("copy without %d", len(dropped)))
			}
		})
	}
}

// TestRequestsOfSmallObjects checks that a reader asks for a small object only once, even the first time, and that the
// sample, which reads many at a time, is the same as on a disk. Names that do not tell the format cost no more than a
// bounded number of requests.
func TestRequestsOfSmallObjects(t *testing.T) {
	l := newLake(t)
	lines := texts(600)
	for _, kind := range []string{".jsonl", ".jsonl.gz", ".jsonl.zst", ".json", ".parquet", ".warc.gz"} {
		t.Run(kind, func(t *testing.T) {
			const n = 200
			local := t.TempDir()
			for i := range n {
				name := fmt.Sprintf("%03d%s", i, kind)
				content := stored(t, name, lines[3*i:3*i+3])
				l.Put("lake", "in"+kind+"/"+name, content, nil)
				write(t, local, name, []byte(content))
			}
			o := Options{Fields: fields, MaxDocument: 1 << 20}
			wanted, want := sampleOf(t, inputs(t, o, local), o)
			l.since()
			in := inputs(t, o, "s3://lake/in"+kind)
			planned := 0
			if kind == ".json" {
				planned = n
			}
			if gets, _, heads := l.since(); gets != planned || heads > 1 { // the argument may itself be an object
				t.Errorf("the plan reads %d times and asks %d times what an object is", gets, heads)
			}
			got, sampled := sampleOf(t, in, o)
			if !slices.Equal(got, wanted) || !reflect.DeepEqual(sampled, want) {
				t.Errorf("a sample of %d, %+v, on a disk of %d, %+v", len(got), sampled, len(wanted), want)
			}
			if gets, _, heads := l.since(); gets != n || heads > 0 {
				t.Errorf("the sample reads %d times and asks %d times what an object is", gets, heads)
			}
			path := filepath.Join(t.TempDir(), "inputs")
			mustDo(t, storage.Begin(t.Context(), filepath.Dir(path), false))
			mustDo(t, in.Share(t.Context(), path))
			again, err := Shared(t.Context(), path) // nothing is inspected
			mustDo(t, err)
			for range 2 {
				for i := range again.Splits.Len() {
					_, err := Records(t.Context(), again, []blocks.Span{again.Splits.At(i)}, o, func(*reading.Record) error { return nil })
					mustDo(t, err)
				}
				if gets, _, heads := l.since(); gets != n || heads > 0 {
					t.Errorf("a read reads %d times and asks %d times what an object is", gets, heads)
				}
			}
		})
	}
}

// TestSampleOfLargeObjects checks that windows that are read separately give the same sample and the same number of
// records as on a disk.
func TestSampleOfLargeObjects(t *testing.T) {
	l := newLake(t)
	lines := texts(8000)
	for _, name := range []string{"a.jsonl", "a.jsonl.gz", "a.parquet"} {
		content := stored(t, name, lines)
		l.Put("lake", name, content, nil)
		o := Options{Fields: fields, MaxDocument: 1 << 20}
		wanted, want := sampleOf(t, inputs(t, o, write(t, t.TempDir(), name, []byte(content))), o)
		got, sampled := sampleOf(t, inputs(t, o, "s3://lake/"+name), o)
		if !slices.Equal(got, wanted) || !reflect.DeepEqual(sampled, want) {
			t.Errorf("%s: a sample of %d, %+v, on a disk of %d, %+v", name, len(got), sampled, len(wanted), want)
		}
		if n := int64(len(lines)); len(got) == len(lines) || sampled.Records < n*9/10 || sampled.Records > n*11/10 {
			t.Errorf("%s: an estimate of %d records from %d, want %d", name, sampled.Records, len(got), n)
		}
	}
}

// TestManyJSON has more names ending in .json than are looked into: those in between are assumed to have the format of
// the others, and one that does not is found when it is read.
func TestManyJSON(t *testing.T) {
	l := newLake(t)
	const n = 3 * mostAlike
	name := func(i int) string { return fmt.Sprintf("in/%05d.json", i) }
	for i := range n {
		l.Put("lake", name(i), "{\"text\":\"some\"}\n", nil)
	}
	o := Options{Fields: fields, MaxDocument: 1 << 20}
	in := inputs(t, o, "s3://lake/in")
	if gets, _, _ := l.since(); gets != mostAlike {
		t.Errorf("%d are looked into", gets)
	}
	for i := range n {
		if f, _, err := in.Listed(t.Context(), i); err != nil || f.Format != "jsonl" {
			t.Fatal(f, err)
		}
	}
	l.Put("lake", name(1), "{\n\"text\":\"some\"}\n", nil)
	in = inputs(t, o, "s3://lake/in")
	refused := (*InspectError)(nil)
	if _, _, _, err := in.open(t.Context(), 1, o); !errors.As(err, &refused) || !strings.Contains(err.Error(), "00001.json") {
		t.Errorf("one of another kind: %v", err)
	}
	if _, _, _, err := in.open(t.Context(), 2, o); err != nil {
		t.Error(err)
	}
	l.since()
	l.Put("lake", name(0), "{\n\"text\":\"some\"}\n", nil)
	if _, err := Plan(t.Context(), []string{"s3://lake/in"}, o); err == nil || !strings.Contains(err.Error(), "several formats: jsonl (2998 files") {
		t.Errorf("two kinds: %v", err)
	}
	if gets, _, _ := l.since(); gets != n {
		t.Errorf("of two kinds %d are looked into", gets)
	}
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestFetchedOfStart checks that reading the first MiB of a large compressed object fetches hardly more.
func TestFetchedOfStart(t *testing.T) {
	l := newLake(t)
	lines := texts(16000)
	for _, name := range []string{"a.jsonl.gz", "a.jsonl.zst"} {
		l.Put("lake", name, stored(t, name, lines), nil)
		o := Options{Fields: fields, MaxDocument: 1 << 20}
		in := inputs(t, o, "s3://lake/"+name)
		l.since()
		_, err := Records(t.Context(), in, []blocks.Span{{End: 1 << 20}}, o, func(*reading.Record) error { return nil })
		mustDo(t, err)
		if _, bytes, _ := l.since(); bytes > 2<<20 {
			t.Errorf("%s: %d bytes are fetched", name, bytes)
		}
	}
}

// TestHeldBytes checks that the memory the sample holds for a unit is bounded, however small its records are.
func TestHeldBytes(t *testing.T) {
	l := newLake(t)
	l.Put("lake", "a.txt", strings.Repeat("a\n", 256<<10), nil)
	o := Options{Format: "lines", Fields: fields, MaxDocument: 1 << 20}
	s := sampler{cut: usualCut(512 << 10), in: inputs(t, o, "s3://lake/a.txt"), options: o}
	before := heapBytes()
	held, err := s.hold(t.Context(), unit{ahead: true})
	mustDo(t, err)
	if grown := heapBytes() - before; grown > 2*unitBytes {
		t.Errorf("%d bytes are held", grown)
	}
	if held.whole {
		t.Error("the unit is held whole")
	}
	runtime.KeepAlive(held)
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
