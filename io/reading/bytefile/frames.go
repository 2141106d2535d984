package bytefile

import (
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/blocks"
)

// frame is a part of a compressed file that is unpacked without the others.
type frame struct {
	start, end int64 // in the file
	plainEnd   int64 // where its plain bytes end
}

// framesOf returns the frames of a compressed file as far as they tell how many plain bytes they have.
// What follows those, which may be all, is one frame up to blocks.End.
func framesOf(file io.ReaderAt, compression string) (frames []frame) {
	var at, plain int64
	for compression == zstded {
		next, ok := nextFrame(file, at, plain)
		if !ok {
			break
		}
		if next.plainEnd > plain {
			frames = append(frames, next)
		}
		at, plain = next.end, next.plainEnd
	}
	return append(frames, frame{start: at, end: blocks.End, plainEnd: blocks.End})
}

// windowOf returns the window of a file's first frame that holds something, 0 if there is none.
func windowOf(file io.ReaderAt) int64 {
	for at := int64(0); ; {
		h, ok := headerAt(file, at)
		switch {
		case !ok:
			return 0
		case h.Skippable:
			at += int64(h.HeaderSize) + int64(h.SkippableSize)
		case h.SingleSegment: // all of it is the window
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

// nextFrame reads what the frame at a place says of its size (RFC 8878, §3.1).
func nextFrame(file io.ReaderAt, at, plain int64) (f frame, ok bool) {
	h, ok := headerAt(file, at)
	if !ok {
		return frame{}, false
	}
	f = frame{start: at, end: at + int64(h.HeaderSize), plainEnd: plain}
	if h.Skippable {
		f.end += int64(h.SkippableSize)
		return f, true
	}
	if !h.HasFCS {
		return frame{}, false
	}
	f.plainEnd += int64(h.FrameContentSize)
	for last := false; !last; {
		var block [3]byte
		if _, err := file.ReadAt(block[:], f.end); err != nil {
			return frame{}, false
		}
		const runLength = 1
		header := int64(block[0]) | int64(block[1])<<8 | int64(block[2])<<16
		last = header&1 != 0
		size := header >> 3
		if header>>1&3 == runLength {
			size = 1
		}
		f.end += int64(len(block)) + size
	}
	if h.HasCheckSum {
		f.end += 4
	}
	return f, true
}
