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

// writeOutput writes the file name of the output, for a worker, and sums it up.
func writeOutput(ctx context.Context, p Params, name string, write func(io.Writer) error) (summed, error) {
	sum := sha256.New()
	path := p.Output.Path(name)
	info, err := storage.WriteStaged(ctx, p.Output.Dir, path, func(w io.Writer) error {
		// Hashing whole buffers costs less than each record.
		return storage.Buffered(io.MultiWriter(w, sum), write)
	})
	if err == nil && p.Sync {
		err = storage.Sync(ctx, path)
	}
	if err != nil {
		return summed{}, err
	}
	return summed{bytes: info.Size, sha256: hex.EncodeToString(sum.Sum(nil))}, nil
}
