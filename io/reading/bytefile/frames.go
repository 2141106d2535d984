package bytefile

import (
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/blocks"
)

// frame is a part of a compressed file that can be unpacked by itself.
type frame struct {
	start    int64 // in the file
	end      int64 // of the blocks walked; of the frame, once whole
	plainEnd int64 // end of its decompressed bytes
	checksum bool
	whole    bool
}

// rest returns the part of a file after the frames that state their decompressed size, as one frame of unknown extent.
func rest(at int64) frame {
	return frame{start: at, end: blocks.End, plainEnd: blocks.End, whole: true}
}

// windowOf returns the window of a file's first frame with content; 0 if there is none.
func windowOf(file io.ReaderAt) int64 {
	for at := int64(0); ; {
		h, ok := headerAt(file, at)
		switch {
		case !ok:
			return 0
		case h.Skippable:
			at += int64(h.HeaderSize) + int64(h.SkippableSize)
		case h.SingleSegment: // the content is the window
			return int64(min(h.FrameContentSize, math.MaxInt64))
		default:
			return int64(h.WindowSize)
		}
	}
}

func headerAt(file io.ReaderAt, at int64) (h zstd.Header, ok bool) {
	head := make([]byte, zstd.HeaderMaxSize)
	n, _ := file.ReadAt(head, at)
	return h, h.Decode(head[:n]) == nil
}

// beginFrame reads the header of the frame at an offset; ok is false if it does not state a size (RFC 8878, §3.1).
func beginFrame(file io.ReaderAt, at, plain int64) (f frame, ok bool) {
	h, ok := headerAt(file, at)
	if !ok {
		return frame{}, false
	}
	f = frame{start: at, end: at + int64(h.HeaderSize), plainEnd: plain, checksum: h.HasCheckSum}
	if h.Skippable {
		f.end += int64(h.SkippableSize)
		f.whole = true
		return f, true
	}
	f.plainEnd += int64(h.FrameContentSize)
	return f, h.HasFCS
}

// walk moves on to the first block at or after limit, or to the end of the frame.
func (f *frame) walk(file io.ReaderAt, limit int64) error {
	for !f.whole && f.end < limit {
		var block [3]byte
		if n, err := file.ReadAt(block[:], f.end); n < len(block) {
			return fmt.Errorf("the zstd block at byte %d: %w", f.end, err)
		}
		const runLength = 1
		header := int64(block[0]) | int64(block[1])<<8 | int64(block[2])<<16
		f.whole = header&1 != 0
		size := header >> 3
		if header>>1&3 == runLength {
			size = 1
		}
		f.end += int64(len(block)) + size
	}
	if f.whole && f.checksum {
		f.end += 4
		f.checksum = false
	}
	return nil
}
