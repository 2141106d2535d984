package sink

import (
	"bufio"
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

// Hashing whole buffers costs less than each record.
const hashedBytes = 128 << 10

// writeOutput writes the file name of the folder output, for a worker, and sums it up.
func writeOutput(ctx context.Context, output, name string, write func(io.Writer) error) (summed, error) {
	sum := sha256.New()
	info, err := storage.WriteBelow(ctx, output, storage.Join(output, name), func(w io.Writer) error {
		buffer := bufio.NewWriterSize(io.MultiWriter(w, sum), hashedBytes)
		if err := write(buffer); err != nil {
			return err
		}
		return buffer.Flush()
	})
	if err != nil {
		return summed{}, err
	}
	return summed{bytes: info.Size, sha256: hex.EncodeToString(sum.Sum(nil))}, nil
}
