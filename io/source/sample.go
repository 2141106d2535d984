package source

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
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

// The sample of the planner: this many windows of so many bytes, at even distances over the listed bytes, for each
// begun GiB of up to 16; beyond 4 GiB the windows are larger and no more. It depends on the input alone. Windows are
// many and small, since documents that lie side by side are often alike, and say less of all.
const (
	sampleWindows = 256
	sampleBytes   = 16 << 10
	mostWindows   = 4 * sampleWindows
	mostSampled   = 16 // GiB
	surveyWindows = 256

	// Of a file that can only be read from its start, up to so many times what its windows have is read to count its
	// records, since those at the start may be longer or shorter than others: until as many are in each half of what is
	// read, to one in evenTo. All of a small one is, since more of a compressed file is read ahead than is asked for.
	countedMore = 8
	countedAll  = 1 << 20
	evenTo      = 20
)

// Sampled is what Sample read.
type Sampled struct {
	Documents int64 // readable documents seen
	// Records is the estimate of how many records the input has, readable or not.
	Records int64
	IDs     int64 // bytes of their ids
	// Stored are the listed bytes that were read to see and to count the records.
	Stored int64
	// Unreadable are the other records seen, and Note says of the first of them what is wrong. UnreadableBytes
	// are what rejected has of them.
	Unreadable, UnreadableBytes int64
	Note                        string
	// Encoding is the one that the input is most likely in, where more of the sampled texts are not UTF-8 than are and are
	// not ASCII; "" if none is likely enough. NotUTF8 are the former, and Wrong is the path of the first file with one.
	Encoding, Wrong string
	NotUTF8         int64
	// Encodings are those that were detected in the files of which the sample has some.
	Encodings []records.FileEncoding
	// WrongFiles are the files with texts that are not UTF-8, of Files that the sample has documents of.
	WrongFiles, Files int64
	// Missing are the text columns that no record seen has, and Columns those of the first of them.
	Missing, Columns []string
	// NoColumn are sources of which many records were seen, or all, and none has a text column.
	NoColumn []records.NoColumn
	// Plain is a format without columns, if all records seen are of such; else "".
	Plain string
	// MissingID says that no record seen has the id column; IDColumns are those of the first that may be one.
	MissingID bool
	IDColumns []string
	// MissingRank says that no record seen has the column to rank by; RankColumns are those of the first.
	MissingRank bool
	RankColumns []string
}

// Sample calls see with the texts of a sample of the inputs, or of the references: the readable documents that begin
// in one of 256 windows of 16 KiB (1024 of a large input, of up to 64 KiB), which of
// a small one are all there are. A file that can only be read from its start has its
// windows there. Text, and where its columns end, are valid only during the call.
func Sample(
	ctx context.Context, in *Inputs, references bool, o Options, see func(text, ends []byte),
) (Sampled, error) {
	s := sampler{in: in, options: o, first: in.References(), end: in.Len(), bytes: in.BytesOfInputs(),
		see: func(d *Seen) { see(d.Text, d.Ends) }}
	if references {
		s.options, s.first, s.end, s.bytes = o.of(blocks.Reference), 0, in.References(), in.BytesOfReferences()
	}
	s.cut = usualCut(s.bytes)
	return s.sample(ctx)
}

// Seen is a document of a survey, valid during the call that it is handed to.
type Seen struct {
	blocks.Document
	File   *blocks.File
	Record []byte // in the encoding of the file; of Parquet there is none
}

// Survey is Sample of about so many listed bytes of all files, in 256 windows at even distances, and of all if they are
// no more.
func Survey(ctx context.Context, in *Inputs, o Options, bytes int64, see func(*Seen)) (Sampled, error) {
	return (&sampler{in: in, options: o, cut: cut{surveyWindows, max(1, (bytes+surveyWindows-1)/surveyWindows)},
		end: in.Len(), bytes: in.Bytes(), see: see}).sample(ctx)
}

func (s *sampler) sample(ctx context.Context) (Sampled, error) {
	o := s.options
	units, err := s.units(ctx)
	if err != nil {
		return Sampled{}, err
	}
	if err := inOrder(ctx, len(units), inFlight(s.in.Root),
		func(ctx context.Context, i int) (*heldUnit, error) { return s.hold(ctx, units[i]) },
		func(held *heldUnit) error { return s.use(ctx, held) }); err != nil {
		return Sampled{}, err
	}
	s.estimate()
	if s.judged || s.hasID || s.MissingID {
		s.Plain = ""
	}
	if len(s.missing) == 0 {
		s.Columns = nil
	}
	s.NoColumn, _ = s.lacking.Sources(s.in.Inputs)
	s.NoColumn = slices.DeleteFunc(s.NoColumn, func(n records.NoColumn) bool {
		return !n.Whole() || n.Of < judgedBy && s.cut.windows*s.cut.bytes < s.bytes
	})
	if s.MissingID = s.MissingID && !s.hasID; !s.MissingID {
		s.IDColumns = nil
	}
	s.MissingRank = s.MissingRank && !s.ranks
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

// cut says how many windows a sample has at most, and of how many bytes.
type cut struct{ windows, bytes int64 }

// usualCut is that of the planner's sample of an input of so many bytes.
func usualCut(total int64) cut {
	begun := min(1+max(total-1, 0)>>30, mostSampled)
	most := min(sampleWindows*begun, mostWindows)
	return cut{most, sampleWindows * sampleBytes * begun / most}
}

// unit are windows of one file that are read together: its large pages are unpacked once.
type unit struct {
	file int
	windows
	ahead bool // others are read meanwhile
}

// heldUnit is a unit of which the records were read before it is its turn; not whole: they are read then.
type heldUnit struct {
	unit
	whole   bool
	part    part
	records []reading.Record
	bytes   int
}

// part is what was read of a unit.
type part struct {
	file    *blocks.File
	covered int64 // listed bytes in windows
	stored  int64 // listed bytes read
	records int64 // records, those that are only counted among them
}

const (
	// unitBytes bounds what is held of a unit, since many are at a time,
	// and heldRecord is about what a record takes besides its bytes.
	unitBytes  = 2 << 20
	heldRecord = 256
	// Records and their texts take so many times their window, short ones more.
	heldTimes = 4
	// placeWindows are the windows that are read in one place where positions are rows: a page has mostly 1 MB, and is
	// unpacked for one row as for all. With 16 in a place neighbours weigh too much.
	placeWindows = 8
)

// sampler reads the sample.
type sampler struct {
	in      *Inputs
	options Options
	cut     cut
	// The files sampled, and how many bytes they have.
	first, end int
	bytes      int64
	see        func(*Seen)
	shown      Seen

	Sampled
	covered int64   // bytes in windows, but of files that are one document
	begun   float64 // records that begin there
	looked  int     // the number of the last file whose encoding is noted, from 1

	last        int          // the number of the last file, from 1
	wrong       *blocks.File // the first that has a text that is not UTF-8
	wrongIn     int          // the number of the last that has, from 1
	beyondASCII int64        // texts that are UTF-8 and not ASCII

	lacking Lacking
	judged  bool  // a record was asked for its columns
	missing []int // the text columns that those have not
	hasID   bool  // a record has the id column
	ranks   bool  // a record has the column to rank by, or its file has
}

// windows are the spans of a file that Sample reads.
type windows struct {
	spans []blocks.Span // nil: all that it has
	// covered is how many listed bytes of the file are in windows.
	covered int64
	// After: the records from this position on are only counted.
	after int64
}

// spans cuts the windows along a file, of an input of so many bytes. Of one that can only be read from its start
// as many bytes are read there as the windows have of it, and all of it if that is all; more are read to be counted.
func (c cut) spans(number int, file *blocks.File, total int64) windows {
	// Windows do not overlap; those of a small input touch and are all of it.
	step := max((total+c.windows-1)/c.windows, c.bytes)
	end := file.Offset + file.Size
	w := windows{after: blocks.End}
	for at := file.Offset / step * step; at < end; at += step {
		from, to := max(at, file.Offset), min(at+c.bytes, end)
		if from >= to {
			continue
		}
		w.covered += to - from
		if last := len(w.spans) - 1; last >= 0 && w.spans[last].End == from-file.Offset {
			w.spans[last].End = to - file.Offset
		} else {
			w.spans = append(w.spans, blocks.Span{File: number, Start: from - file.Offset, End: to - file.Offset})
		}
	}
	if w.covered > 0 && file.Sequential {
		whole := blocks.Span{File: number, End: blocks.End} // of what it decompresses to
		if w.covered < file.Size {
			w.after, whole.End = w.covered, max(countedMore*w.covered, countedAll)
		}
		w.spans = []blocks.Span{whole}
	}
	for i := range w.spans {
		span := &w.spans[i]
		span.Start = file.PositionAt(span.Start)
		if span.End != blocks.End {
			span.End = file.PositionAt(span.End)
		}
	}
	return w
}

// windows are those of a file of the sample.
func (s *sampler) windows(number int, file *blocks.File) windows {
	f := *file
	f.Offset -= s.in.File(s.first).Offset
	return s.cut.spans(number, &f, s.bytes)
}

// gathered are the windows of a file of rows in fewer places, where its reader can begin: in a row group of large pages
// only at its first row.
func (w windows) gathered(r reading.RecordReader, file *blocks.File) windows {
	if file.Positions == 0 || len(w.spans) < 2 {
		return w
	}
	size := w.covered / int64(len(w.spans)) * placeWindows
	begins := append([]int64{0}, r.Cut(file, size)...)
	var places []blocks.Span
	for some := range slices.Chunk(w.spans, placeWindows) {
		place := some[0]
		i, found := slices.BinarySearch(begins, place.Start)
		if !found {
			i--
		}
		place.Start = begins[i]
		rows := int64(0)
		for _, span := range some {
			rows += span.End - span.Start
		}
		if last := len(places) - 1; last >= 0 && places[last].End >= place.Start {
			places[last].End += rows
			continue
		}
		place.End = place.Start + rows
		places = append(places, place)
	}
	w.spans, w.covered = places, 0
	for i := range places {
		places[i].End = min(places[i].End, file.Positions)
		w.covered += file.OffsetAt(places[i].End) - file.OffsetAt(places[i].Start)
	}
	return w
}

// units returns those of all files, in input order. Where a read is a
// request, large files have several, which are read at once.
func (s *sampler) units(ctx context.Context) (units []unit, err error) {
	var offset int64
	for i := s.first; i < s.end; i++ {
		size := s.in.Size(i)
		covered := s.cut.spans(i, &blocks.File{Offset: offset, Size: size}, s.bytes).covered
		offset += size
		if covered == 0 {
			continue
		}
		var file *blocks.File
		together := s.local()
		if !together {
			inspected := false
			if file, inspected, err = s.in.Listed(ctx, i); err != nil {
				return nil, err
			}
			together = !inspected || file.Sequential
		}
		if together {
			// A unit too large to hold is read twice, which pays only where a read is a request.
			units = append(units, unit{file: i, ahead: !s.local() || heldTimes*covered <= unitBytes})
			continue
		}
		r, err := readerOf(file)
		if err != nil {
			return nil, err
		}
		all := s.windows(i, file).gathered(r, file)
		for spans := range slices.Chunk(all.spans, 1) {
			units = append(units, unit{i, windows{spans: spans, covered: all.covered, after: all.after}, true})
			all.covered = 0 // the first stands for all
		}
	}
	return units, nil
}

// local reports whether the files are on a disk.
func (s *sampler) local() bool {
	if s.end == s.in.References() && s.end > 0 {
		return storage.IsLocal(s.in.Name(0))
	}
	return storage.IsLocal(s.in.Root)
}

// hold reads a unit and holds what it has, unless that is to be read when it is its turn. It
// never waits for another unit: what it reads with may be bounded.
func (s *sampler) hold(ctx context.Context, u unit) (*heldUnit, error) {
	held := &heldUnit{unit: u}
	if !u.ahead {
		return held, nil
	}
	held.whole = true
	var err error
	held.part, err = s.read(ctx, u, func(_ int, _ *blocks.File, record *reading.Record) error {
		if held.bytes += heldRecord + len(record.Raw) + len(record.Doc.Text) +
			len(record.Doc.ID); int64(held.bytes) > max(unitBytes, heldTimes*s.cut.bytes) {
			held.whole, held.records = false, nil
			return reading.ErrStop
		}
		held.records = append(held.records, cloned(record))
		return nil
	})
	return held, err
}

// cloned is a record that stays valid, with the kind of the value to rank by alone.
func cloned(record *reading.Record) reading.Record {
	clone, doc := *record, *record.Doc
	doc.ID, doc.Text, doc.Ends, doc.Missing = slices.Clone(doc.ID), slices.Clone(doc.Text),
		slices.Clone(doc.Ends), slices.Clone(doc.Missing)
	doc.Values = slices.Clone(doc.Values)
	doc.Value = codec.Value{Kind: doc.Value.Kind}
	clone.Doc, clone.Raw = &doc, slices.Clone(record.Raw)
	return clone
}

// use adds a unit to the sample.
func (s *sampler) use(ctx context.Context, held *heldUnit) (err error) {
	if !held.whole {
		if held.part, err = s.read(ctx, held.unit, s.add); err != nil {
			return err
		}
	}
	for i := range held.records {
		if err := s.add(held.file, held.part.file, &held.records[i]); err != nil {
			return err
		}
	}
	s.count(held.part)
	if s.looked != held.file+1 { // a file may have several units
		s.looked = held.file + 1
		s.Encodings = addEncoding(s.Encodings, held.part.file)
	}
	return nil
}

// read reads a unit, and calls see with the records of its windows.
func (s *sampler) read(ctx context.Context, u unit, see func(int, *blocks.File, *reading.Record) error) (part, error) {
	ctx, done := storage.Once(ctx)
	defer done()
	file, r, o, err := s.in.open(ctx, u.file, s.options)
	if err != nil {
		return part{}, err
	}
	if _, spooled := reading.Spooled(ctx, file.Spool); spooled || file.Positions > 0 {
		file.Spool = "" // a run that continues has the same sample; pages are kept by the spans of the run
	}
	wanted := u.windows
	if wanted.spans == nil {
		wanted = s.windows(u.file, file).gathered(r, file)
	}
	p := part{file: file, covered: wanted.covered}
	counting := false
	halves := halves{at: max(wanted.after, countedAll/2)}
	read := o.reading()
	if f, err := formatNamed(file.Format); err == nil && f.columns != nil {
		read.Fields.Value = o.Rank.Column()
	}
	progress, err := r.Read(ctx, file, wanted.spans, read, o.readable(file, func(record *reading.Record) error {
		if wanted.after < blocks.End && halves.even(record.Position, p.records) {
			return reading.ErrStop
		}
		if p.records++; record.Position < wanted.after {
			return see(u.file, file, record)
		}
		counting = true
		return nil
	}))
	if broken := (*reading.ContentError)(nil); counting && errors.As(err, &broken) {
		err = nil // the sample has all that it is to have, and who reads the file tells
	}
	p.stored = progress.Stored
	return p, err
}

// halves tells when a file has been counted far enough.
type halves struct {
	at    int64 // where the second half begins
	first int64 // records before it, once it is reached
}

// even reports whether position, before which so many records begin, ends a second half that has as many as the first.
func (h *halves) even(position, records int64) bool {
	switch {
	case position < h.at:
	case position < 2*h.at:
		h.first = cmp.Or(h.first, records)
	default:
		if second := records - h.first; h.first > 0 && max(h.first, second)-min(h.first, second) <= h.first/evenTo {
			return true
		}
		h.at, h.first = 2*h.at, records
	}
	return false
}

// count adds the records of a part to those that begin in windows.
func (s *sampler) count(p part) {
	s.Stored += p.stored
	if p.file.IDIsSource { // all of these are counted
		return
	}
	s.covered += p.covered
	if p.file.Sequential && p.stored > 0 {
		s.begun += float64(p.records) * (float64(p.covered) / float64(p.stored))
	} else {
		s.begun += float64(p.records)
	}
}

// add adds a record of a file to the sample.
func (s *sampler) add(number int, file *blocks.File, record *reading.Record) error {
	f, err := formatNamed(file.Format)
	if err != nil {
		return err
	}
	if s.last != number+1 {
		s.last = number + 1
		s.Files++
	}
	if f.plain() {
		s.Plain = f.name
	} else {
		s.columns(number, file, record)
		s.idColumn(file, record)
		s.rankColumn(file, record)
	}
	doc, key := record.Doc, blocks.NewKey(number, record.Position)
	if reasonOf(record) == codec.InvalidUTF8 {
		if s.NotUTF8++; s.wrongIn != number+1 {
			s.wrongIn = number + 1
			s.WrongFiles++
		}
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
	if !isASCII(doc.Text) {
		s.beyondASCII++
	}
	if record.Long {
		return nil
	}
	s.IDs += int64(len(s.options.id(s.in.Inputs, key, doc)))
	if !doc.NoText && !longID(doc) && int64(len(doc.Text)) <= s.options.MaxDocument {
		s.shown = Seen{File: file, Record: record.Raw}
		s.shown.Document = blocks.Document{
			Key: key, ID: doc.ID, HasID: doc.HasID, Text: doc.Text, Ends: doc.Ends, Values: doc.Values,
		}
		s.see(&s.shown)
	}
	return nil
}

// isASCII reports whether a text is nothing but ASCII.
func isASCII(text []byte) bool {
	const high = 0x8080808080808080
	for ; len(text) >= 8; text = text[8:] {
		if binary.LittleEndian.Uint64(text)&high != 0 {
			return false
		}
	}
	for _, b := range text {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// addEncoding adds the encoding that was detected in a file, if it was looked for.
func addEncoding(all []records.FileEncoding, file *blocks.File) []records.FileEncoding {
	if file.Detected == "" {
		return all
	}
	return records.AddEncoding(all, records.FileEncoding{
		Name: file.Detected, Files: 1, Read: file.Encoding != "", Percent: file.Percent, File: file.Source,
	})
}

// estimate estimates the number of records: a file of one document has
// one, and others have as many for each listed byte as in their windows.
func (s *sampler) estimate() {
	var ones, bytes int64
	for i := s.first; i < s.end; i++ {
		if s.in.OneDocument(i) {
			ones++
		} else {
			bytes += s.in.Size(i)
		}
	}
	s.Records = ones
	if s.covered > 0 {
		s.Records += int64(math.Round(s.begun / float64(s.covered) * float64(bytes)))
	}
}

// propose sets Encoding by what the first file begins with that has a text that is not UTF-8.
func (s *sampler) propose(ctx context.Context) error {
	switch { // it is read by a name, or has no bytes of text
	case s.wrong.Encoding != "", s.options.Encoding == reading.DetectEncoding, s.wrong.Positions > 0:
		return nil
	}
	head, err := bytefile.Head(ctx, s.wrong, s.options.reading())
	s.Encoding, s.Wrong = charset.Propose(head), s.wrong.Path
	return err
}

// judgedBy is how many records, if not all, say that a source has no text column:
// of one where a record in twenty has it, they have none in one sample of 170.
const judgedBy = 100

// columns notes which text columns a record of file has.
func (s *sampler) columns(number int, file *blocks.File, record *reading.Record) {
	s.lacking.add(number, file, record, s.options.of(file.Standing))
	switch reason := reasonOf(record); {
	case record.Long, s.judged && len(s.missing) == 0:
	case reason == codec.TextNotString:
		s.judged, s.missing = true, nil // it has one, if of another type
	case record.Err != nil && reason != codec.InvalidUTF8:
	case s.judged:
		s.missing = slices.DeleteFunc(s.missing, func(i int) bool { return !slices.Contains(record.Doc.Missing, i) })
	default:
		s.judged, s.missing = true, slices.Clone(record.Doc.Missing)
		if len(s.missing) > 0 {
			s.Columns = columnsOf(file, record)
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

// rankColumn notes whether a record of file has the column to rank by, if only as null.
func (s *sampler) rankColumn(file *blocks.File, record *reading.Record) {
	column := s.options.of(file.Standing).Rank.Column()
	if column == "" || s.ranks || record.Long || record.Err != nil {
		return
	}
	columns := columnsOf(file, record)
	_, partition := reading.Partition(file.Path, column)
	s.ranks = partition || record.Doc.Value.Kind != codec.NoValue || len(columns) == 0 || slices.Contains(columns, column)
	if !s.ranks && !s.MissingRank {
		s.MissingRank, s.RankColumns = true, columns
	}
}

// reasonOf returns why a record is unreadable; "" if it is not, or for no reason of its own.
func reasonOf(record *reading.Record) string {
	if unreadable := (*codec.Error)(nil); errors.As(record.Err, &unreadable) {
		return unreadable.Reason
	}
	return ""
}
