package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/brotli"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	core "github.com/neardup/neardup/io/codec/parquet"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
)

// footerOf returns the encoded fields of a file's FileMetaData.
func footerOf(t *testing.T, content []byte) (fields []thriftField) {
	t.Helper()
	length := int(binary.LittleEndian.Uint32(content[len(content)-8:]))
	core.Fields(content[len(content)-8-length:len(content)-8], func(id int16, kind thrift.Type, value []byte) {
		fields = append(fields, thriftField{id, kind, bytes.Clone(value)})
	})
	return fields
}

// withFooter returns content with another FileMetaData.
func withFooter(content []byte, fields []thriftField) []byte {
	length := int(binary.LittleEndian.Uint32(content[len(content)-8:]))
	footer := appendStruct(nil, fields)
	out := append(bytes.Clone(content[:len(content)-8-length]), footer...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), core.Magic...)
}

func sameField(a, b thriftField) bool {
	return a.id == b.id && a.kind == b.kind && bytes.Equal(a.value, b.value)
}

// TestMetadata: except for rows and row groups, the metadata of a copy equals the source's byte for byte, including a
// field that is unknown.
func TestMetadata(t *testing.T) {
	content, err := os.ReadFile("../../../testdata/parquet/pyarrow-zstd-1.parquet")
	if err != nil {
		t.Fatal(err)
	}
	want := append(footerOf(t, content), thriftField{30, thrift.BINARY, []byte("\x03new")})
	content = withFooter(content, want)
	file := readertest.Plant(t, Reader{}, "parquet", content)
	copied := copyOf(t, file, blocks.Span{End: blocks.End}, []int64{50})
	got := footerOf(t, copied)
	gone := func(f thriftField) bool { return f.id == 3 || f.id == 4 }
	if !slices.EqualFunc(slices.DeleteFunc(slices.Clone(got), gone), slices.DeleteFunc(slices.Clone(want), gone), sameField) {
		t.Errorf("the metadata are\n%v, want\n%v", got, want)
	}
}

// TestShare: a copy is at most 5 % larger than the source's share.
func TestShare(t *testing.T) {
	rows := documents(20_000)
	file := readertest.Plant(t, Reader{}, "parquet", encoded(t, [][]document{rows[:10_000], rows[10_000:]}))
	for _, every := range []int64{2, 7, 30, 1000} {
		var dropped []int64
		for row := int64(0); row < file.Positions; row += every {
			dropped = append(dropped, row)
		}
		copied := int64(len(copyOf(t, file, blocks.Span{End: blocks.End}, dropped)))
		share := file.Size * (file.Positions - int64(len(dropped))) / file.Positions
		if copied > share*105/100 {
			t.Errorf("without each %d: %d bytes, the share is %d of %d", every, copied, share, file.Size)
		}
	}
}

// TestGroupsFit: a row group whose first rows are much longer than the others is split into groups that are small
// enough.
func TestGroupsFit(t *testing.T) {
	rows := documents(20_000)
	long := strings.Repeat("text ", 120_000)
	for i := range 130 {
		rows[i].Text = &long
	}
	content := encoded(t, [][]document{rows})
	file := readertest.Plant(t, Reader{}, "parquet", content)
	copied := copyOf(t, file, blocks.Span{End: blocks.End}, []int64{19_000})
	for _, g := range groupsOf(t, copied) {
		if g.stored > maxGroup {
			t.Errorf("a row group of %d rows takes %d bytes", g.rows, g.stored)
		}
	}
	want := ours(t, content)
	for name := range want {
		want[name] = slices.Delete(want[name], 19_000, 19_001)
	}
	sameTables(t, "cut", ours(t, copied), want)
}

// TestGroups: for any table and pages, no row group of a copy is much larger than the limit, unless it has one row. All
// rows are there, and there are not many more groups than the bytes need. The size of a page that is packed again is an
// estimate: a codec may not compress some of its rows at all, and without them may halve its size.
func TestGroups(t *testing.T) {
	codecs := []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &zstd.Codec{Level: zstd.SpeedBestCompression}}
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		text := func(n int) string {
			noise := make([]byte, n)
			for i := range noise {
				noise[i] = byte(' ' + rng.IntN(90))
			}
			switch rng.IntN(3) {
			case 0:
				return strings.Repeat("again ", n/6)
			case 1: // what the strongest level of a codec compresses better
				for i := range noise {
					noise[i] = "eeeetttaaoin shrdlu"[rng.IntN(19)]
				}
				return strings.Repeat(string(noise[:n/8]), 8)
			default:
				return string(noise)
			}
		}
		short, long := rapid.IntRange(0, 200).Draw(t, "bytes of a short text"), rapid.IntRange(1, 20_000).Draw(t, "bytes of a long text")
		every := rapid.IntRange(1, 400).Draw(t, "one in so many is long")
		rows := documents(rapid.IntRange(1, 1500).Draw(t, "rows"))
		for i := range rows {
			n := short
			if rng.IntN(every) == 0 {
				n = long
			}
			s := text(n)
			switch {
			case i%2 == 0:
				rows[i].Text = &s
			case rng.IntN(4) == 0:
				rows[i].Words = strings.Fields(s)
			default:
				rows[i].ID = &s
			}
		}
		content := encoded(t, [][]document{rows}, parquet.Compression(rapid.SampledFrom(codecs).Draw(t, "codec")),
			parquet.DataPageVersion(rapid.IntRange(1, 2).Draw(t, "version")), parquet.PageBufferSize(rapid.SampledFrom([]int{100, 1000, 8000, 1 << 20}).Draw(t, "page")))
		var dropped []int64
		for row, every := 0, rapid.IntRange(1, 50).Draw(t, "dropped"); row < len(rows); row += 1 + rng.IntN(2*every) {
			dropped = append(dropped, int64(row))
		}
		const largest = 32 << 10
		copied := copyIn(t, content, dropped, largest)
		groups, total := 0, int64(0)
		for _, g := range groupsOf(t, copied) {
			if g.stored > 2*largest && g.rows > 1 {
				t.Fatalf("a row group of %d rows takes %d bytes", g.rows, g.stored)
			}
			groups++
			total += g.stored
		}
		if int64(groups) > 8+8*int64(len(content))/largest {
			t.Errorf("%d row groups for %d bytes of %d", groups, total, len(content))
		}
		want := ours(t, content)
		for name := range want {
			for _, row := range slices.Backward(dropped) {
				want[name] = slices.Delete(want[name], int(row), int(row)+1)
			}
			if len(want[name]) == 0 {
				delete(want, name)
			}
		}
		sameTables(t, "cut", ours(t, copied), want)
	})
}

// TestLongBounds: if a row group whose bounds are long texts is split into many, they do not repeat these bounds.
func TestLongBounds(t *testing.T) {
	rows := documents(400)
	for i := range rows {
		long := fmt.Sprint(i, strings.Repeat("text", 5000))
		rows[i].Text = &long
	}
	copied := copyIn(t, encoded(t, [][]document{rows}, parquet.Compression(&parquet.Uncompressed)), []int64{7}, 32<<10)
	groups := len(groupsOf(t, copied))
	if footer := int(binary.LittleEndian.Uint32(copied[len(copied)-8:])); groups < 100 || footer > groups*8192 {
		t.Errorf("a footer of %d bytes for %d row groups", footer, groups)
	}
}

// TestHarder: no row group is too large even if the source's writer compresses harder than a copy does.
func TestHarder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := documents(800)
	for i := range rows {
		var words []string
		for range 200 {
			n := rng.IntN(rng.IntN(300) + 1)
			words = append(words, strconv.FormatUint(uint64(n)*0x9e3779b97f4a7c15, 36)[:min(n, 3+n%6)])
		}
		text := strings.Join(words, " ")
		rows[i].Text = &text
	}
	content := encoded(t, [][]document{rows[:400], rows[400:]}, parquet.Compression(&brotli.Codec{Quality: 11, LGWin: 22}))
	largest := int64(0)
	for _, g := range groupsOf(t, content) {
		largest = max(largest, g.stored)
	}
	dropped := []int64{100, 500}
	if one := groupsOf(t, copyIn(t, content, dropped, maxGroup)); one[0].stored <= largest || one[1].stored <= largest {
		t.Fatalf("copies of row groups of at most %d bytes are not larger: %v", largest, one)
	}
	for _, g := range groupsOf(t, copyIn(t, content, dropped, largest)) {
		if g.stored > largest {
			t.Errorf("a row group takes %d bytes, more than %d", g.stored, largest)
		}
	}
}

// copyIn returns a copy with row groups of at most the given size.
func copyIn(t rapid.TB, content []byte, dropped []int64, largest int64) []byte {
	t.Helper()
	var out bytes.Buffer
	c := &copier{input: opened(t, content), w: &out, dropped: dropped, largest: largest,
		room: room{claim: reading.Claim(reading.Options{})}}
	if err := c.copy(0, c.Rows, c.Rows-int64(len(dropped))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type groupSize struct{ rows, stored int64 }

// groupsOf returns the sizes of a file's row groups from its footer.
func groupsOf(t rapid.TB, content []byte) (all []groupSize) {
	t.Helper()
	f := opened(t, content)
	for i := range f.Groups {
		size := groupSize{rows: f.Groups[i].Rows}
		err := f.Chunks(&f.Groups[i], func(_ int, c *core.Chunk) error {
			size.stored += c.Compressed
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, size)
	}
	return all
}

// readAll reads the texts of a file.
func readAll(t *testing.T, content []byte) error {
	t.Helper()
	file := readertest.Plant(t, Reader{}, "parquet", content)
	o := reading.Options{Fields: codec.Fields{Text: []string{"text"}}, MaxRecord: 1 << 20}
	_, err := Reader{}.Read(t.Context(), file, []blocks.Span{{End: blocks.End}}, o, func(*reading.Record) error { return nil })
	return err
}

// TestChecksum: a changed byte of a page is detected if the page has a checksum.
func TestChecksum(t *testing.T) {
	content, err := os.ReadFile("../../../testdata/parquet/pyarrow-snappy-1.parquet")
	if err != nil {
		t.Fatal(err)
	}
	if err := readAll(t, content); err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(content, []byte("Größe")) // in a text, not compressed since it is the first occurrence
	for ; at > 0 && at < len(content); at++ {
		damaged := bytes.Clone(content)
		damaged[at] ^= 1
		if err := readAll(t, damaged); err != nil {
			if !strings.Contains(err.Error(), `its checksum does not match its bytes`) {
				t.Errorf("byte %d: error %v", at, err)
			}
			return
		}
	}
	t.Error("no byte of a page matters")
}

// TestMoreRows: a row group that has more rows than its footer says is refused.
func TestMoreRows(t *testing.T) {
	content := encoded(t, [][]document{documents(9)})
	fields := footerOf(t, content)
	for i, f := range fields {
		switch f.id {
		case 3:
			fields[i] = integerField(3, thrift.I64, 8)
		case 4:
			g := opened(t, content).Groups[0].Raw
			fields[i] = listField(4, [][]byte{edit(g, func(id int16) bool { return id != 3 }, integerField(3, thrift.I64, 8))})
		}
	}
	lying := withFooter(content, fields)
	f := opened(t, lying)
	errs := map[string]error{}
	g := &f.Groups[0]
	g.Rows = 9 // so that flat columns, whose values are counted, pass
	err := f.Chunks(g, func(i int, c *core.Chunk) error {
		column := f.Column(&f.Leaves[i], &core.Group{Rows: 8}, c)
		for range 8 {
			if err := column.Skip(); err != nil {
				return err
			}
		}
		errs[column.Leaf.Path()] = column.Done()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "more rows than the footer says") {
			t.Errorf("column %s: error %v", name, err)
		}
	}
	if err := tried(t, lying, hostile); err == nil {
		t.Error("no error of a whole file")
	}
}

// TestRowsAreCounted: a copy that lacks rows fails.
func TestRowsAreCounted(t *testing.T) {
	content := encoded(t, [][]document{documents(9), documents(9)})
	for kept, want := range map[int64]string{17: "", 18: "file: 17 of 18 kept rows were written"} {
		err := (&copier{input: opened(t, content), w: io.Discard, dropped: []int64{10}, largest: maxGroup}).copy(0, 18, kept)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%d rows: error %v, want %q", kept, err, want)
		}
	}
}

// TestSharesAreExact: shares are exact, however many rows and bytes there are.
func TestSharesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := extent{first: rapid.Int64Range(0, blocks.MaxPosition).Draw(t, "first"), rows: rapid.Int64Range(1, blocks.MaxPosition).Draw(t, "rows"), stored: rapid.Int64Range(0, 1<<62).Draw(t, "bytes")}
		from := rapid.Int64Range(0, e.rows-1).Draw(t, "from")
		rows := rapid.Int64Range(1, e.rows-from).Draw(t, "of")
		got := sharesOf([]extent{e}, e.first+from, e.first+from+rows)
		want := new(big.Int).Mul(big.NewInt(e.stored), big.NewInt(rows))
		if want.Div(want, big.NewInt(e.rows)); want.Cmp(big.NewInt(got)) != 0 {
			t.Errorf("%d of %+v: %d bytes, want %d", rows, e, got, want)
		}
	})
}

// TestGrownIsBounded: an estimate from sizes that a file claims cannot overflow.
func TestGrownIsBounded(t *testing.T) {
	c := copier{packed: 1 << 40, foreign: 1e-12}
	if got := c.grown(1 << 40); got != 1<<62 {
		t.Errorf("%d bytes", got)
	}
}
