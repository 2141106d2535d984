package parquetfile

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/reading/readertest"
)

// TestRuns: numbers survive, and the library reads them as they are, too.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(0, 32).Draw(t, "width")
		var numbers []uint32
		for range rapid.IntRange(0, 8).Draw(t, "runs") {
			n := uint32(rapid.Uint64Range(0, 1<<width-1).Draw(t, "number"))
			numbers = append(numbers, slices.Repeat([]uint32{n}, rapid.IntRange(1, 20).Draw(t, "times"))...)
		}
		packed := appendRuns(nil, numbers, width)
		r, err := newRuns(packed, width)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range numbers {
			if got, err := r.next(); err != nil || got != want {
				t.Fatalf("number %d is %d, want %d; error %v", i, got, want, err)
			}
		}
		library := rle.Encoding{BitWidth: width}
		got, err := library.DecodeInt32(nil, slices.Clip(packed))
		if err != nil || len(got) < len(numbers) {
			t.Fatalf("the library reads %d numbers of %d; error %v", len(got), len(numbers), err)
		}
		for i, want := range numbers {
			if uint32(got[i]) != want {
				t.Fatalf("the library reads %d for number %d, want %d", got[i], i, want)
			}
		}
	})
}

// TestDeltas: what the library encodes is decoded.
func TestDeltas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "numbers")
		bits := rapid.IntRange(1, 64).Draw(t, "bits")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var numbers []int64
		var data []byte
		ends := []uint32{0}
		var fixed []byte
		for range n {
			numbers = append(numbers, int64(random.Uint64()>>(64-bits)))
			value := bytes.Repeat([]byte("same"), random.IntN(4))
			value = append(value, byte(random.IntN(3)))
			data = append(data, value...)
			ends = append(ends, uint32(len(data)))
			fixed = append(fixed, 'a', 'b', byte(random.IntN(3)), byte(random.IntN(3)))
		}
		encoded, err := new(delta.BinaryPackedEncoding).EncodeInt64(nil, numbers)
		if err != nil {
			t.Fatal(err)
		}
		d, err := newDeltas(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if rest, err := d.rest(); err != nil || len(rest) != 0 {
			t.Fatalf("%d bytes are left; error %v", len(rest), err)
		}
		for i, want := range numbers {
			if got, err := d.next(); err != nil || got != want {
				t.Fatalf("number %d is %d, want %d; error %v", i, got, want, err)
			}
		}
		lengths, err1 := new(delta.LengthByteArrayEncoding).EncodeByteArray(nil, data, ends)
		strings, err2 := new(delta.ByteArrayEncoding).EncodeByteArray(nil, data, ends)
		arrays, err3 := new(delta.ByteArrayEncoding).EncodeFixedLenByteArray(nil, fixed, 4)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		for name, c := range map[string]struct {
			encoding format.Encoding
			leaf     leaf
			data     []byte
		}{
			"lengths": {format.DeltaLengthByteArray, leaf{element: element{kind: format.ByteArray}}, lengths},
			"strings": {format.DeltaByteArray, leaf{element: element{kind: format.ByteArray}}, strings},
			"arrays":  {format.DeltaByteArray, leaf{element: element{kind: format.FixedLenByteArray}, width: 4}, arrays},
		} {
			v, err := newValues(c.encoding, &c.leaf, c.data, nil, 1<<20)
			if err != nil {
				t.Fatal(name, err)
			}
			for i := range n {
				want := data[ends[i]:ends[i+1]]
				if c.leaf.width > 0 {
					want = fixed[4*i : 4*i+4]
				}
				if got, err := v.next(); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s: value %d is %q, want %q; error %v", name, i, got, want, err)
				}
			}
			if _, err := v.next(); err == nil {
				t.Fatalf("%s: one value more", name)
			}
		}
	})
}

// TestPrefixesAreBounded: values that each begin as the one before take more than a page does.
func TestPrefixesAreBounded(t *testing.T) {
	const n, length = 1000, 1000
	data := bytes.Repeat([]byte("x"), n*length)
	ends := []uint32{0}
	for i := range n {
		ends = append(ends, uint32((i+1)*length))
	}
	encoded, err := new(delta.ByteArrayEncoding).EncodeByteArray(nil, data, ends)
	if err != nil || len(encoded) > n*length/10 {
		t.Fatalf("%d bytes, error %v", len(encoded), err)
	}
	v, err := newValues(format.DeltaByteArray, &leaf{element: element{kind: format.ByteArray}}, encoded, nil, n*length/2)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for ; err == nil; read++ {
		_, err = v.next()
	}
	if read != n/2+1 {
		t.Errorf("%d values were read of half a page", read)
	}
}

// TestPack: each codec unpacks what it packs, nothing at all included.
func TestPack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for codec := format.Uncompressed; codec <= format.Lz4Raw; codec++ {
		if refused(codec) != nil {
			continue
		}
		p := pageWriter{codec: codec}
		for _, data := range [][]byte{nil, {1}, noise, bytes.Repeat([]byte("text "), 1000), noise[:7]} {
			packed, err := p.pack(data)
			if err != nil {
				t.Fatal(codec, err)
			}
			got, err := unpack(codec, make([]byte, 3), bytes.Clone(packed), len(data))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("codec %d: %d bytes become %d; error %v", codec, len(data), len(got), err)
			}
			for _, size := range []int{len(data) - 1, len(data) + 1} {
				if _, err := unpack(codec, nil, bytes.Clone(packed), max(size, 0)); err == nil && size >= 0 {
					t.Errorf("codec %d: %d bytes unpack to %d", codec, len(data), size)
				}
			}
		}
	}
	if refused(format.LZO) == nil || refused(8) == nil || refused(-1) == nil {
		t.Error("an unknown codec is not refused")
	}
}

// TestSeek: a row is the same whichever rows before it were passed, by page index, page header or value.
func TestSeek(t *testing.T) {
	matrix(t, func(t *testing.T, path string) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := ours(t, content)
		file := &blocks.File{Path: path, Size: int64(len(content))}
		f := bytes.NewReader(content)
		ft, err := readFooter(f, file)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		jumped := false
		for i := range ft.groups {
			g := &ft.groups[i]
			err := ft.chunks(file, g, func(i int, chunk *chunk) error {
				l := &ft.schema.leaves[i]
				for _, step := range []int64{2, 9, 30, g.rows} {
					c := (&source{context.Background(), f, file, ft, maxPage}).column(l, g, chunk)
					for row := random.Int64N(step); row < g.rows; row += 1 + random.Int64N(step) {
						var got []cell
						if err := c.seek(row); err != nil {
							return err
						}
						err := c.nextEntries(func(rep, def int) error {
							e := cell{rep: int16(rep), def: int16(def)}
							if def == l.maxDef {
								v, err := c.value()
								if err != nil {
									return err
								}
								e.value = string(v)
							}
							got = append(got, e)
							return nil
						})
						if err != nil {
							return err
						}
						if w := want[l.name()][g.first+row]; !slices.Equal(got, w) {
							t.Errorf("column %s, row %d: %v, want %v", l.name(), g.first+row, got, w)
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
		if indexed := bytes.Contains([]byte(path), []byte("zstd-1")); indexed && !jumped {
			t.Error("the page index is not used")
		}
	})
}

// TestParts: copies of spans, in row groups cut from larger ones, have each row once.
func TestParts(t *testing.T) {
	content, err := os.ReadFile("../../../testdata/parquet/pyarrow-zstd-1.parquet")
	if err != nil {
		t.Fatal(err)
	}
	want := ours(t, content)
	rapid.Check(t, func(rt *rapid.T) {
		file := readertest.Plant(t, Reader{}, "parquet", content)
		at := rapid.Int64Range(0, file.Positions).Draw(rt, "cut")
		dropped := rapid.SliceOfNDistinct(rapid.Int64Range(0, file.Positions-1), 0, 9, rapid.ID[int64]).Draw(rt, "dropped")
		slices.Sort(dropped)
		all := table{}
		for _, span := range []blocks.Span{{End: at}, {Start: at, End: blocks.End}} {
			mine := slices.DeleteFunc(slices.Clone(dropped), func(p int64) bool { return p < span.Start || p >= span.End })
			for name, rows := range ours(t, copyOf(t, file, span, mine)) {
				all[name] = append(all[name], rows...)
			}
		}
		left := table{}
		for name, rows := range want {
			for i, row := range rows {
				if !slices.Contains(dropped, int64(i)) {
					left[name] = append(left[name], row)
				}
			}
		}
		sameTables(t, "spans", all, left)
	})
}
