package parquetfile

import (
	"io"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
)

// benchmarked returns a file with row groups of documents, with the most common compression.
func benchmarked(b *testing.B) *blocks.File {
	b.Helper()
	groups := make([][]document, 4)
	for i := range groups {
		groups[i] = documents(5000)
	}
	return readertest.Plant(b, Reader{}, "parquet", encoded(b, groups, parquet.Compression(&parquet.Zstd)))
}

func BenchmarkRead(b *testing.B) {
	file := benchmarked(b)
	o := reading.Options{Fields: readertest.Fields, MaxRecord: 1 << 20}
	b.SetBytes(file.Size)
	for b.Loop() {
		if _, err := (Reader{}).Read(b.Context(), file, []blocks.Span{{End: blocks.End}}, o, func(*reading.Record) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCopy(b *testing.B) {
	file := benchmarked(b)
	b.SetBytes(file.Size)
	for b.Loop() {
		if _, _, err := (Reader{}).Copy(b.Context(), io.Discard, file, blocks.Span{End: blocks.End}, reading.Changes{Dropped: []int64{7, 6000}}, reading.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
