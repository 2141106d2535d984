package source

import (
	"cmp"
	"context"
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

// The planner's sample has sampleWindows windows of sampleBytes each, at even distances over the listed bytes, for each
// started GiB up to mostSampled; above 4 GiB the windows become larger instead of more. It depends on the input alone.
// Windows are many and small, since neighbouring documents are often alike and say less about the whole input.
const (
	sampleWindows = 256
	sampleBytes   = 16 << 10
	mostWindows   = 4 * sampleWindows
	mostSampled   = 16 // GiB
	surveyWindows = 256

	// In a file that can only be read from its start, the first records may be longer or shorter than others. To count its
	// records, Sample reads up to countedMore times the bytes of its windows: until both halves of what it has read have
	// as many records, to one in evenTo. It reads all of a small file, since a decompressor reads far ahead anyway.
	countedMore = 8
	countedAll  = 1 << 20
	evenTo      = 20
)

// Sampled is the result of Sample.
type Sampled struct {
	Documents int64 // readable documents seen
	// Records is the estimate of how many records the input has, readable or not.
	Records int64
	IDs     int64 // bytes of the ids of the documents
	// Stored is how many listed bytes were read to see and to count records.
	Stored int64
	// Unreadable is how many of the records seen are unreadable; Note says what is wrong with the first of them.
	// UnreadableBytes is how many of their bytes go to rejected.
	Unreadable, UnreadableBytes int64
	Note                        string
	// Encoding is the most likely encoding of the input if more of the sampled texts are invalid UTF-8 than are valid
	// beyond ASCII; "" if none is likely enough. NotUTF8 counts the invalid ones; Wrong is the first file with one.
	Encoding, Wrong string
	NotUTF8         int64
	// Encodings are the encodings that were detected in sampled files.
	Encodings []records.FileEncoding
	// WrongFiles is the number of files with texts that are not UTF-8, among the Files files with sampled records.
	WrongFiles, Files int64
	// Missing are the text columns that no record seen has, and Columns are the columns of the first record.
	Missing, Columns []string
	// NoColumn are sources of which many records were seen, or all, and none of these has a text column.
	NoColumn []records.NoColumn
	// Plain is the format without columns that all records seen have, or "".
	Plain string
	// MissingID says that no record seen has the id column; IDColumns are those of the first record that may hold an id.
	MissingID bool
	IDColumns []string
	// MissingRank says that no record seen has the column to rank by; RankColumns are the columns of the first record.
	MissingRank bool
	RankColumns []string
}

// Sample calls see with the texts of a sample of the inputs, or of the references: the readable documents that begin in
// one of 256 windows of 16 KiB (up to 1024 windows of up to 64 KiB for a large input), which cover all of a small
// input. A file that can only be read from its start has its windows there. The text and the ends of its columns are
// valid only during the call.
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

// Seen is a document of a survey, valid only during the call that receives it.
type Seen struct {
	blocks.Document
	File   *blocks.File
	Record []byte // in the encoding of the file; nil for Parquet
}

// Survey is like Sample, but takes about this many listed bytes of all files, in 256 windows at even distances, or all
// bytes if there are no more.
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

// cut is the maximum number of windows of a sample, and the size of each in bytes.
type cut struct{ windows, bytes int64 }

// usualCut returns the cut of the planner's sample for an input of total bytes.
func usualCut(total int64) cut {
	begun := min(1+max(total-1, 0)>>30, mostSampled)
	most := min(sampleWindows*begun, mostWindows)
	return cut{most, sampleWindows * sampleBytes * begun / most}
}

// unit is a group of windows of one file that are read together, so that a large page is unpacked once.
type unit struct {
	file int
	windows
	ahead bool // may be read before its turn
}

// heldUnit is a unit whose records were read before its turn, or, if not whole, are read at its turn.
type heldUnit struct {
	unit
	whole   bool
	part    part
	records []reading.Record
	bytes   int
}

// part is the result of reading a unit.
type part struct {
	file    *blocks.File
	covered int64 // listed bytes in windows
	stored  int64 // listed bytes read
	records int64 // including those only counted
}

const (
	// unitBytes bounds the memory of a held unit, since many are held at a time; heldRecord is about what a record takes
	// besides its bytes.
	unitBytes  = 2 << 20
	heldRecord = 256
	// Records and their texts take about this many times the bytes of their window, short ones more.
	heldTimes = 4
	// placeWindows is how many windows are read in one place of a file of rows: most pages have 1 MB, and are unpacked for
	// one row as for all. With 16 windows in a place, neighbours weigh too much.
	placeWindows = 8
)

// sampler reads the sample.
type sampler struct {
	in      *Inputs
	options Options
	cut     cut
	// The range of sampled files, and their total size in bytes.
	first, end int
	bytes      int64
	see        func(*Seen)
	shown      Seen

	Sampled
	covered int64   // bytes in windows, except in files of one document
	begun   float64 // records that begin in these windows
	looked  int     // the last file whose encoding is noted, counted from 1

	last        int          // the last file with a record, counted from 1
	wrong       *blocks.File // the first with a text that is not UTF-8
	wrongIn     int          // the last with such a text, counted from 1
	beyondASCII int64        // texts that are UTF-8 and not ASCII

	lacking Lacking
	judged  bool  // the columns of a record were checked
	missing []int // text columns that no checked record has
	hasID   bool  // a record has the id column
	ranks   bool  // a record, or its file, has the column to rank by
}

// windows are the spans of a file that Sample reads.
type windows struct {
	spans []blocks.Span // nil: all windows of the file
	// covered is how many listed bytes of the file are in windows.
	covered int64
	// after is the position from which records are only counted.
	after int64
}

// spans returns the windows along a file of an input of total bytes. In a file that can only be read from its start,
// the windows' bytes are read there, and more bytes to count records; if the windows cover the file, all of it is read.
func (c cut) spans(number int, file *blocks.File, total int64) windows {
	// Windows do not overlap; those of a small input touch and cover it.
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
		whole := blocks.Span{File: number, End: blocks.End} // in decompressed bytes
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

// windows returns the sample's windows of a file.
func (s *sampler) windows(number int, file *blocks.File) windows {
	f := *file
	f.Offset -= s.in.File(s.first).Offset
	return s.cut.spans(number, &f, s.bytes)
}

// gathered returns the windows of a file of rows in fewer places, at rows where its reader can begin: in a row group of
// large pages, only the first row.
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

// units returns the units of all files, in input order. Where a read is a request, a large file has several units,
// which are read concurrently.
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
			all.covered = 0 // the first unit counts for all
		}
	}
	return units, nil
}

// local reports whether the files are on a local disk.
func (s *sampler) local() bool {
	if s.end == s.in.References() && s.end > 0 {
		return storage.IsLocal(s.in.Name(0))
	}
	return storage.IsLocal(s.in.Root)
}

// hold reads a unit and holds its records, unless the unit must be read at its turn. It never waits for another unit,
// since the memory for reading may be bounded.
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

// cloned returns a copy of record that stays valid. Of the value to rank by, it keeps only the kind.
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
		file.Spool = "" // a resumed run has the same sample; a spool of pages follows the spans of the run
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
		err = nil // the sample is complete, and the full read will report the error
	}
	p.stored = progress.Stored
	return p, err
}

// halves decides when a file has been counted far enough.
type halves struct {
	at    int64 // where the second half begins
	first int64 // records before at, once it is reached
}

// even reports whether position, which this many records precede, ends a second half with about as many as the first.
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
	if p.file.IDIsSource { // estimate counts all such files
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
	if slices.ContainsFunc(doc.Text, func(b byte) bool { return b >= utf8.RuneSelf }) {
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

// addEncoding adds the encoding that was detected in a file, if any.
func addEncoding(all []records.FileEncoding, file *blocks.File) []records.FileEncoding {
	if file.Detected == "" {
		return all
	}
	return records.AddEncoding(all, records.FileEncoding{
		Name: file.Detected, Files: 1, Read: file.Encoding != "", Percent: file.Percent, File: file.Source,
	})
}

// estimate estimates the number of records: one for each file of one document, and for other files as many per listed
// byte as in their windows.
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

// propose sets Encoding from the beginning of the first file with a text that is not UTF-8.
func (s *sampler) propose(ctx context.Context) error {
	switch { // an encoding is set, or the file is not text
	case s.wrong.Encoding != "", s.options.Encoding == reading.DetectEncoding, s.wrong.Positions > 0:
		return nil
	}
	head, err := bytefile.Head(ctx, s.wrong, s.options.reading())
	s.Encoding, s.Wrong = charset.Propose(head), s.wrong.Path
	return err
}

// judgedBy is how many records, unless these are all, show that a source has no text column: if one record in twenty
// has it, one sample in 170 has none of those.
const judgedBy = 100

// columns notes which text columns a record of file has.
func (s *sampler) columns(number int, file *blocks.File, record *reading.Record) {
	s.lacking.add(number, file, record, s.options.of(file.Standing))
	switch reason := reasonOf(record); {
	case record.Long, s.judged && len(s.missing) == 0:
	case reason == codec.TextNotString:
		s.judged, s.missing = true, nil // it has a text column, of another type
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
		s.hasID = true // of another type
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

// rankColumn notes whether a record of file has the column to rank by, even if only as null.
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

// reasonOf returns the codec's reason why a record is unreadable, or "" if there is none.
func reasonOf(record *reading.Record) string {
	if unreadable := (*codec.Error)(nil); errors.As(record.Err, &unreadable) {
		return unreadable.Reason
	}
	return ""
}
