package s3_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
	"github.com/neardup/neardup/io/storage/s3"
	"github.com/neardup/neardup/io/storage/storagetest"
)

// TestForeign checks the client against another implementation of S3, at NEARDUP_STORE_URL (.ci/stores). For multipart
// uploads, moto 5.2.5 ignores If-Match.
func TestForeign(t *testing.T) {
	url := os.Getenv("NEARDUP_STORE_URL")
	if url == "" {
		t.Skip("no NEARDUP_STORE_URL")
	}
	environment(t)
	const name = "plain"
	c := s3.New(s3.Options{Endpoint: url, Region: "us-east-1"})
	store := bucket.New("s3://", c)
	storage.Register("s3://", store)
	storagetest.Run(t, fmt.Sprintf("s3://%s/contract-%d", name, time.Now().UnixNano()), storagetest.Lacks{LineBreaks: true})
	t.Cleanup(s3.Shrink(5<<20, 11<<20, 5<<20)) // no store accepts smaller parts
	at := func(key string) bucket.Key { return bucket.Key{Bucket: name, Name: key} }
	for _, cond := range []storage.If{{}, {Absent: true}} {
		content := long(12 << 20)
		info, err := c.Create(t.Context(), at("x"), cond, text(content))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Create(t.Context(), at("x"), storage.If{Absent: true}, text(content)); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("error %v, want ErrPrecondition", err)
		}
		if there, err := c.Stat(t.Context(), at("x")); err != nil || there.Version != info.Version || there.Size != info.Size {
			t.Errorf("Create tells %+v, Stat %+v, %v", info, there, err)
		}
		if err := c.Move(t.Context(), at("x"), at("y")); err != nil {
			t.Fatal(err)
		}
		if got, _, err := read(t.Context(), c, at("y"), "", 0, 1<<40); err != nil || got != content {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		moved, err := c.Stat(t.Context(), at("y"))
		if err != nil {
			t.Fatal(err)
		}
		until := time.Now().Add(30 * time.Second)
		if err := c.Remove(t.Context(), at("y"), storage.If{Version: info.Version + "0", Until: until}); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("error %v, want ErrPrecondition", err)
		}
		if err := c.Remove(t.Context(), at("y"), storage.If{Version: moved.Version, Until: until}); err != nil {
			t.Error(err)
		}
	}
	if err := c.Abort(t.Context(), at("")); err != nil {
		t.Error(err)
	}
	if _, err := c.Stat(t.Context(), bucket.Key{Bucket: "none", Name: "x"}); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no bucket: error %v", err)
	}
}
