package reading

import (
	"context"

	"github.com/neardup/neardup/internal/memory"
)

// room is the memory that all readers of this process share.
var room memory.Room

// Claim returns a reader's claim to the memory that all readers share. Each reader has one claim for all that it holds.
func Claim(o Options) *memory.Claim { return room.Claim(o.Room) }

// ShownCost is about how many times its size a large text takes when it is shown: the text, its block, and 8 bytes per
// character.
const ShownCost = 10

// Show calls decode, which decodes and uses a record of this size. For a large record it first waits until there is
// room for what decode makes of it.
func Show(ctx context.Context, bytes int, claim *memory.Claim, decode func() error) error {
	if bytes < memory.Large {
		return decode()
	}
	giveBack, err := claim.Take(ctx, int64(bytes)*ShownCost)
	if err != nil {
		return err
	}
	defer giveBack()
	return decode()
}
