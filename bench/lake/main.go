// Command lake serves an S3 store and a Google Cloud Storage store from memory, to try neardup with. These are the
// stores that its tests use. It ends on SIGINT or SIGTERM.
//
//	go run ./bench/lake -bucket lake -put testdata/news.jsonl=lake/in/news.jsonl -requests requests.tsv
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/neardup/neardup/internal/fakegcs"
	"github.com/neardup/neardup/internal/fakes3"
)

// list is a flag that can be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

func main() {
	var buckets, puts list
	s3Address := flag.String("s3", "127.0.0.1:9000", "address of the S3 store")
	gsAddress := flag.String("gs", "127.0.0.1:9001", "address of the Google Cloud Storage store")
	flag.Var(&buckets, "bucket", "bucket that both have; several may be given")
	flag.Var(&puts, "put", "FROM=BUCKET/NAME: a file or folder that both have at first; several may be given")
	requests := flag.String("requests", "", "file that the requests are written to at the end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l := &lake{fakes3.New(buckets...), fakegcs.New(buckets...)}
	if err := l.serve(ctx, *s3Address, *gsAddress, puts, *requests); err != nil {
		fmt.Fprintln(os.Stderr, "lake:", err)
		os.Exit(1)
	}
}

type lake struct {
	s3 *fakes3.Server
	gs *fakegcs.Server
}

func (l *lake) serve(ctx context.Context, s3Address, gsAddress string, puts []string, requests string) error {
	for _, put := range puts {
		from, to, ok := strings.Cut(put, "=")
		if !ok {
			return fmt.Errorf("-put %s: give FROM=BUCKET/NAME", put)
		}
		if err := l.put(from, to); err != nil {
			return err
		}
	}
	failed := make(chan error, 2)
	serve := func(address string, store http.Handler) (net.Addr, error) {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return nil, err
		}
		go func() { failed <- http.Serve(listener, store) }() //nolint:gosec // of this machine
		return listener.Addr(), nil
	}
	s3, err := serve(s3Address, l.s3)
	if err != nil {
		return err
	}
	gs, err := serve(gsAddress, l.gs)
	if err != nil {
		return err
	}
	fmt.Printf("AWS_ENDPOINT_URL_S3=http://%s AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s AWS_REGION=%s "+
		"STORAGE_EMULATOR_HOST=http://%s\n",
		s3, fakes3.AccessKey, fakes3.SecretKey, l.s3.Region, gs)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	if requests == "" {
		return nil
	}
	return l.write(requests)
}

// put stores a file, or all files below a folder.
func (l *lake) put(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		bucket, key, ok := strings.Cut(path.Join(to, filepath.ToSlash(rel)), "/")
		if !ok {
			return errors.New("-put " + from + ": give BUCKET/NAME")
		}
		l.s3.Put(bucket, key, string(data), nil)
		l.gs.Put(bucket, key, "", data)
		return nil
	})
}

// write writes the requests, one per line: store, method, object, range, status and bytes sent.
func (l *lake) write(name string) error {
	var text strings.Builder
	for _, r := range l.s3.Log() {
		fmt.Fprintf(&text, "s3\t%s\t%s/%s\t%s\t%d\t%d\n", r.Method, r.Bucket, r.Key, r.Range, r.Status, r.Bytes)
	}
	for _, r := range l.gs.Log() {
		fmt.Fprintf(&text, "gs\t%s\t%s\t%s\t%d\t%d\n", r.Method, r.Object, r.Range, r.Status, r.Bytes)
	}
	return os.WriteFile(name, []byte(text.String()), 0o666)
}
