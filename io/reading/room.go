package reading

import "github.com/neardup/neardup/internal/memory"

// room is the memory that all readers of this process share.
var room memory.Room

// Claim returns a reader's claim to the memory that all readers share. Each reader has one claim for all that it holds.
func Claim(o Options) *memory.Claim { return room.Claim(o.Room) }
