package sink

import (
	"io"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
)

// BenchmarkWrite shows the cost of the hash of an output, which temporary files do without.
func BenchmarkWrite(b *testing.B) {
	folder := storagetest.RunFolder(b)
	line := strings.Repeat("many words ", 100)
	const lines = 1 << 14
	write := func(w io.Writer) error {
		for range lines {
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
		return nil
	}
	b.Run("output", func(b *testing.B) {
		b.SetBytes(int64(lines * len(line)))
		for b.Loop() {
			if _, err := (output.Folder{Dir: folder}).Write(b.Context(), "x", false, write); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("temporary", func(b *testing.B) {
		b.SetBytes(int64(lines * len(line)))
		for b.Loop() {
			if _, err := storage.WriteBelow(b.Context(), folder, storage.Join(folder, "x"), write); err != nil {
				b.Fatal(err)
			}
		}
	})
}
