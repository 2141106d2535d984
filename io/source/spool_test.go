package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
)

// full is a store that takes room bytes of each object.
type full struct {
	storage.Store
	room int
}

var errFull = errors.New("no space left")

func (f *full) Create(ctx context.Context, path string, cond storage.If, write func(io.Writer) error) (storage.Info, error) {
	if f.room < 0 {
		return storage.Info{}, errFull
	}
	return f.Store.Create(ctx, path, cond, func(w io.Writer) error { return write(&limited{w, f.room}) })
}

type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		n, err := l.w.Write(p[:l.left])
		l.left = 0
		return n, errors.Join(err, errFull)
	}
	l.left -= len(p)
	return l.w.Write(p)
}

// TestSpoolFails: plain bytes that cannot all be written are not there for those who read again,
// and the documents are read all the same, once.
func TestSpoolFails(t *testing.T) {
	store := &full{Store: &storagetest.Memory{}}
	storage.Register("full://", store)
	f := big("lines", 200, 1000, 70_000, 300, 300_000, 5)
	for _, compression := range []string{gzipped, zstded} {
		in := inputs(t, f.options(), write(t, t.TempDir(), "file", pack(t, f.content, compression)))
		in.Files[0].Spool = "full://plain/" + compression
		for _, room := range []int{-1, 0, 1, 128 << 10, len(f.content) - 1, len(f.content), len(f.content) + 1} {
			store.room = room
			if err := storage.RemoveAll(t.Context(), in.Files[0].Spool); err != nil {
				t.Fatal(err)
			}
			// Read, and read again by way of what is left.
			for range 2 {
				documents := 0
				count := func(block []byte) {
					for d := blocks.NewDecoder(block); !d.Done(); documents++ {
						d.Document()
					}
				}
				fn := &readFn{Params: share(t, in, f.options())}
				err := fn.ProcessElement(t.Context(), 0, count, count, func(int64, []byte) {}, func(int64, []byte) {}, func([]byte) {})
				if err != nil || documents != len(f.records) {
					t.Errorf("%s, room for %d of %d bytes: %d documents, %v, want %d", compression, room, len(f.content), documents, err, len(f.records))
				}
			}
			plain, err := storage.ReadFile(t.Context(), in.Files[0].Spool)
			if fits := room >= len(f.content); fits && (err != nil || !bytes.Equal(plain, f.content)) || !fits && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, room for %d of %d bytes: %d are left, %v", compression, room, len(f.content), len(plain), err)
			}
		}
	}
}

// TestSpoolInOddFolders: neither an input nor where its plain bytes lie is a pattern.
func TestSpoolInOddFolders(t *testing.T) {
	temp := storage.Join(t.TempDir(), "tmp[x]")
	f := big("lines", 200, 1000)
	path := write(t, storage.Join(temp, "in[1]*"), "file[2]", pack(t, f.content, gzipped))
	in := inputs(t, f.options(), path)
	in.Files[0].Spool = storage.Join(temp, "plain", "0")
	if _, err := storage.WriteFile(t.Context(), in.Files[0].Spool, func(w io.Writer) error { _, err := w.Write(f.content); return err }); err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), in, in.Splits[0], fields, anyLength)
	if err != nil {
		t.Fatal(err)
	}
	if r.compression != "" {
		t.Error("the plain bytes are not read")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// shifting is a store whose objects change while they are open.
type shifting struct{ storage.Store }

type shiftingReader struct {
	storage.Reader
	read *bool
}

func (s shifting) Open(ctx context.Context, path string) (storage.Reader, error) {
	r, err := s.Store.Open(ctx, path)
	return shiftingReader{r, new(bool)}, err
}

func (r shiftingReader) ReadAt(p []byte, offset int64) (int, error) {
	*r.read = true
	return r.Reader.ReadAt(p, offset)
}

func (r shiftingReader) Stat(ctx context.Context) (storage.Info, error) {
	info, err := r.Reader.Stat(ctx)
	if *r.read {
		info.Version += " and more"
	}
	return info, err
}

// TestReadWhileChanged: whoever reads a file that changes meanwhile is told so in the end.
func TestReadWhileChanged(t *testing.T) {
	store := &shifting{&storagetest.Memory{}}
	storage.Register("still://", store.Store)
	storage.Register("shifting://", store)
	f := big("lines", 200, 1000)
	for _, compression := range []string{"", gzipped, zstded} {
		for _, scheme := range []string{"still://", "shifting://"} {
			path := scheme + "b/file" + compression
			if _, err := storage.WriteFile(t.Context(), path, func(w io.Writer) error { _, err := w.Write(pack(t, f.content, compression)); return err }); err != nil {
				t.Fatal(err)
			}
			in := inputs(t, f.options(), strings.Replace(path, "shifting", "still", 1))
			if in.Root != "still://b" || in.Files[0].Source != "file"+compression {
				t.Errorf("root %s, source %s", in.Root, in.Files[0].Source)
			}
			in.Files[0].Path = path
			info, err := storage.Stat(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			in.Files[0].Identity = info.Version
			r, err := Open(t.Context(), in, in.Splits[0], fields, anyLength)
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = r.Next()
			}
			if err != io.EOF {
				t.Error(err)
			}
			if err := r.Close(); (err != nil) != (scheme == "shifting://") {
				t.Errorf("%s: error %v", path, err)
			}
		}
	}
}
