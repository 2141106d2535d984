package parquet

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/format"
)

// packed returns data compressed by the libraries.
func packed(t *testing.T, c format.CompressionCodec, data []byte) []byte {
	t.Helper()
	codec := map[format.CompressionCodec]compress.Codec{format.Gzip: &parquet.Gzip, format.Brotli: &parquet.Brotli,
		format.Zstd: &parquet.Zstd, format.Lz4Raw: &parquet.Lz4Raw, format.Uncompressed: &parquet.Uncompressed}[c]
	switch {
	case c == format.Snappy:
		return s2.EncodeSnappy(nil, data)
	case c == format.Lz4: // in Hadoop's framing
		block := packed(t, format.Lz4Raw, data)
		head := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
		return append(binary.BigEndian.AppendUint32(head, uint32(len(block))), block...)
	case c == format.Lz4Raw && len(data) == 0:
		return []byte{0}
	}
	out, err := codec.Encode(nil, data)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestUnpack: each codec unpacks what the libraries pack, including no bytes at all, and only to the exact size.
func TestUnpack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for codec := format.Uncompressed; codec <= format.Lz4Raw; codec++ {
		if refused(codec) != nil {
			continue
		}
		for _, data := range [][]byte{nil, {1}, noise, bytes.Repeat([]byte("text "), 1000), noise[:7]} {
			packed := packed(t, codec, data)
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

// TestPageBombs: a page that unpacks to more, or less, than its size is refused.
func TestPageBombs(t *testing.T) {
	zeros := make([]byte, 1<<24)
	for name, c := range map[string]struct {
		codec format.CompressionCodec
		data  []byte
		size  int
	}{
		"zstd":   {format.Zstd, packed(t, format.Zstd, zeros), 100},
		"gzip":   {format.Gzip, packed(t, format.Gzip, zeros), 100},
		"brotli": {format.Brotli, packed(t, format.Brotli, zeros), 100},
		"snappy": {format.Snappy, packed(t, format.Snappy, zeros), 100},
		"lz4":    {format.Lz4Raw, packed(t, format.Lz4Raw, zeros), 100},
		"hadoop": {format.Lz4, packed(t, format.Lz4, zeros), 100},
		"short":  {format.Zstd, packed(t, format.Zstd, zeros), 1<<24 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := unpack(c.codec, nil, c.data, c.size); err == nil {
				t.Error("no error")
			}
			if data, err := unpack(c.codec, nil, c.data, 1<<24); err != nil || len(data) != 1<<24 {
				t.Errorf("%d bytes, error %v", len(data), err)
			}
		})
	}
}

// TestUnpackerGoesOn: a zstd stream that is not read to its end does not block the next page. If it did, all goroutines
// would wait, which synctest reports as a deadlock.
func TestUnpackerGoesOn(t *testing.T) {
	zeros := make([]byte, 1<<24)
	page := packed(t, format.Zstd, zeros)
	synctest.Test(t, func(t *testing.T) {
		d := unpackers.New().(*zstd.Decoder)
		for range 3 {
			if _, err := unpackZstd(d, make([]byte, 100), page); err == nil {
				t.Error("a page of 16 MiB unpacks to 100 bytes")
			}
			plain, err := unpackZstd(d, make([]byte, 1<<24), page)
			if err != nil || !bytes.Equal(plain, zeros) {
				t.Errorf("the next page: %d bytes, error %v", len(plain), err)
			}
		}
	})
}
