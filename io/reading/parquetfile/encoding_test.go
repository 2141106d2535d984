package parquetfile

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/reading/readertest"
)

// TestRuns: the library decodes the numbers.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(0, 32).Draw(t, "width")
		var numbers []uint32
		for range rapid.IntRange(0, 8).Draw(t, "runs") {
			n := uint32(rapid.Uint64Range(0, 1<<width-1).Draw(t, "number"))
			numbers = append(numbers, slices.Repeat([]uint32{n}, rapid.IntRange(1, 20).Draw(t, "times"))...)
		}
		packed := appendRuns(nil, numbers, width)
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

// TestParts: copies of spans, in row groups split from larger ones, have each row once.
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

// TestPack: the libraries unpack what is packed, including no bytes at all.
func TestPack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for codec := format.Uncompressed; codec <= format.Lz4Raw; codec++ {
		if codec == format.LZO {
			continue
		}
		p := pageWriter{codec: codec}
		for _, data := range [][]byte{nil, {1}, noise, bytes.Repeat([]byte("text "), 1000), noise[:7]} {
			packed, err := p.pack(data)
			if err != nil {
				t.Fatal(codec, err)
			}
			got := packed
			switch codec {
			case format.Uncompressed:
			case format.Snappy:
				got, err = s2.Decode(nil, packed)
			case format.Lz4: // in Hadoop's framing
				if plain, block := binary.BigEndian.Uint32(packed), binary.BigEndian.Uint32(packed[4:]); int(plain) != len(data) || int(block) != len(packed)-8 {
					t.Errorf("%d bytes in %d: the sizes are %d and %d", len(data), len(packed), plain, block)
				}
				got, err = packers[format.Lz4Raw].Decode(make([]byte, len(data)), packed[8:])
			default:
				got, err = packers[codec].Decode(make([]byte, len(data)), packed)
			}
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("codec %d: %d bytes become %d; error %v", codec, len(data), len(got), err)
			}
		}
	}
}
