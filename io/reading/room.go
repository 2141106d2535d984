package reading

import "github.com/neardup/neardup/internal/memory"

// room is that of all readers of this process.
var room memory.Room

// Claim returns a reader's claim to the room of all readers. Each reader has one, for all that it holds.
func Claim(o Options) *memory.Claim { return room.Claim(o.Room) }
