package parquetfile

import (
	"encoding/binary"

	"github.com/klauspost/compress/s2"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/brotli"
	"github.com/parquet-go/parquet-go/compress/gzip"
	"github.com/parquet-go/parquet-go/compress/lz4"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// packers compress pages at least as hard as the usual writers of each codec do.
var packers = map[format.CompressionCodec]compress.Codec{
	format.Gzip:   &gzip.Codec{Level: gzip.DefaultCompression},
	format.Brotli: &brotli.Codec{Quality: brotliLevel},
	format.Zstd:   new(zstd.Codec),
	format.Lz4Raw: new(lz4.Codec),
}

// brotliLevel is between the levels of pyarrow (8) and parquet-mr (1). Above 6, the time grows faster than the gain.
const brotliLevel = 6

// pack compresses data, into dst if it has the capacity.
func pack(c format.CompressionCodec, dst, data []byte) ([]byte, error) {
	switch {
	case c == format.Snappy:
		return s2.EncodeSnappyBetter(dst[:cap(dst)], data), nil
	case c == format.Lz4Raw && len(data) == 0:
		return append(dst[:0], 0), nil // one empty token
	case c == format.Lz4: // in Hadoop's framing
		block, err := pack(format.Lz4Raw, nil, data)
		dst = binary.BigEndian.AppendUint32(dst[:0], uint32(len(data)))
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(block)))
		return append(dst, block...), err
	default:
		return packers[c].Encode(dst, data)
	}
}
