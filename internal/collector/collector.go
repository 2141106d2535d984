// Package collector delays the first garbage collection until the heap has 64 MB. Earlier collections only mark what
// packages initialise, and what a small job needs: they took 4 of 28 ms of a start. Import it for its side effect. It
// depends only on runtime, so it is initialised before most other packages.
package collector

import (
	"runtime"
	"runtime/debug"
)

// The heap grows to this many times 4 MB before it is collected (https://go.dev/doc/gc-guide: the minimum total heap
// size).
const first = 16

func init() {
	percent := debug.SetGCPercent(-1)
	if percent < 0 { // GOGC=off
		return
	}
	debug.SetGCPercent(first * percent)
	runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, percent)
}
