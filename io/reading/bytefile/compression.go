package bytefile

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Values of blocks.File.Compression.
const (
	gzipped = "gzip"
	zstded  = "zstd"
)

// magics are the first bytes of compressed files and of files that may be taken for such.
var magics = []struct {
	prefix      []byte
	at          int // their offset
	compression string
	unsupported string
	instead     string // rest of the message; "": the usual one
}{
	{prefix: []byte{0x1f, 0x8b}, compression: gzipped},
	{prefix: []byte{0x28, 0xb5, 0x2f, 0xfd}, compression: zstded},
	{prefix: []byte{0x2a, 0x4d, 0x18}, at: 1, compression: zstded}, // a skippable frame comes first
	{prefix: []byte("1AY&SY"), at: 4, unsupported: "bzip2"},        // BZh alone may be text
	{prefix: []byte{0xfd, '7', 'z', 'X', 'Z', 0}, unsupported: "xz"},
	{prefix: []byte{0x04, 0x22, 0x4d, 0x18}, unsupported: "lz4"},
	{prefix: []byte("PK\x03\x04"), unsupported: "zip"},
	{prefix: []byte("%PDF-"), unsupported: "pdf"},
	{prefix: []byte("PAR1"), unsupported: "parquet", instead: " as another format; use --format parquet"},
}

// UnsupportedError says that a file's first bytes are those of a kind that cannot be read.
type UnsupportedError struct{ Kind, instead string }

func (e *UnsupportedError) Error() string { return e.Kind + " files cannot be read" + e.instead }

// CompressionOf returns a file's compression by its first bytes (names lie); "" for none. Other kinds are an error.
func CompressionOf(r io.ReaderAt) (string, error) {
	head := make([]byte, 16)
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	for _, m := range magics {
		if bytes.HasPrefix(head[min(m.at, n):n], m.prefix) {
			if m.unsupported != "" {
				const next = "; unpack or convert the file first, or leave it out"
				return "", &UnsupportedError{m.unsupported, cmp.Or(m.instead, next)}
			}
			return m.compression, nil
		}
	}
	return "", nil
}

// TrimEnding cuts the ending of a compression off a lower-case file name.
func TrimEnding(name string) string {
	for _, ending := range []string{".gz", ".gzip", ".zst", ".zstd"} {
		if base, ok := strings.CutSuffix(name, ending); ok {
			return base
		}
	}
	return name
}

// packedBytes is how much of a gzip file is read at a time.
const packedBytes = 64 << 10

// decompress returns a reader of r's decompressed bytes. It refuses windows above maxWindow, unless that is 0.
func decompress(r io.Reader, compression string, maxWindow int64) (io.ReadCloser, error) {
	switch compression {
	case gzipped:
		z, err := gzip.NewReader(bufio.NewReaderSize(r, packedBytes)) // its own buffer has only 4 KiB
		if err != nil {
			return nil, err // not z, which would be a non-nil interface
		}
		return z, nil
	case zstded:
		options := []zstd.DOption{zstd.WithDecoderConcurrency(1)} // its own read-ahead takes a fifth more
		if maxWindow > 0 {
			options = append(options, zstd.WithDecoderMaxWindow(uint64(maxWindow)))
		}
		d, err := zstd.NewReader(r, options...)
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	default:
		return io.NopCloser(r), nil
	}
}

// gzipLevel is fixed, so that a corpus is byte-identical in every run.
const gzipLevel = gzip.DefaultCompression

// compressor compresses what is written to it. Reset starts again after Close.
type compressor interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// compress returns a compressor with a fixed level. Its Close does not close w.
func compress(w io.Writer, compression string) (compressor, error) {
	switch compression {
	case gzipped:
		return gzip.NewWriterLevel(w, gzipLevel)
	case zstded:
		// One goroutine: how several cut the blocks would depend on timing.
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
	default:
		return nil, fmt.Errorf("no compression %q", compression)
	}
}
