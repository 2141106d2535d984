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

// stream are the values of a large page of byte arrays, which are read as it unpacks. At most one value is held of it.
type stream struct {
	r       *bufio.Reader
	left    int64 // bytes that the page has behind what was taken
	most    int   // bytes of a value that is held
	pending int   // bytes of the value that next returned, in the buffer of r
	long    int   // its size, if it was not held
	value   []byte

	store *storeReader
	sum   hash.Hash32 // of the page as stored; nil: it has none
	crc   uint32
	close func()
}

const (
	streamBuffer = 256 << 10
	// entryBytes is more than both levels of an entry take, however they are written.
	entryBytes = 4
)

// endPage ends the page that is read, if it is a stream.
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

// leave lets go of a page that is a stream.
func (c *Column) leave() {
	if c.stream != nil {
		c.stream.close()
		c.stream, c.values = nil, nil
	}
}

// streams reports whether the page whose header was read is read as a stream.
func (c *Column) streams() bool {
	h := &c.Header
	if c.MaxValue == 0 || !h.Large() || h.Encoding != format.Plain || c.Leaf.Kind != format.ByteArray {
		return false
	}
	switch c.Chunk.Codec {
	case format.Zstd, format.Gzip, format.Brotli, format.Uncompressed: // need not be held to be unpacked
		return true
	default:
		return c.kept(c.Offset) != nil
	}
}

// levelBytes bounds what the levels of the page take.
func (c *Column) levelBytes() int64 {
	if c.Leaf.MaxRep == 0 && c.Leaf.MaxDef == 0 {
		return 0
	}
	return entryBytes * (c.Header.Values + 8)
}

// readStream begins to read the page whose header was read, and returns its levels; values are the rest.
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
	var levels []byte // which are not compressed
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

// streamedLevels takes the levels off the stream.
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

// unpack returns what r unpacks to.
func (s *stream) unpack(c format.CompressionCodec) (io.Reader, error) {
	switch c {
	case format.Gzip:
		return gzip.NewReader(s.r)
	case format.Brotli:
		return brotli.NewReader(s.r), nil
	default:
		d := unpackers.Get().(*zstd.Decoder)
		s.close = func() {
			_ = d.Reset(nil) // it lets go of the source
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

// take returns the next n bytes, at most so many.
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

// next returns a value. Of one of more than most bytes it returns none, and its size is in long.
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

// end reads what is left of the page, whose size and checksum must be what its header says.
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
	if _, err := io.Copy(s.sum, s.store); err != nil { // a frame may end before the page does
		return s.wrong(err)
	}
	if s.sum.Sum32() != s.crc {
		return errChecksum
	}
	return nil
}

// wrong says why a stream broke: an error of the store goes before what a codec makes of it.
func (s *stream) wrong(err error) error {
	switch {
	case s.store.err != nil:
		return &storeError{s.store.err}
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errSize
	default:
		return err
	}
}

// storeReader remembers the error of a file.
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
