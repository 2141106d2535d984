package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"
)

// TestRuns: the numbers that the library writes are decoded.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 31).Draw(t, "width")
		var numbers []int32
		for range rapid.IntRange(0, 8).Draw(t, "runs") {
			n := int32(rapid.Uint64Range(0, 1<<width-1).Draw(t, "number"))
			numbers = append(numbers, slices.Repeat([]int32{n}, rapid.IntRange(1, 20).Draw(t, "times"))...)
		}
		library := rle.Encoding{BitWidth: width}
		packed, err := library.EncodeInt32(nil, numbers)
		if err != nil {
			t.Fatal(err)
		}
		r := runs{data: packed, width: width}
		for i, want := range numbers {
			if got, err := r.next(); err != nil || got != uint32(want) {
				t.Fatalf("number %d is %d, want %d; error %v", i, got, want, err)
			}
		}
	})
}

// columnOf returns a column of a type. Its values have the given width, unless that is 0.
func columnOf(kind format.Type, width int) Leaf {
	return Leaf{Node: &Node{Kind: kind}, Width: width}
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
			leaf     Leaf
			data     []byte
		}{
			"lengths": {format.DeltaLengthByteArray, columnOf(format.ByteArray, 0), lengths},
			"strings": {format.DeltaByteArray, columnOf(format.ByteArray, 0), strings},
			"arrays":  {format.DeltaByteArray, columnOf(format.FixedLenByteArray, 4), arrays},
		} {
			v, err := newValues(&PageHeader{Encoding: c.encoding}, &c.leaf, c.data, nil, 1<<20)
			if err != nil {
				t.Fatal(name, err)
			}
			for i := range n {
				want := data[ends[i]:ends[i+1]]
				if c.leaf.Width > 0 {
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

// TestLevelsDoNotOverflow: a header whose levels take more bytes than the page is refused, also if their sum overflows.
func TestLevelsDoNotOverflow(t *testing.T) {
	integers := func(dst []byte, values ...int64) []byte {
		for _, v := range values {
			dst = binary.AppendVarint(append(dst, 1<<4|byte(thrift.I64)), v)
		}
		return dst
	}
	for _, levels := range [][2]int64{{6, 5}, {5, 6}, {11, 0}, {0, 11}, {1 << 62, 1 << 62}, {1<<63 - 1, 1<<63 - 1}} {
		head := append(integers(nil, int64(format.DataPageV2), 10, 10), 5<<4|byte(thrift.STRUCT))
		head = append(integers(head, 1, 0, 1, 0, levels[0], levels[1]), 0, 0)
		if _, err := readPageHeader(head); !errors.Is(err, errMetadata) {
			t.Errorf("levels of %d bytes in a page of 10: error %v", levels, err)
		}
	}
}

// TestPrefixesAreBounded: values with shared prefixes cannot take more than the limit of a page.
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
	l := columnOf(format.ByteArray, 0)
	v, err := newValues(&PageHeader{Encoding: format.DeltaByteArray}, &l, encoded, nil, n*length/2)
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

// TestDictionaryLies: a dictionary that claims more words than fit takes no memory for them.
func TestDictionaryLies(t *testing.T) {
	data := make([]byte, 1<<20) // empty words
	l := columnOf(format.ByteArray, 0)
	took := allocated(func() {
		if _, err := newDictionary(data, &l, int64(len(data))); !errors.Is(err, errValues) {
			t.Errorf("error %v", err)
		}
	})
	if took > uint64(len(data)) {
		t.Errorf("%d bytes of memory", took)
	}
	if d, err := newDictionary(data, &l, int64(len(data)/4)); err != nil || len(d.At(d.N-1)) != 0 {
		t.Errorf("as many as there are: error %v", err)
	}
}
