package job

import (
	"context"
	"slices"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/records"
)

// OpenOutput opens a finished output of one of the commands. The error is a *UsageError for an index, and for an output
// of another command.
func OpenOutput(ctx context.Context, dir string, commands ...string) (*output.Finished, error) {
	of := records.Or(commands...)
	f, err := output.Open(ctx, dir)
	if err != nil {
		if is, failed := index.Is(ctx, dir); failed == nil && is {
			return nil, Usage("%s is an index; name an output of %s", dir, of)
		}
		return nil, err
	}
	if command := f.Run.Command(); !slices.Contains(commands, command) {
		return nil, Usage("%s was written by neardup %s; name an output of %s", dir, command, of)
	}
	return f, nil
}
