package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// refused says why pages of a codec are not read; nil if they are.
func refused(c format.CompressionCodec) error {
	switch {
	case c == format.LZO:
		return errors.New("it is compressed with LZO, which is not read; write the file again with another codec")
	case c < 0 || c > format.Lz4Raw:
		return fmt.Errorf("it is compressed with the unknown codec %d", c)
	default:
		return nil
	}
}

var errSize = errors.New("a page does not unpack to the size that its header says")

// maxUnpacker bounds what a zstd decoder takes beside the page, whatever its frames claim.
const maxUnpacker = 128 << 20

var unpackers = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxUnpacker))
	if err != nil {
		panic(err) // of constant options
	}
	return d
}}

// unpack returns the size bytes that data unpacks to, in dst if that has the room. The codec is not refused.
func unpack(c format.CompressionCodec, dst, data []byte, size int) ([]byte, error) {
	if c == format.Uncompressed {
		if len(data) != size {
			return nil, errSize
		}
		return data, nil
	}
	dst = grown(dst, size)
	switch c {
	case format.Snappy:
		if n, err := s2.DecodedLen(data); err != nil || n != size {
			return nil, errors.Join(errSize, err)
		}
		_, err := s2.Decode(dst, data)
		return dst, err
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return dst, exactly(r, dst)
	case format.Brotli:
		return dst, exactly(brotli.NewReader(bytes.NewReader(data)), dst)
	case format.Zstd:
		d := unpackers.Get().(*zstd.Decoder)
		defer unpackers.Put(d)
		return unpackZstd(d, dst, data)
	case format.Lz4Raw:
		return dst, unpackLZ4(dst, data)
	default: // format.Lz4: by Hadoop's framing, or not framed at all
		if unpackHadoop(dst, data) == nil {
			return dst, nil
		}
		return dst, unpackLZ4(dst, data)
	}
}

// grown returns a slice of n bytes, which is dst if that is large enough. Else it has some room to spare: pages
// of a column are of about one size, and two large buffers at a time are one too many.
func grown(dst []byte, n int) []byte {
	if cap(dst) < n {
		return make([]byte, n, n+n/8)
	}
	return dst[:n]
}

// exactly reads dst from r, which must end there.
func exactly(r io.Reader, dst []byte) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return errors.Join(errSize, err)
	}
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return errSize
	case err != io.EOF:
		return err
	default:
		return nil
	}
}

// unpackZstd unpacks a page, at once if its frame tells the page's size, as almost all do.
func unpackZstd(d *zstd.Decoder, dst, data []byte) ([]byte, error) {
	var head zstd.Header
	if err := head.Decode(data); err == nil && head.HasFCS && head.FrameContentSize == uint64(len(dst)) &&
		len(dst) < maxUnpacker {
		plain, err := d.DecodeAll(data, dst[:0])
		if err == nil && len(plain) != len(dst) {
			err = errSize
		}
		return plain, err
	}
	if err := d.Reset(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	err := exactly(d, dst)
	// A stream that is not read to its end holds what the next page needs.
	return dst, errors.Join(err, d.Reset(nil))
}

func unpackLZ4(dst, data []byte) error {
	if len(dst) == 0 && len(data) <= 1 { // no bytes, or a token of nothing
		return nil
	}
	n, err := lz4.UncompressBlock(data, dst)
	if err == nil && n != len(dst) {
		err = errSize
	}
	return err
}

// unpackHadoop unpacks blocks that each have the sizes of what they unpack to and of themselves before them.
func unpackHadoop(dst, data []byte) error {
	for len(data) > 0 {
		if len(data) < 8 {
			return errSize
		}
		plain, packed := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
		data = data[8:]
		if uint64(plain) > uint64(len(dst)) || uint64(packed) > uint64(len(data)) {
			return errSize
		}
		if err := unpackLZ4(dst[:plain], data[:packed]); err != nil {
			return err
		}
		dst, data = dst[plain:], data[packed:]
	}
	if len(dst) > 0 {
		return errSize
	}
	return nil
}
