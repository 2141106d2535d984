package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"github.com/klauspost/compress/gzip"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

// counting returns a context as in a step, and a function that returns the value of the counter "stored" in a
// namespace.
func counting(ctx context.Context) (context.Context, func(namespace string) int64) {
	ctx = metrics.SetPTransformID(metrics.SetBundleID(ctx, "bundle"), "step")
	return ctx, func(namespace string) (sum int64) {
		_ = metrics.Extractor{SumInt64: func(l metrics.Labels, v int64) {
			if l.Namespace() == namespace && l.Name() == "stored" {
				sum += v
			}
		}}.ExtractFrom(metrics.GetStore(ctx))
		return sum
	}
}

// metered returns files of some megabytes, by name. Their texts use 16 letters only, so that they compress well.
func metered(t *testing.T) map[string][]byte {
	t.Helper()
	type row struct {
		ID   string `parquet:"id"`
		Text string `parquet:"text"`
	}
	random := rand.New(rand.NewPCG(1, 2))
	var lines, packed, rows bytes.Buffer
	table := parquet.NewGenericWriter[row](&rows)
	for i := range 4000 {
		text := make([]byte, 1000)
		for j := range text {
			text[j] = 'a' + byte(random.IntN(16))
		}
		fmt.Fprintf(&lines, "{\"id\":\"%d\",\"text\":\"%s\"}\n", i, text)
		if _, err := table.Write([]row{{fmt.Sprint(i), string(text)}}); err != nil {
			t.Fatal(err)
		}
		if i%500 == 499 {
			if err := table.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(lines.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"in.jsonl": lines.Bytes(), "in.jsonl.gz": packed.Bytes(), "in.parquet": rows.Bytes()}
}

// TestMeter checks that each read of a file counts while it lasts, roughly in step with what it has read, and ends at
// the listed size.
func TestMeter(t *testing.T) {
	for name, content := range metered(t) {
		for _, spooled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, spooled %t", name, spooled), func(t *testing.T) {
				dir := t.TempDir()
				path, temp := filepath.Join(dir, name), filepath.Join(dir, "temp")
				if err := os.WriteFile(path, content, 0o666); err != nil {
					t.Fatal(err)
				}
				o := Options{MaxDocument: 1 << 20, SplitBytes: 2 << 20}
				o.Fields.Text, o.Fields.ID = []string{"text"}, "id"
				listing, err := Plan(t.Context(), []string{path}, o)
				if err != nil {
					t.Fatal(err)
				}
				if spooled {
					listing.Inputs.Inputs.Spool(0)
				}
				if err := storage.Begin(t.Context(), temp, true); err != nil {
					t.Fatal(err)
				}
				if err := listing.Inputs.Share(t.Context(), filepath.Join(temp, "inputs")); err != nil {
					t.Fatal(err)
				}
				in, err := Shared(t.Context(), filepath.Join(temp, "inputs"))
				if err != nil {
					t.Fatal(err)
				}
				ctx, counted := counting(t.Context())
				first, positions := tolerance{t: t, what: "first read", all: int64(len(content))}, make([][]int64, in.Splits.Len())
				var all int64
				for i := range in.Splits.Len() {
					split := in.Splits.At(i)
					file, r, _, err := in.open(ctx, split.File, o)
					if err != nil {
						t.Fatal(err)
					}
					m := meter{counter: storedRead}
					_, err = recordsOf(m.begin(ctx, file, split), r, file, []blocks.Span{split}, o, func(record *reading.Record) error {
						m.atRecord(ctx, record.Position)
						positions[i] = append(positions[i], record.Position)
						all++
						first.see(counted("read"), all, 4000)
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
					m.end(ctx)
				}
				first.end(counted("read"))

				second, seen := tolerance{t: t, what: "second read", all: int64(len(content))}, int64(0)
				for i := range in.Splits.Len() {
					err := recordsAt(ctx, in, in.Splits.At(i), positions[i], o, func(*reading.Record) error {
						seen++
						second.see(counted("fetch"), seen, 4000)
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				second.end(counted("fetch"))

				third := tolerance{t: t, what: "third read", all: int64(len(content))}
				third.late = spooled && strings.HasSuffix(name, ".gz") // the spool is read before the copy is made
				for i := range in.Pieces.Len() {
					copied := &copied{tolerance: &third, counted: counted, size: int64(len(content))}
					if _, _, err := Copy(ctx, copied, in, in.Pieces.At(i), reading.Changes{}, o); err != nil {
						t.Fatal(err)
					}
				}
				third.end(counted("corpus"))
			})
		}
	}
}

// copied receives the copy of a file.
type copied struct {
	*tolerance
	counted func(string) int64
	written int64
	size    int64
}

func (c *copied) Write(p []byte) (int, error) {
	c.see(c.counted("corpus"), c.written, c.size)
	c.written += int64(len(p))
	return len(p), nil
}

var _ io.Writer = &copied{}

// tolerance checks counted bytes against bytes read.
type tolerance struct {
	t    *testing.T
	what string
	all  int64
	last int64
	late bool // a share may be counted before it is done
}

// see is called when a share of a read is done. The count may differ by what is read or decompressed at once, at most a
// row group.
func (o *tolerance) see(counted, done, of int64) {
	o.t.Helper()
	share := float64(done) / float64(of)
	if got := float64(counted) / float64(o.all); counted < o.last || got > share+0.3 && !o.late || got < share-0.3 {
		o.t.Fatalf("%s: %d of %d bytes counted when %.2f is done, %d before", o.what, counted, o.all, share, o.last)
	}
	o.last = counted
}

func (o *tolerance) end(counted int64) {
	o.t.Helper()
	if counted != o.all {
		o.t.Errorf("%s: %d bytes counted, want %d", o.what, counted, o.all)
	}
}

// Whatever a reader reaches, and in whatever order, a span counts for its listed size, and never for more.
func TestMeterCountsSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := &blocks.File{Size: rapid.Int64Range(1, 1<<30).Draw(t, "size"), Positions: rapid.Int64Range(0, 1000).Draw(t, "positions")}
		var sum int64
		start := int64(0)
		for _, cut := range append(rapid.SliceOfNDistinct(rapid.Int64Range(1, 1<<30), 0, 3, rapid.ID).Draw(t, "cuts"), blocks.End) {
			if cut <= start {
				continue
			}
			ctx, counted := counting(context.Background())
			m := meter{counter: storedRead}
			m.begin(ctx, file, blocks.Span{Start: start, End: cut})
			last := int64(0)
			for _, at := range rapid.SliceOf(rapid.Int64Range(0, 1<<31)).Draw(t, "reached") {
				m.reached.Store(at)
				m.atRecord(ctx, at)
				if now := counted("read"); now < last || now > m.all {
					t.Fatalf("%d after %d, of %d", now, last, m.all)
				} else {
					last = now
				}
			}
			m.end(ctx)
			sum += counted("read")
			start = cut
		}
		if sum != file.Size {
			t.Errorf("spans count for %d of %d bytes", sum, file.Size)
		}
	})
}
