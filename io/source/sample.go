package source

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/charset"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/bytefile"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
)

// The sample of the planner: this many windows of so many bytes, at even distances over the
// listed bytes, for each begun GiB of up to 16. It depends on the input alone.
const (
	sampleWindows = 64
	sampleBytes   = 64 << 10
	mostWindows   = 16 * sampleWindows
)

// Sampled is what Sample read.
type Sampled struct {
	Documents int64 // readable documents seen
	Bytes     int64 // listed bytes they stand for
	IDs       int64 // bytes of their ids
	// Unreadable are the other records seen, and Note says of the first of them what is wrong. UnreadableBytes
	// are what rejected has of them.
	Unreadable, UnreadableBytes int64
	Note                        string
	// Encoding is the one that the input is most likely in, where more of the sampled texts are not UTF-8 than are and are
	// not ASCII; "" if none is likely enough. NotUTF8 are the former, and Wrong is the path of the first file with one.
	Encoding, Wrong string
	NotUTF8         int64
	// Missing are the text columns that no record seen has, and Columns those of the first of them.
	Missing, Columns []string
	// MissingID says that no record seen has the id column; IDColumns are those of the first that may be one.
	MissingID bool
	IDColumns []string
}

// Sample calls see with the texts of a sample of the input: the readable documents that begin
// in one of 64 windows of 64 KiB (1024 of a large input), which of a small one are all there are. A file that can only
// be read from its start has its windows there. Text, and where its columns end, are valid only during the call.
func Sample(ctx context.Context, in *Inputs, o Options, see func(text, ends []byte)) (Sampled, error) {
	s := sampler{in: in, options: o, see: see}
	units, err := s.units(ctx)
	if err != nil {
		return Sampled{}, err
	}
	if err := inOrder(ctx, len(units), inFlight(in.Root), func(ctx context.Context, i int) (*heldUnit, error) { return s.hold(ctx, units[i]) },
		func(held *heldUnit) error { return s.use(ctx, held) }); err != nil {
		return Sampled{}, err
	}
	if len(s.missing) == 0 {
		s.Columns = nil
	}
	if s.MissingID = s.MissingID && !s.hasID; !s.MissingID {
		s.IDColumns = nil
	}
	if s.NotUTF8 > s.beyondASCII {
		if err := s.propose(ctx); err != nil {
			return Sampled{}, err
		}
	}
	for _, i := range s.missing {
		s.Missing = append(s.Missing, o.Fields.Text[i])
	}
	return s.Sampled, nil
}

// unit are windows of one file that are read together: its large pages are unpacked once.
type unit struct {
	file  int
	spans []blocks.Span // nil: all that it has
}

// heldUnit is a unit of which the records were read before it is its turn; not whole: they are read then.
type heldUnit struct {
	unit
	whole    bool
	listed   *blocks.File
	records  []reading.Record
	bytes    int
	progress reading.Progress
}

const (
	// unitBytes bounds what is held of a unit: many are.
	unitBytes = 2 << 20
	// unitWindows are those of a unit where positions are rows.
	unitWindows = 16
)

// sampler reads the sample.
type sampler struct {
	in      *Inputs
	options Options
	see     func(text, ends []byte)

	Sampled
	wrong       *blocks.File // the first that has a text that is not UTF-8
	beyondASCII int64        // texts that are UTF-8 and not ASCII

	judged  bool  // a record was asked for its columns
	missing []int // the text columns that those have not
	hasID   bool  // a record has the id column
}

// sampleSpans cuts the windows of so many bytes along a file. Of one that can only be read from its start
// as many bytes are read there as the windows have of it, and all of it if that is all.
func sampleSpans(number int, file *blocks.File, total int64) (spans []blocks.Span) {
	// Windows do not overlap; those of a small input touch and are all of it.
	windows := min(sampleWindows*(1+max(total-1, 0)>>30), mostWindows)
	step := max((total+windows-1)/windows, sampleBytes)
	end := file.Offset + file.Size
	covered := int64(0)
	for at := file.Offset / step * step; at < end; at += step {
		from, to := max(at, file.Offset), min(at+sampleBytes, end)
		if from >= to {
			continue
		}
		covered += to - from
		if last := len(spans) - 1; last >= 0 && spans[last].End == from-file.Offset {
			spans[last].End = to - file.Offset
		} else {
			spans = append(spans, blocks.Span{File: number, Start: from - file.Offset, End: to - file.Offset})
		}
	}
	if covered > 0 && file.Sequential {
		whole := blocks.Span{File: number, End: covered}
		if covered == file.Size {
			whole.End = blocks.End // of what it decompresses to
		}
		spans = []blocks.Span{whole}
	}
	for i := range spans {
		span := &spans[i]
		span.Start = file.PositionAt(span.Start)
		if span.End != blocks.End {
			span.End = file.PositionAt(span.End)
		}
	}
	return spans
}

// units returns those of all files, in input order. Where a read is a request, large files have several, which are read at once.
func (s *sampler) units(ctx context.Context) (units []unit, err error) {
	var offset int64
	for i := range s.in.Len() {
		size := s.in.Size(i)
		windows := sampleSpans(i, &blocks.File{Offset: offset, Size: size}, s.in.Bytes())
		offset += size
		if len(windows) == 0 {
			continue
		}
		var file *blocks.File
		together := storage.IsLocal(s.in.Root)
		if !together {
			inspected := false
			if file, inspected, err = s.in.Listed(ctx, i); err != nil {
				return nil, err
			}
			together = !inspected || file.Sequential
		}
		if together {
			units = append(units, unit{file: i})
			continue
		}
		n := 1
		if file.Positions > 0 {
			n = unitWindows
		}
		for spans := range slices.Chunk(sampleSpans(i, file, s.in.Bytes()), n) {
			units = append(units, unit{i, spans})
		}
	}
	return units, nil
}

// hold reads a unit where a read is a request, and holds what it has; else it only inspects the file. It never waits for another unit:
// what it reads with may be bounded.
func (s *sampler) hold(ctx context.Context, u unit) (*heldUnit, error) {
	held := &heldUnit{unit: u}
	if storage.IsLocal(s.in.Root) {
		_, _, err := s.in.open(ctx, u.file, s.options)
		return held, err
	}
	held.whole = true
	var err error
	held.progress, err = s.read(ctx, u, func(_ int, file *blocks.File, record *reading.Record) error {
		held.listed = file
		if held.bytes += len(record.Raw) + len(record.Doc.Text) + len(record.Doc.ID); held.bytes > unitBytes {
			held.whole, held.records = false, nil
			return reading.ErrStop
		}
		held.records = append(held.records, cloned(record))
		return nil
	})
	return held, err
}

// cloned is a record that stays valid, without the value to rank by.
func cloned(record *reading.Record) reading.Record {
	clone, doc := *record, *record.Doc
	doc.ID, doc.Text, doc.Ends, doc.Missing = slices.Clone(doc.ID), slices.Clone(doc.Text), slices.Clone(doc.Ends), slices.Clone(doc.Missing)
	doc.Value = codec.Value{}
	clone.Doc, clone.Raw = &doc, slices.Clone(record.Raw)
	return clone
}

// use adds a unit to the sample.
func (s *sampler) use(ctx context.Context, held *heldUnit) error {
	if !held.whole {
		progress, err := s.read(ctx, held.unit, s.add)
		s.Bytes += progress.Stored
		return err
	}
	for i := range held.records {
		if err := s.add(held.file, held.listed, &held.records[i]); err != nil {
			return err
		}
	}
	s.Bytes += held.progress.Stored
	return nil
}

// read reads a unit.
func (s *sampler) read(ctx context.Context, u unit, see func(int, *blocks.File, *reading.Record) error) (reading.Progress, error) {
	ctx, done := storage.Once(ctx)
	defer done()
	file, r, err := s.in.open(ctx, u.file, s.options)
	if err != nil {
		return reading.Progress{}, err
	}
	spans := u.spans
	if spans == nil {
		spans = sampleSpans(u.file, file, s.in.Bytes())
	}
	return recordsOf(ctx, r, file, spans, s.options, func(record *reading.Record) error { return see(u.file, file, record) })
}

// add adds a record of a file to the sample.
func (s *sampler) add(number int, file *blocks.File, record *reading.Record) error {
	s.columns(file, record)
	s.idColumn(file, record)
	doc, key := record.Doc, blocks.NewKey(number, record.Position)
	if reasonOf(record) == codec.InvalidUTF8 {
		s.NotUTF8++
		s.wrong = cmp.Or(s.wrong, file)
	}
	if record.Err != nil {
		if s.Unreadable++; s.Unreadable == 1 {
			s.Note = note(file, record)
		}
		s.UnreadableBytes += int64(min(len(record.Raw), records.MaxRaw))
		return nil
	}
	s.Documents++
	if slices.ContainsFunc(doc.Text, func(b byte) bool { return b >= utf8.RuneSelf }) {
		s.beyondASCII++
	}
	if record.Long {
		return nil
	}
	s.IDs += int64(len(s.options.id(s.in.Inputs, key, doc)))
	if !doc.NoText && !s.options.longID(doc) && int64(len(doc.Text)) <= s.options.MaxDocument {
		s.see(doc.Text, doc.Ends)
	}
	return nil
}

// propose sets Encoding by what the first file begins with that has a text that is not UTF-8.
func (s *sampler) propose(ctx context.Context) error {
	if s.wrong.Encoding != "" || s.wrong.Positions > 0 { // it is read by a name, or has no bytes of text
		return nil
	}
	head, err := bytefile.Head(ctx, s.wrong, s.options.reading())
	s.Encoding, s.Wrong = charset.Propose(head), s.wrong.Path
	return err
}

// columns notes which text columns a record of file has.
func (s *sampler) columns(file *blocks.File, record *reading.Record) {
	switch reason := reasonOf(record); {
	case record.Long, s.judged && len(s.missing) == 0:
	case reason == codec.TextNotString:
		s.judged, s.missing = true, nil // it has one, if of another type
	case record.Err != nil && reason != codec.InvalidUTF8:
	case s.judged:
		s.missing = slices.DeleteFunc(s.missing, func(i int) bool { return !slices.Contains(record.Doc.Missing, i) })
	default:
		s.judged, s.missing = true, slices.Clone(record.Doc.Missing)
		if f, err := formatNamed(file.Format); err == nil && f.columns != nil && len(s.missing) > 0 {
			s.Columns = f.columns(record.Raw)
		}
	}
}

// idColumn notes whether a record of file has the id column.
func (s *sampler) idColumn(file *blocks.File, record *reading.Record) {
	switch reason := reasonOf(record); {
	case record.Long, s.hasID:
	case reason == codec.IDNotString:
		s.hasID = true // if of another type
	case record.Err != nil && reason != codec.InvalidUTF8 && reason != codec.TextNotString:
	case !record.Doc.MissingID:
		s.hasID = true
	case !s.MissingID:
		s.MissingID = true
		if f, err := formatNamed(file.Format); err == nil && f.idColumns != nil {
			s.IDColumns = f.idColumns(record.Raw)
		}
	}
}

// reasonOf returns why a record is unreadable; "" if it is not, or for no reason of its own.
func reasonOf(record *reading.Record) string {
	if unreadable := (*codec.Error)(nil); errors.As(record.Err, &unreadable) {
		return unreadable.Reason
	}
	return ""
}
