package source

import (
	"errors"
	"io"
	"slices"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/records"
)

// The sample of the planner: this many windows of so many bytes, at even distances over the
// listed bytes. It depends on the input alone.
const (
	sampleWindows = 64
	sampleBytes   = 64 << 10
)

// Sampled is what Sample read.
type Sampled struct {
	Documents int64 // readable documents seen
	Bytes     int64 // listed bytes they stand for
}

// Sample calls see with the texts of a sample of the input: the readable documents that begin
// in one of 64 windows of 64 KiB. A file that can only be read from its start has its windows
// there. Text is valid only during the call.
func Sample(in *records.Inputs, o Options, see func(text []byte)) (Sampled, error) {
	var sampled Sampled
	for _, span := range sampleSpans(in) {
		if err := sampleSpan(in, span, o, see, &sampled); err != nil {
			return Sampled{}, err
		}
	}
	return sampled, nil
}

// sampleSpans are the windows, those of a file that touch made one.
func sampleSpans(in *records.Inputs) (spans []records.Span) {
	total := in.Bytes()
	for i := range int64(sampleWindows) {
		at := total / sampleWindows * i
		n, _ := slices.BinarySearchFunc(in.Files, at+1, func(f records.File, at int64) int {
			if f.Offset+f.Size < at {
				return -1
			}
			return 1
		})
		if n == len(in.Files) {
			continue
		}
		file := &in.Files[n]
		start := at - file.Offset
		last := len(spans) - 1
		sameFile := last >= 0 && spans[last].File == n
		switch {
		case !splittable(file) && sameFile:
			spans[last].End += sampleBytes
		case !splittable(file):
			spans = append(spans, records.Span{File: n, End: sampleBytes})
		case sameFile && spans[last].End >= start:
			spans[last].End = start + sampleBytes
		default:
			spans = append(spans, records.Span{File: n, Start: start, End: start + sampleBytes})
		}
	}
	return spans
}

func sampleSpan(in *records.Inputs, span records.Span, o Options, see func([]byte), sampled *Sampled) (err error) {
	r, err := Open(in, span, o.Fields, o.MaxRecord())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var doc codec.Document
	var read int64
	for {
		piece, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		read += int64(len(piece.Raw))
		if piece.Filler || piece.Continued {
			continue
		}
		if piece.Long {
			sampled.Documents++
			continue
		}
		if r.Decode(piece, &doc) == nil {
			sampled.Documents++
			if !doc.NoText && int64(len(doc.Text)) <= o.MaxDocument {
				see(doc.Text)
			}
		}
	}
	if r.plain != nil {
		// Listed bytes are compressed ones: the file's offset tells how many stand for the sample.
		if read, err = r.file.Seek(0, io.SeekCurrent); err != nil {
			return err
		}
	}
	sampled.Bytes += read
	return nil
}
