package parquet

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// stream reads the values of a large page of byte arrays while it unpacks, and holds at most one value.
type stream struct {
	r       *bufio.Reader
	left    int64 // bytes of the page that have not been taken
	most    int   // maximum bytes of a value that is held
	pending int   // bytes of the last value returned by next, still in the buffer of r
	long    int   // size of the last value if it was too long to hold; else 0
	value   []byte

	store *storeReader
	sum   hash.Hash32 // of the stored page; nil: it has no checksum
	crc   uint32
	close func()
}

const (
	streamBuffer = 256 << 10
	// entryBytes is more than both levels of an entry take in any encoding.
	entryBytes = 4
)

// endPage checks the rest of the current page, if it is streamed.
func (c *Column) endPage() error {
	if c.stream == nil {
		return nil
	}
	err := c.stream.end()
	c.leave()
	if err != nil {
		return c.Broken(err)
	}
	return nil
}

// leave releases the current page, if it is streamed.
func (c *Column) leave() {
	if c.stream != nil {
		c.stream.close()
		c.stream, c.values = nil, nil
	}
}

// streams reports whether the page whose header was read should be streamed.
func (c *Column) streams() bool {
	h := &c.Header
	if c.MaxValue == 0 || !h.Large() || h.Encoding != format.Plain || c.Leaf.Kind != format.ByteArray {
		return false
	}
	switch c.Chunk.Codec {
	case format.Zstd, format.Gzip, format.Brotli, format.Uncompressed: // they unpack as streams
		return true
	default:
		return c.kept(c.Offset) != nil
	}
}

// levelBytes returns an upper bound for the size of the page's levels.
func (c *Column) levelBytes() int64 {
	if c.Leaf.MaxRep == 0 && c.Leaf.MaxDef == 0 {
		return 0
	}
	return entryBytes * (c.Header.Values + 8)
}

// readStream starts streaming the page whose header was read, and returns its levels. The values follow.
func (c *Column) readStream() (rep, def []byte, err error) {
	h := &c.Header
	if err := c.file.fits(h); err != nil {
		return nil, nil, err
	}
	s := &stream{most: c.MaxValue, left: h.Uncompressed, close: func() {}}
	c.stream, c.values = s, s
	if kept := c.kept(c.Offset); kept != nil {
		s.store = &storeReader{r: kept}
		s.r = bufio.NewReaderSize(s.store, streamBuffer)
		return c.streamedLevels()
	}
	s.store = &storeReader{r: io.NewSectionReader(c.file.r, c.Offset+int64(len(h.Bytes)), h.Stored)}
	s.r = bufio.NewReaderSize(s.store, streamBuffer)
	if h.HasCRC {
		s.sum, s.crc = crc32.NewIEEE(), uint32(h.crc)
		s.r.Reset(io.TeeReader(s.store, s.sum))
	}
	second := h.Kind == format.DataPageV2
	if c.Chunk.Codec == format.Uncompressed || second && h.Plain {
		return c.streamedLevels()
	}
	var levels []byte // not compressed
	if second {
		if h.repBytes+h.defBytes > c.levelBytes() {
			return nil, nil, errValues
		}
		levels = make([]byte, h.repBytes+h.defBytes)
		if _, err := io.ReadFull(s.r, levels); err != nil {
			return nil, nil, s.wrong(err)
		}
	}
	unpacked, err := s.unpack(c.Chunk.Codec)
	if err != nil {
		return nil, nil, s.wrong(err)
	}
	if unpacked = io.MultiReader(bytes.NewReader(levels), unpacked); c.Keep != nil {
		unpacked = io.TeeReader(unpacked, c.Keep(c.Offset, h.Uncompressed))
	}
	s.r = bufio.NewReaderSize(unpacked, streamBuffer)
	return c.streamedLevels()
}

// streamedLevels reads the levels from the stream.
func (c *Column) streamedLevels() (rep, def []byte, err error) {
	s, h, most := c.stream, &c.Header, c.levelBytes()
	if h.Kind == format.DataPageV2 {
		if rep, err = s.take(h.repBytes, most); err == nil {
			def, err = s.take(h.defBytes, most)
		}
		return rep, def, err
	}
	if c.Leaf.MaxRep > 0 {
		rep, err = s.levels(most)
	}
	if err == nil && c.Leaf.MaxDef > 0 {
		def, err = s.levels(most)
	}
	return rep, def, err
}

// unpack returns a reader that unpacks r.
func (s *stream) unpack(c format.CompressionCodec) (io.Reader, error) {
	switch c {
	case format.Gzip:
		return gzip.NewReader(s.r)
	case format.Brotli:
		return brotli.NewReader(s.r), nil
	default:
		d := unpackers.Get().(*zstd.Decoder)
		s.close = func() {
			_ = d.Reset(nil) // release the source
			unpackers.Put(d)
			s.close = func() {}
		}
		return d, d.Reset(s.r)
	}
}

func (s *stream) levels(most int64) ([]byte, error) {
	head, err := s.take(4, 4)
	if err != nil {
		return nil, err
	}
	return s.take(int64(binary.LittleEndian.Uint32(head)), most)
}

// take returns the next n bytes. It fails if n is more than most.
func (s *stream) take(n, most int64) ([]byte, error) {
	if n > most || n > s.left {
		return nil, errValues
	}
	s.left -= n
	data := make([]byte, n)
	if _, err := io.ReadFull(s.r, data); err != nil {
		return nil, s.wrong(err)
	}
	return data, nil
}

// next returns the next value. If it has more than most bytes and does not fit the buffer, next returns nil and sets
// long to its size.
func (s *stream) next() ([]byte, error) {
	if _, err := s.r.Discard(s.pending); err != nil {
		return nil, s.wrong(err)
	}
	s.pending, s.long = 0, 0
	if s.left < 4 {
		return nil, errValues
	}
	head, err := s.r.Peek(4)
	if err != nil {
		return nil, s.wrong(err)
	}
	size := int64(binary.LittleEndian.Uint32(head))
	if s.left -= 4 + size; s.left < 0 {
		return nil, errValues
	}
	n := int(size)
	if n+4 <= s.r.Size() {
		data, err := s.r.Peek(4 + n)
		if err != nil {
			return nil, s.wrong(err)
		}
		s.pending = 4 + n
		return data[4:], nil
	}
	if _, err := s.r.Discard(4); err != nil {
		return nil, s.wrong(err)
	}
	if n > s.most {
		s.long = n
		if _, err := s.r.Discard(n); err != nil {
			return nil, s.wrong(err)
		}
		return nil, nil
	}
	s.value = grown(s.value, n)
	if _, err := io.ReadFull(s.r, s.value); err != nil {
		return nil, s.wrong(err)
	}
	return s.value, nil
}

// end reads the rest of the page, and checks its size and its checksum against the header.
func (s *stream) end() error {
	rest := s.left + int64(s.pending)
	n, err := io.Copy(io.Discard, io.LimitReader(s.r, rest))
	if err != nil || n < rest {
		return s.wrong(err)
	}
	if _, err := s.r.ReadByte(); err != io.EOF {
		return s.wrong(err)
	}
	if s.sum == nil {
		return nil
	}
	if _, err := io.Copy(s.sum, s.store); err != nil { // the frame may end before the stored page does
		return s.wrong(err)
	}
	if s.sum.Sum32() != s.crc {
		return errChecksum
	}
	return nil
}

// wrong returns why a stream broke. A read error of the file takes precedence over the error that a codec makes of it.
func (s *stream) wrong(err error) error {
	switch {
	case s.store.err != nil:
		return &storeError{s.store.err}
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errDamaged
	default:
		return err
	}
}

// storeReader remembers the read error of a file.
type storeReader struct {
	r   io.Reader
	err error
}

func (s *storeReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
