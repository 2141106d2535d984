package blocks

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"strings"

	"github.com/neardup/neardup/records"
)

// Row is a row of an output table. It travels behind a sort key of two document keys: the row's own document, then a
// pair's second document or the row's own again. For a bucket they are its band and the document.
type Row interface {
	records.Pair | records.Clustered | records.Removed | records.Rejected |
		records.Bucketed | records.Candidate | records.Found |
		records.Passage | records.Coverage | records.Repeat | records.Contaminated | records.Stored
}

// RowPart is a row or, of a large row, a part of its fields.
type RowPart struct {
	RowPlace
	// Continues reports that the fields begin in an earlier part.
	Continues bool
	Fields    []byte
}

// RowPlace is the position of a part among the parts of a table.
type RowPlace struct {
	Order Edge // the row's sort key
	Left  int  // bytes of the row's fields that follow in other parts
}

// Compare orders the parts of a table by row, and the parts of one row in their sequence.
func (p RowPlace) Compare(o RowPlace) int {
	if p.Order != o.Order {
		return p.Order.Compare(o.Order)
	}
	return cmp.Compare(o.Left, p.Left)
}

// rowPart is the maximum size of the fields in one part.
const rowPart = 512 << 10

// NewRow returns a row in one part, with its fields appended to fields, which must be empty.
func NewRow[R Row](fields []byte, own, second Key, row *R) RowPart {
	return RowPart{RowPlace: RowPlace{Order: Edge{A: own, B: second}}, Fields: appendFields(fields, row)}
}

// AddRow adds a row to a shard's block, in parts if it is large.
func AddRow[R Row](b *Buffers, shard int64, own, second Key, row *R, emit func(int64, []byte)) {
	part := NewRow(b.fields[:0], own, second, row)
	b.fields = part.Fields
	for fields := part.Fields; ; {
		size := min(len(fields), rowPart)
		part.Fields, fields = fields[:size], fields[size:]
		part.Left = len(fields)
		b.Add(shard, part.Append, emit)
		if part.Left == 0 {
			return
		}
		part.Continues = true
	}
}

// Append appends the part to a block.
func (p RowPart) Append(block []byte) []byte {
	left := uint64(p.Left) << 1
	if p.Continues {
		left |= 1
	}
	return AppendBytes(binary.AppendUvarint(AppendEdge(block, p.Order), left), p.Fields)
}

// RowPart reads what Append wrote; its bytes share memory with the block.
func (d *Decoder) RowPart() (p RowPart) {
	p.Order = Edge{A: d.Key(), B: d.Key()}
	left := d.Uvarint()
	p.Left, p.Continues = int(left>>1), left&1 == 1
	p.Fields = d.Bytes()
	return p
}

// A RowJoiner joins rows from their parts. The parts of one row must come in order. The zero value is ready to use.
type RowJoiner struct{ begun map[Edge]RowPart }

// Add adds a part. If the part is the last of its row, Add returns the row, and whole is true.
func (j *RowJoiner) Add(part RowPart) (row RowPart, whole bool, err error) {
	if begun, ok := j.begun[part.Order]; ok {
		if begun.Left != part.Left+len(part.Fields) {
			return part, false, ErrCorrupt
		}
		part.Fields = append(begun.Fields, part.Fields...)
		delete(j.begun, part.Order)
	} else if part.Left > 0 {
		part.Fields = bytes.Clone(part.Fields) // the following parts are appended to it
	}
	if part.Left == 0 {
		return part, true, nil
	}
	if j.begun == nil {
		j.begun = map[Edge]RowPart{}
	}
	j.begun[part.Order] = part
	return part, false, nil
}

// Close returns ErrCorrupt if parts of a row are missing.
func (j *RowJoiner) Close() error {
	if len(j.begun) > 0 {
		return ErrCorrupt
	}
	return nil
}

// appendFields appends the fields of a row.
func appendFields[R Row](dst []byte, row *R) []byte {
	f := fields{to: dst}
	f.row(row)
	return f.to
}

// DecodeFields fills row from the fields of a whole RowPart. It keeps a string of the row if the new value equals it,
// because consecutive rows mostly have the same sources.
func DecodeFields[R Row](d *Decoder, row *R) { (&fields{from: d}).row(row) }

// row reads or appends the fields of a row.
func (f *fields) row(row any) {
	switch r := row.(type) {
	case *records.Pair:
		text.each(f, &r.IDA, &r.IDB, &r.SourceA, &r.SourceB)
		number.each(f, &r.PositionA, &r.PositionB)
		float.each(f, &r.Similarity)
		size.each(f, &r.Shared, &r.SizeA, &r.SizeB)
		optionalText.each(f, &r.Same, &r.InA)
		floats.each(f, &r.Matches)
	case *records.Clustered:
		number.each(f, &r.Cluster, &r.Position)
		text.each(f, &r.ID, &r.Source)
		size.each(f, &r.Size, &r.Members)
		flag.each(f, &r.Kept)
		optionalText.each(f, &r.In)
		optionalFlag.each(f, &r.Partial)
	case *records.Removed:
		text.each(f, &r.ID, &r.Source, &r.KeptID, &r.KeptSource, &r.Reason)
		number.each(f, &r.Position, &r.Cluster, &r.KeptPosition)
		optionalFloat.each(f, &r.Similarity)
		optionalText.each(f, &r.KeptIn)
		texts.each(f, &r.Differs)
	case *records.Rejected:
		text.each(f, &r.Source, &r.Reason, &r.Detail)
		number.each(f, &r.Position)
		optionalText.each(f, &r.ID)
		optionalBytes.each(f, &r.Raw)
	case *records.Bucketed:
		size.each(f, &r.Band)
		text.each(f, &r.Bucket, &r.Label, &r.ID, &r.Source)
		number.each(f, &r.Position)
	case *records.Candidate:
		text.each(f, &r.IDA, &r.IDB, &r.SourceA, &r.SourceB)
		number.each(f, &r.PositionA, &r.PositionB)
	case *records.Found:
		text.each(f, &r.IDA, &r.IDB, &r.SourceA, &r.SourceB)
		number.each(f, &r.PositionA, &r.PositionB)
		float.each(f, &r.Similarity)
		size.each(f, &r.Shared, &r.SizeA, &r.SizeB)
		texts.each(f, &r.Methods)
	case *records.Passage:
		text.each(f, &r.ID, &r.Source, &r.FromID, &r.FromSource)
		number.each(f, &r.Position, &r.Start, &r.End, &r.Words, &r.FromPosition, &r.FromStart, &r.FromEnd)
	case *records.Coverage:
		text.each(f, &r.ID, &r.Source)
		number.each(f, &r.Position, &r.Words, &r.Repeated)
		float.each(f, &r.Share)
	case *records.Contaminated:
		text.each(f, &r.ID, &r.Source, &r.ItemID, &r.ItemSource)
		number.each(f, &r.Position, &r.ItemPosition, &r.Words, &r.ItemWords, &r.Start, &r.End, &r.ItemStart, &r.ItemEnd)
		float.each(f, &r.Share)
	case *records.Repeat:
		text.each(f, &r.Text, &r.ID, &r.Source)
		number.each(f, &r.Words, &r.Occurrences, &r.Documents, &r.Position, &r.Start, &r.End)
	case *records.Stored:
		text.each(f, &r.Name)
		copied.each(f, &r.Text)
	}
}

// ValidText returns s as tables hold it, with U+FFFD for each run of bytes that are not UTF-8.
func ValidText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// CountName returns the name of the run's count that the row adds to, or "" for none. own is the key of the row's own
// document.
func CountName[R Row](row *R, own Key) string {
	switch row := any(row).(type) {
	case *records.Pair:
		if row.Copy() {
			return CountCopies
		}
		return CountNear
	case *records.Clustered: // its first document counts the cluster
		if row.Cluster == int64(own) {
			return CountClusters
		}
	case *records.Removed: // by relation to the kept document
		switch {
		case row.Reason == records.ReasonIdentical:
			return CountIdentical
		case row.Reason == records.ReasonEqual:
			return CountEqual
		case row.Reason == records.ReasonSameSet:
			return CountSameSet
		case row.Similarity == nil:
			return CountChained
		default:
			return CountNear
		}
	case *records.Rejected: // by what happens to the record
		if row.Unreadable() {
			return CountUnreadable
		}
		return CountNotCompared + row.Reason
	}
	return ""
}
