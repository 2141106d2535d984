package shingle

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/neardup/neardup/kernels/hash"
)

// plainSet implements Set without buckets.
func plainSet(values []uint64) []uint64 {
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}

// shapes are favourable and unfavourable to the buckets.
var shapes = map[string]func(i, n uint64) uint64{
	"uniform":       func(i, n uint64) uint64 { return hash.Mix(i) },
	"repeated":      func(i, n uint64) uint64 { return hash.Mix(i / 3) },
	"equal":         func(i, n uint64) uint64 { return math.MaxUint64 },
	"rising":        func(i, n uint64) uint64 { return i },
	"falling":       func(i, n uint64) uint64 { return n - i },
	"one bucket":    func(i, n uint64) uint64 { return 7<<40 | hash.Mix(i)>>40 },
	"two extremes":  func(i, n uint64) uint64 { return -(i & 1) },
	"low bits only": func(i, n uint64) uint64 { return hash.Mix(i) >> 52 },
	// Each level keeps almost everything in one of many buckets.
	"staircase": func(i, n uint64) uint64 { return hash.Mix(i) >> (i % 64) },
}

func TestSetEqualsPlain(t *testing.T) {
	for name, value := range shapes {
		for _, n := range []uint64{0, 1, 2, 24, 25, 127, 128, 129, 500, 1023, 1024, 1025, 2047, 5000, 70_000} {
			values := make([]uint64, n)
			for i := range values {
				values[i] = value(uint64(i), n)
			}
			want := plainSet(values)
			if got := Set(values); !slices.Equal(got, want) {
				t.Errorf("%s, %d values: not the sorted set", name, n)
			}
		}
	}
}

// Small inputs grow by copies that differ in their low or their top bits, so that the fuzzer reaches deep levels
// without long inputs.
func FuzzSetEqualsPlain(f *testing.F) {
	f.Add([]byte("12345678abcdefgh"), uint16(300), uint8(0))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"), uint16(3000), uint8(53))
	f.Fuzz(func(t *testing.T, raw []byte, copies uint16, shift uint8) {
		var values []uint64
		for len(raw) >= 8 {
			values = append(values, binary.LittleEndian.Uint64(raw))
			raw = raw[8:]
		}
		if seeds := len(values); seeds > 0 {
			for i := range int(copies) {
				values = append(values, values[i%seeds]^uint64(i)<<(shift&63))
			}
		}
		want := plainSet(values)
		if got := Set(values); !slices.Equal(got, want) {
			t.Errorf("got %x\nwant %x", got, want)
		}
	})
}

func BenchmarkSet(b *testing.B) {
	for _, name := range []string{"uniform", "equal", "one bucket", "staircase"} {
		for _, n := range []int{50, 100, 500, 5000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				values := make([]uint64, n)
				for i := range values {
					values[i] = shapes[name](uint64(i), uint64(n))
				}
				work := make([]uint64, n)
				b.SetBytes(8 * int64(n))
				for b.Loop() {
					copy(work, values)
					Set(work)
				}
			})
		}
	}
}
