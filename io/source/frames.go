package source

import (
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/blocks"
)

// Frame is a part of a compressed file that is unpacked without the others.
type Frame struct {
	Start, End int64 // in the file
	PlainEnd   int64 // where its plain bytes end
}

// Frames returns the frames of a compressed file as far as they tell how many plain bytes they have.
// What follows those, which may be all, is one frame up to blocks.End.
func Frames(file io.ReaderAt, compression string) (frames []Frame) {
	var at, plain int64
	for compression == zstded {
		frame, ok := nextFrame(file, at, plain)
		if !ok {
			break
		}
		if frame.PlainEnd > plain {
			frames = append(frames, frame)
		}
		at, plain = frame.End, frame.PlainEnd
	}
	return append(frames, Frame{Start: at, End: blocks.End, PlainEnd: blocks.End})
}

// nextFrame reads what the frame at a place says of its size (RFC 8878, §3.1).
func nextFrame(file io.ReaderAt, at, plain int64) (frame Frame, ok bool) {
	head := make([]byte, zstd.HeaderMaxSize)
	n, _ := file.ReadAt(head, at)
	var h zstd.Header
	if err := h.Decode(head[:n]); err != nil {
		return Frame{}, false
	}
	frame = Frame{Start: at, End: at + int64(h.HeaderSize), PlainEnd: plain}
	if h.Skippable {
		frame.End += int64(h.SkippableSize)
		return frame, true
	}
	if !h.HasFCS {
		return Frame{}, false
	}
	frame.PlainEnd += int64(h.FrameContentSize)
	for last := false; !last; {
		var block [3]byte
		if _, err := file.ReadAt(block[:], frame.End); err != nil {
			return Frame{}, false
		}
		const runLength = 1
		header := int64(block[0]) | int64(block[1])<<8 | int64(block[2])<<16
		last = header&1 != 0
		size := header >> 3
		if header>>1&3 == runLength {
			size = 1
		}
		frame.End += int64(len(block)) + size
	}
	if h.HasCheckSum {
		frame.End += 4
	}
	return frame, true
}
