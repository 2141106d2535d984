package source

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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

// lake is an object store that counts.
type lake struct {
	*fakes3.Server
	busy sync.WaitGroup
	seen int
}

// newLake starts a store with the bucket lake, and makes it that of s3://.
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

// since returns how many objects were read, with how many requests each at most, and the bytes fetched of them all since it was asked last.
// Requests for what objects are fail the test.
func (l *lake) since(t testing.TB) (objects, each, requests, bytes int) {
	t.Helper()
	l.busy.Wait()
	log := l.Log()
	gets := map[string]int{}
	for _, r := range log[l.seen:] {
		switch r.Method {
		case http.MethodGet:
			if r.Key != "" {
				gets[r.Key]++
				requests++
				bytes += r.Bytes
			}
		case http.MethodHead:
			t.Errorf("%s is asked for %s", r.Method, r.Key)
		}
		each = max(each, gets[r.Key])
	}
	l.seen = len(log)
	return len(gets), each, requests, bytes
}

// texts are as many lines of JSON, of about 2 KB that compress to three quarters.
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

// stores makes the content of an object of lines, by its name.
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

// TestFetchedOnce: splits fetch hardly more of an object than it has, in each read, and with few requests.
func TestFetchedOnce(t *testing.T) {
	l := newLake(t)
	lines := texts(16000)
	for _, name := range []string{"a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "frames.jsonl.zst", "a.parquet", "one.parquet", "a.warc.gz"} {
		t.Run(name, func(t *testing.T) {
			content := stored(t, name, lines)
			l.Put("lake", name, content, nil)
			o := Options{Fields: fields, MaxDocument: 1 << 20, SplitBytes: 4 << 20}
			if strings.Contains(name, ".warc") {
				o.Fields.Text, o.Fields.ID = []string{"text"}, ""
			}
			in := inputs(t, o, "s3://lake/"+name)
			_, _, planned, bytes := l.since(t)
			t.Logf("%.2f MB, %d splits; plan: %d requests for %.2f MB", float64(len(content))/1e6, in.Splits.Len(), planned, float64(bytes)/1e6)
			_, _ = sampleOf(t, in, o)
			_, _, planned, bytes = l.since(t)
			t.Logf("sample: %d requests for %.2f MB", planned, float64(bytes)/1e6)
			check := func(what string, share float64) {
				t.Helper()
				_, _, requests, bytes := l.since(t)
				if times := float64(bytes) / float64(len(content)); times > share {
					t.Errorf("%s: fetched %.3f times, with %d requests", what, times, requests)
				} else {
					t.Logf("%s: fetched %.3f times, with %d requests", what, times, requests)
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
			check("first read", 1.05)
			var all []int64
			for _, which := range []int{1, 2, 1000} {
				for i, some := range positions {
					var wanted []int64
					for j := 0; j < len(some); j += which {
						wanted = append(wanted, some[j])
					}
					err := recordsAt(t.Context(), in, in.Splits.At(i), wanted, o, o.reading(), func(*reading.Record) error { return nil })
					if err != nil {
						t.Fatal(err)
					}
					if which == 1000 {
						all = append(all, wanted...)
					}
				}
				check(fmt.Sprintf("second read of one in %d", which), 1.05)
			}
			for _, dropped := range [][]int64{nil, all} {
				if _, err := CopyExcept(t.Context(), io.Discard, in, in.Pieces.At(0), dropped, o); err != nil {
					t.Fatal(err)
				}
				check(fmt.Sprintf("copy without %d", len(dropped)), 1.05)
			}
		})
	}
	_ = storage.Once
}
