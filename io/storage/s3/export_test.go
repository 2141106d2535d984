package s3

import "time"

// Quicken shortens time-outs and pauses.
func Quicken(silence time.Duration) (undo func()) {
	idleWas, longWas, backoffWas := idle, long, maxBackoff
	idle, long, maxBackoff = silence, 2*silence, time.Millisecond
	return func() { idle, long, maxBackoff = idleWas, longWas, backoffWas }
}

// Shrink makes parts smaller.
func Shrink(part int, whole, copied int64) (undo func()) {
	partWas, wholeWas, copiedWas := partBytes, copyBytes, copyPartBytes
	partBytes, copyBytes, copyPartBytes = part, whole, copied
	return func() { partBytes, copyBytes, copyPartBytes = partWas, wholeWas, copiedWas }
}

var PartSize = partSize

const Attempts = attempts
