package local

import (
	"encoding/binary"
	"errors"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
)

// An encoded element begins with
//
//	timestamp          8 bytes
//	number of windows  4 bytes
//	windows            none for the global window; for an interval its end, 8 bytes, and a uvarint
//	pane               1 byte, and up to two uvarints
const (
	timestampSize = 8
	windowsAt     = timestampSize + 4
	intervalSize  = 8 // and a uvarint
)

// pane is the pane of all groups: a batch fires once.
const pane = 0x0f

var errHeader = errors.New("an element's header is cut off; this is an error in the local runner or the SDK")

// impulse is the single element of an impulse: no bytes, at the beginning of time.
var impulse = append(header(nil, encodeTime(mtime.MinTimestamp), nil), 0)

func encodeTime(t mtime.Time) uint64 { return uint64(t) - 1<<63 }

// header appends the header of an element in one window.
func header(dst []byte, timestamp uint64, window []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, timestamp)
	dst = append(dst, 0, 0, 0, 1)
	dst = append(dst, window...)
	return append(dst, pane)
}

// groupHeader appends the header of a group, whose timestamp is the last one in its window.
func groupHeader(dst, window []byte) []byte {
	last := encodeTime(mtime.EndOfGlobalWindowTime)
	if len(window) > 0 {
		last = binary.BigEndian.Uint64(window) - 1
	}
	return header(dst, last, window)
}

// parseHeader splits an encoded element into its windows, count in number and still encoded, and the element itself.
func parseHeader(b []byte, interval bool) (count int, windows, element []byte, err error) {
	if len(b) <= windowsAt {
		return 0, nil, nil, errHeader
	}
	count = int(binary.BigEndian.Uint32(b[timestampSize:]))
	at := windowsAt
	if interval {
		for range count {
			n := windowSize(b[at:])
			if n < 0 {
				return 0, nil, nil, errHeader
			}
			at += n
		}
	}
	windows = b[windowsAt:at]
	if at >= len(b) {
		return 0, nil, nil, errHeader
	}
	indices := int(b[at] >> 4)
	at++
	for range indices {
		_, n := binary.Uvarint(b[at:])
		if n <= 0 {
			return 0, nil, nil, errHeader
		}
		at += n
	}
	return count, windows, b[at:], nil
}

// windowSize returns the size of the interval that b begins with, or a negative number if it is cut off.
func windowSize(b []byte) int {
	if len(b) < intervalSize {
		return -1
	}
	_, n := binary.Uvarint(b[intervalSize:])
	if n <= 0 {
		return -1
	}
	return intervalSize + n
}
