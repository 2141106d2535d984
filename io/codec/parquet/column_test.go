package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// opened returns a file after Open.
func opened(t testing.TB, content []byte) *File {
	t.Helper()
	f, err := Open(t.Context(), bytes.NewReader(content), "file", int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// fileOf returns a file of rows that the library writes.
func fileOf[T any](t testing.TB, rows []T, options ...parquet.WriterOption) *File {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, rows, options...); err != nil {
		t.Fatal(err)
	}
	return opened(t, b.Bytes())
}

// entry is one entry of a row: its levels, and the bytes of its value.
type entry struct {
	rep, def int
	value    string
}

func nextRow(c *Column) (row []entry, err error) {
	err = c.Entries(func(rep, def int) error {
		e := entry{rep: rep, def: def}
		if def == c.Leaf.MaxDef {
			v, err := c.Value()
			if err != nil {
				return err
			}
			e.value = string(v)
		}
		row = append(row, e)
		return nil
	})
	return row, err
}

// TestSeek: a row is the same whether the rows before it were skipped by page index, page header or value.
func TestSeek(t *testing.T) {
	paths, err := filepath.Glob("../../../testdata/parquet/*.parquet")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := opened(t, content)
		random := rand.New(rand.NewPCG(1, 2))
		jumped := false
		for i := range f.Groups {
			g := &f.Groups[i]
			err := f.Chunks(g, func(i int, chunk *Chunk) error {
				l := &f.Leaves[i]
				var want [][]entry
				for all := f.Column(l, g, chunk); all.Row < g.Rows; {
					row, err := nextRow(all)
					if err != nil {
						return err
					}
					want = append(want, row)
				}
				for _, step := range []int64{2, 9, 30, g.Rows} {
					c := f.Column(l, g, chunk)
					for row := random.Int64N(step); row < g.Rows; row += 1 + random.Int64N(step) {
						if err := c.SeekRow(row); err != nil {
							return err
						}
						got, err := nextRow(c)
						if err != nil {
							return err
						}
						if !slices.Equal(got, want[row]) {
							t.Errorf("%s: column %s, row %d: %v, want %v", path, l.Path(), g.First+row, got, want[row])
						}
					}
					jumped = jumped || c.index != nil
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(path, "zstd-1") && !jumped {
			t.Error("the page index is not used")
		}
	}
}

// failing is a store that cannot be read.
type failing struct{}

var errStore = errors.New("the store is gone")

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errStore }

// TestStoreFailsAtTheEnd: a failure to read the page behind the last row is not reported as too many rows.
func TestStoreFailsAtTheEnd(t *testing.T) {
	type row struct {
		ID   int64   `parquet:"id"`
		Text *string `parquet:"text,optional"`
	}
	rows := make([]row, 99)
	for i := range rows {
		text := fmt.Sprint("text ", i)
		rows[i] = row{int64(i), &text}
	}
	f := fileOf(t, rows, parquet.PageBufferSize(64))
	err := f.Chunks(&f.Groups[0], func(i int, c *Chunk) error {
		g := &Group{Rows: 99}
		column := f.Column(&f.Leaves[i], g, c)
		for column.Row == 0 || column.entries > 0 && column.Row < 99 {
			if err := column.Skip(); err != nil {
				return err
			}
		}
		if column.remaining == 0 {
			t.Errorf("column %s has one page", column.Leaf.Path())
		}
		g.Rows = column.Row
		column.window = window{r: failing{}, end: column.window.end}
		err := column.Done()
		if !errors.Is(err, errStore) || errors.As(err, new(*ContentError)) {
			t.Errorf("column %s: error %v", column.Leaf.Path(), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSizeOfStream: a large page that unpacks to more or less than its header says is an error, whether or not its
// values are read.
func TestSizeOfStream(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	type row struct {
		Text *string `parquet:"text,optional,plain"`
	}
	rows := make([]row, 2000)
	for i := range rows {
		noise := make([]byte, 8000)
		for i := range noise {
			noise[i] = 'a' + byte(random.IntN(26))
		}
		if text := string(noise); i%5 != 3 {
			rows[i].Text = &text
		}
	}
	f := fileOf(t, rows, parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(1), parquet.PageBufferSize(64<<20))
	for _, more := range []int64{-1, 1, 0} {
		var c *Column
		_ = f.Chunks(&f.Groups[0], func(_ int, chunk *Chunk) error { c = f.Column(&f.Leaves[0], &f.Groups[0], chunk); return nil })
		if _, err := c.Peek(false); err != nil {
			t.Fatal(err)
		}
		c.MaxValue = 10_000
		c.Header.Uncompressed += more
		if !c.streams() {
			t.Fatal("it is no stream")
		}
		err := c.load()
		if err == nil && more <= 0 { // whether or not its values were read
			err = c.endPage()
			if more < 0 && err == nil || more == 0 && err != nil {
				t.Errorf("a page of %d bytes more than its header says is left: error %v", -more, err)
			}
			if more == 0 {
				continue
			}
			c.entries = 0
			err = c.load()
			c.entries = c.Header.Values
		}
		for err == nil && c.entries > 0 {
			var def int
			if _, def, err = c.level(); err == nil && def > 0 {
				_, err = c.values.next()
			}
		}
		if err == nil {
			err = c.endPage()
		}
		if err == nil {
			t.Errorf("a page that unpacks to %d bytes more than its header says: no error", -more)
		}
	}
}

// TestNeed: a large dictionary takes memory besides its pages, and so do the ends of its words.
func TestNeed(t *testing.T) {
	const page, half = LargePage + 1, LargePage / 2
	bytes, numbers, other := columnOf(format.ByteArray, 0), columnOf(format.Int64, 8), columnOf(format.Int32, 0)
	nullable := bytes
	nullable.MaxDef = 1
	for name, c := range map[string]struct {
		c    Column
		want int64
	}{
		"small":         {Column{Leaf: &other, Header: PageHeader{Stored: 10, Uncompressed: leastNeed - 10}}, 0},
		"not so small":  {Column{Leaf: &other, Header: PageHeader{Stored: 10, Uncompressed: leastNeed - 9}}, leastNeed + 1},
		"large":         {Column{Leaf: &other, Header: PageHeader{Stored: 10, Uncompressed: page}}, page + 10},
		"stream":        {Column{Leaf: &bytes, MaxValue: 100, Chunk: Chunk{Codec: format.Zstd}, Header: PageHeader{Stored: page, Uncompressed: page, Values: 1 << 60}}, 0},
		"long texts":    {Column{Leaf: &bytes, MaxValue: page, Chunk: Chunk{Codec: format.Zstd}, Header: PageHeader{Stored: page, Uncompressed: 9 * page}}, page},
		"levels":        {Column{Leaf: &nullable, MaxValue: 100, Chunk: Chunk{Codec: format.Zstd}, Header: PageHeader{Stored: page, Uncompressed: 9 * page, Values: page}}, 100 + entryBytes*(page+8)},
		"words":         {Column{Leaf: &other, Header: PageHeader{Stored: 10, Uncompressed: half}, WordsAt: 4, WordsHeader: PageHeader{Stored: 20, Uncompressed: half, Values: 30}}, 20 + half + half + 4*30},
		"more words":    {Column{Leaf: &other, Header: PageHeader{}, WordsAt: 4, WordsHeader: PageHeader{Stored: 20, Uncompressed: page, Values: 1 << 62}}, 20 + page + page/4*4},
		"wide words":    {Column{Leaf: &numbers, Header: PageHeader{}, WordsAt: 4, WordsHeader: PageHeader{Stored: page, Uncompressed: page, Values: page / 8}}, 2 * page},
		"no dictionary": {Column{Leaf: &other, Header: PageHeader{}, WordsHeader: PageHeader{Stored: page, Uncompressed: page}}, 0},
	} {
		if got := c.c.Need(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}
