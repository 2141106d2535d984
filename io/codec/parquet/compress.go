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

// refused returns why pages of a codec cannot be read, or nil if they can.
func refused(c format.CompressionCodec) error {
	switch {
	case c == format.LZO:
		return errors.New("it is compressed with LZO, which neardup does not support; write the file again " +
			"with another codec")
	case c < 0 || c > format.Lz4Raw:
		return fmt.Errorf("it is compressed with the unknown codec %d; write the file again with another", c)
	default:
		return nil
	}
}

// fetch says what to do about a damaged file.
const fetch = "; fetch the file again, or leave it out"

var errDamaged = errors.New("its data is damaged" + fetch)

// maxUnpacker bounds the memory of a zstd decoder besides the page, whatever its frames claim.
const maxUnpacker = 128 << 20

var unpackers = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxUnpacker))
	if err != nil {
		panic(err) // the options are constant
	}
	return d
}}

// unpack returns the size bytes that data unpacks to, in dst if it has the capacity. refused(c) must be nil.
func unpack(c format.CompressionCodec, dst, data []byte, size int) (unpacked []byte, err error) {
	defer func() {
		if err != nil {
			err = errDamaged // whatever the codec calls it
		}
	}()
	if c == format.Uncompressed {
		if len(data) != size {
			return nil, errDamaged
		}
		return data, nil
	}
	dst = grown(dst, size)
	switch c {
	case format.Snappy:
		if n, err := s2.DecodedLen(data); err != nil || n != size {
			return nil, errDamaged
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
	default: // format.Lz4: in Hadoop's framing, or without any
		if unpackHadoop(dst, data) == nil {
			return dst, nil
		}
		return dst, unpackLZ4(dst, data)
	}
}

// grown returns a slice of n bytes, reusing dst if it is large enough. A new one has some spare capacity, since the
// pages of a column have about one size and replacing a large buffer briefly holds two.
func grown(dst []byte, n int) []byte {
	if cap(dst) < n {
		return make([]byte, n, n+n/8)
	}
	return dst[:n]
}

// exactly fills dst from r, which must end there.
func exactly(r io.Reader, dst []byte) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return errDamaged
	}
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return errDamaged
	case err != io.EOF:
		return err
	default:
		return nil
	}
}

// unpackZstd unpacks a page, in one call if its frame states the size of the page, as almost all do.
func unpackZstd(d *zstd.Decoder, dst, data []byte) ([]byte, error) {
	var head zstd.Header
	if err := head.Decode(data); err == nil && head.HasFCS && head.FrameContentSize == uint64(len(dst)) &&
		len(dst) < maxUnpacker {
		plain, err := d.DecodeAll(data, dst[:0])
		if err == nil && len(plain) != len(dst) {
			err = errDamaged
		}
		return plain, err
	}
	if err := d.Reset(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	err := exactly(d, dst)
	// A decoder whose stream was not read to the end holds resources that the next page needs.
	return dst, errors.Join(err, d.Reset(nil))
}

func unpackLZ4(dst, data []byte) error {
	if len(dst) == 0 && len(data) <= 1 { // no bytes, or one empty token
		return nil
	}
	n, err := lz4.UncompressBlock(data, dst)
	if err == nil && n != len(dst) {
		err = errDamaged
	}
	return err
}

// unpackHadoop unpacks blocks, each preceded by its unpacked size and its packed size.
func unpackHadoop(dst, data []byte) error {
	for len(data) > 0 {
		if len(data) < 8 {
			return errDamaged
		}
		plain, packed := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
		data = data[8:]
		if uint64(plain) > uint64(len(dst)) || uint64(packed) > uint64(len(data)) {
			return errDamaged
		}
		if err := unpackLZ4(dst[:plain], data[:packed]); err != nil {
			return err
		}
		dst, data = dst[plain:], data[packed:]
	}
	if len(dst) > 0 {
		return errDamaged
	}
	return nil
}
