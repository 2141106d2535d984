package sink

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/neardup/neardup/io/storage"
)

// summed is what the manifest has of a file.
type summed struct {
	bytes  int64
	sha256 string
}

// writeOutput writes the file name of the folder output, for a worker, and sums it up.
func writeOutput(ctx context.Context, output, name string, write func(io.Writer) error) (summed, error) {
	sum := sha256.New()
	info, err := storage.WriteBelow(ctx, output, storage.Join(output, name), func(w io.Writer) error {
		// Hashing whole buffers costs less than each record.
		return storage.Buffered(io.MultiWriter(w, sum), write)
	})
	if err != nil {
		return summed{}, err
	}
	return summed{bytes: info.Size, sha256: hex.EncodeToString(sum.Sum(nil))}, nil
}
