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

func appendFields[R Row](dst []byte, row *R) []byte {
	switch row := any(row).(type) {
	case *records.Pair:
		return appendPair(dst, row)
	case *records.Clustered:
		return appendClustered(dst, row)
	case *records.Removed:
		return appendRemoved(dst, row)
	case *records.Rejected:
		return appendRejected(dst, row)
	case *records.Bucketed:
		return appendBucketed(dst, row)
	case *records.Candidate:
		return appendCandidate(dst, row)
	case *records.Found:
		return appendFound(dst, row)
	case *records.Passage:
		return appendPassage(dst, row)
	case *records.Coverage:
		return appendCoverage(dst, row)
	case *records.Contaminated:
		return appendContaminated(dst, row)
	case *records.Repeat:
		return appendRepeat(dst, row)
	case *records.Stored:
		return AppendBytes(appendText(dst, row.Name), row.Text)
	}
	return dst // unreachable
}

// DecodeFields fills row from the fields of a whole RowPart. It keeps a string of the row if the new value equals it,
// because consecutive rows mostly have the same sources.
func DecodeFields[R Row](d *Decoder, row *R) {
	switch row := any(row).(type) {
	case *records.Pair:
		decodePair(d, row)
	case *records.Clustered:
		decodeClustered(d, row)
	case *records.Removed:
		decodeRemoved(d, row)
	case *records.Rejected:
		decodeRejected(d, row)
	case *records.Bucketed:
		decodeBucketed(d, row)
	case *records.Candidate:
		decodeCandidate(d, row)
	case *records.Found:
		decodeFound(d, row)
	case *records.Passage:
		decodePassage(d, row)
	case *records.Coverage:
		decodeCoverage(d, row)
	case *records.Contaminated:
		decodeContaminated(d, row)
	case *records.Repeat:
		decodeRepeat(d, row)
	case *records.Stored:
		*row = records.Stored{Name: d.text(row.Name), Text: bytes.Clone(d.Bytes())}
	}
}

func appendPair(dst []byte, p *records.Pair) []byte {
	dst = appendText(appendText(dst, p.IDA), p.IDB)
	dst = appendText(appendText(dst, p.SourceA), p.SourceB)
	dst = AppendUint64(AppendUint64(dst, uint64(p.PositionA)), uint64(p.PositionB))
	dst = appendOptionalText(AppendFloat64(dst, p.Similarity), p.Same)
	dst = AppendUint32(dst, uint32(p.Shared))
	dst = AppendUint32(AppendUint32(dst, uint32(p.SizeA)), uint32(p.SizeB))
	return appendList(appendOptionalText(dst, p.InA), p.Matches, AppendFloat64)
}

func decodePair(d *Decoder, p *records.Pair) {
	*p = records.Pair{
		IDA: d.text(p.IDA), IDB: d.text(p.IDB),
		SourceA: d.text(p.SourceA), SourceB: d.text(p.SourceB),
		PositionA: int64(d.Uint64()), PositionB: int64(d.Uint64()),
		Similarity: d.Float64(), Same: d.optionalText(p.Same),
		Shared: int32(d.Uint32()), SizeA: int32(d.Uint32()), SizeB: int32(d.Uint32()),
		InA: d.optionalText(p.InA), Matches: list(d, d.Float64),
	}
}

func appendClustered(dst []byte, c *records.Clustered) []byte {
	dst = AppendUint64(dst, uint64(c.Cluster))
	dst = appendText(appendText(dst, c.ID), c.Source)
	dst = AppendUint64(dst, uint64(c.Position))
	dst = AppendUint32(AppendUint32(dst, uint32(c.Size)), uint32(c.Members))
	dst = appendOptionalText(appendBool(dst, c.Kept), c.In)
	if dst = appendBool(dst, c.Partial != nil); c.Partial != nil {
		dst = appendBool(dst, *c.Partial)
	}
	return dst
}

func decodeClustered(d *Decoder, c *records.Clustered) {
	*c = records.Clustered{
		Cluster: int64(d.Uint64()),
		ID:      d.text(c.ID), Source: d.text(c.Source), Position: int64(d.Uint64()),
		Size: int32(d.Uint32()), Members: int32(d.Uint32()), Kept: d.bool(),
		In: d.optionalText(c.In),
	}
	if d.bool() {
		c.Partial = new(d.bool())
	}
}

func appendRemoved(dst []byte, r *records.Removed) []byte {
	dst = appendText(appendText(dst, r.ID), r.Source)
	dst = AppendUint64(AppendUint64(dst, uint64(r.Position)), uint64(r.Cluster))
	dst = appendText(appendText(dst, r.KeptID), r.KeptSource)
	dst = AppendUint64(dst, uint64(r.KeptPosition))
	dst = appendBool(dst, r.Similarity != nil)
	if r.Similarity != nil {
		dst = AppendFloat64(dst, *r.Similarity)
	}
	return appendList(appendOptionalText(appendText(dst, r.Reason), r.KeptIn), r.Differs, appendText)
}

func decodeRemoved(d *Decoder, r *records.Removed) {
	before := *r
	*r = records.Removed{
		ID: d.text(r.ID), Source: d.text(r.Source),
		Position: int64(d.Uint64()), Cluster: int64(d.Uint64()),
		KeptID: d.text(r.KeptID), KeptSource: d.text(r.KeptSource), KeptPosition: int64(d.Uint64()),
	}
	if d.bool() {
		r.Similarity = new(d.Float64())
	}
	r.Reason, r.KeptIn = d.text(before.Reason), d.optionalText(before.KeptIn)
	r.Differs = list(d, func() string { return d.text("") })
}

func appendRejected(dst []byte, r *records.Rejected) []byte {
	dst = AppendUint64(appendText(dst, r.Source), uint64(r.Position))
	dst = appendText(appendText(appendOptionalText(dst, r.ID), r.Reason), r.Detail)
	if r.Raw == nil {
		return AppendOptional(dst, nil, false)
	}
	return AppendOptional(dst, *r.Raw, true)
}

func decodeRejected(d *Decoder, r *records.Rejected) {
	before := *r
	*r = records.Rejected{Source: d.text(before.Source), Position: int64(d.Uint64()), ID: d.optionalText(before.ID)}
	r.Reason, r.Detail = d.text(before.Reason), d.text(before.Detail)
	if raw, ok := d.Optional(); ok {
		r.Raw = new(append([]byte{}, raw...))
	}
}

func appendBucketed(dst []byte, b *records.Bucketed) []byte {
	dst = AppendUint32(dst, uint32(b.Band))
	dst = appendText(appendText(dst, b.Bucket), b.Label)
	return AppendUint64(appendText(appendText(dst, b.ID), b.Source), uint64(b.Position))
}

func decodeBucketed(d *Decoder, b *records.Bucketed) {
	*b = records.Bucketed{
		Band: int32(d.Uint32()), Bucket: d.text(b.Bucket), Label: d.text(b.Label),
		ID: d.text(b.ID), Source: d.text(b.Source), Position: int64(d.Uint64()),
	}
}

func appendCandidate(dst []byte, c *records.Candidate) []byte {
	dst = appendText(appendText(dst, c.IDA), c.IDB)
	dst = appendText(appendText(dst, c.SourceA), c.SourceB)
	return AppendUint64(AppendUint64(dst, uint64(c.PositionA)), uint64(c.PositionB))
}

func decodeCandidate(d *Decoder, c *records.Candidate) {
	*c = records.Candidate{
		IDA: d.text(c.IDA), IDB: d.text(c.IDB),
		SourceA: d.text(c.SourceA), SourceB: d.text(c.SourceB),
		PositionA: int64(d.Uint64()), PositionB: int64(d.Uint64()),
	}
}

func appendFound(dst []byte, c *records.Found) []byte {
	dst = appendText(appendText(dst, c.IDA), c.IDB)
	dst = appendText(appendText(dst, c.SourceA), c.SourceB)
	dst = AppendUint64(AppendUint64(dst, uint64(c.PositionA)), uint64(c.PositionB))
	dst = AppendUint32(AppendFloat64(dst, c.Similarity), uint32(c.Shared))
	dst = AppendUint32(AppendUint32(dst, uint32(c.SizeA)), uint32(c.SizeB))
	return appendList(dst, c.Methods, appendText)
}

func decodeFound(d *Decoder, c *records.Found) {
	*c = records.Found{
		IDA: d.text(c.IDA), IDB: d.text(c.IDB),
		SourceA: d.text(c.SourceA), SourceB: d.text(c.SourceB),
		PositionA: int64(d.Uint64()), PositionB: int64(d.Uint64()),
		Similarity: d.Float64(),
		Shared:     int32(d.Uint32()), SizeA: int32(d.Uint32()), SizeB: int32(d.Uint32()),
		Methods: list(d, func() string { return d.text("") }),
	}
}

func appendPassage(dst []byte, p *records.Passage) []byte {
	dst = appendText(appendText(dst, p.ID), p.Source)
	for _, n := range []int64{p.Position, p.Start, p.End, p.Words} {
		dst = AppendUint64(dst, uint64(n))
	}
	dst = appendText(appendText(dst, p.FromID), p.FromSource)
	for _, n := range []int64{p.FromPosition, p.FromStart, p.FromEnd} {
		dst = AppendUint64(dst, uint64(n))
	}
	return dst
}

func decodePassage(d *Decoder, p *records.Passage) {
	n := func() int64 { return int64(d.Uint64()) }
	*p = records.Passage{
		ID: d.text(p.ID), Source: d.text(p.Source), Position: n(), Start: n(), End: n(), Words: n(),
		FromID: d.text(p.FromID), FromSource: d.text(p.FromSource), FromPosition: n(), FromStart: n(), FromEnd: n(),
	}
}

func appendCoverage(dst []byte, c *records.Coverage) []byte {
	dst = AppendUint64(appendText(appendText(dst, c.ID), c.Source), uint64(c.Position))
	return AppendFloat64(AppendUint64(AppendUint64(dst, uint64(c.Words)), uint64(c.Repeated)), c.Share)
}

func decodeCoverage(d *Decoder, c *records.Coverage) {
	*c = records.Coverage{
		ID: d.text(c.ID), Source: d.text(c.Source), Position: int64(d.Uint64()),
		Words: int64(d.Uint64()), Repeated: int64(d.Uint64()), Share: d.Float64(),
	}
}

func appendContaminated(dst []byte, c *records.Contaminated) []byte {
	dst = AppendUint64(appendText(appendText(dst, c.ID), c.Source), uint64(c.Position))
	dst = AppendUint64(appendText(appendText(dst, c.ItemID), c.ItemSource), uint64(c.ItemPosition))
	for _, n := range []int64{c.Words, c.ItemWords, c.Start, c.End, c.ItemStart, c.ItemEnd} {
		dst = AppendUint64(dst, uint64(n))
	}
	return AppendFloat64(dst, c.Share)
}

func decodeContaminated(d *Decoder, c *records.Contaminated) {
	n := func() int64 { return int64(d.Uint64()) }
	*c = records.Contaminated{
		ID: d.text(c.ID), Source: d.text(c.Source), Position: n(),
		ItemID: d.text(c.ItemID), ItemSource: d.text(c.ItemSource), ItemPosition: n(),
		Words: n(), ItemWords: n(), Start: n(), End: n(), ItemStart: n(), ItemEnd: n(), Share: d.Float64(),
	}
}

func appendRepeat(dst []byte, r *records.Repeat) []byte {
	dst = appendText(dst, r.Text)
	for _, n := range []int64{r.Words, r.Occurrences, r.Documents} {
		dst = AppendUint64(dst, uint64(n))
	}
	dst = appendText(appendText(dst, r.ID), r.Source)
	return AppendUint64(AppendUint64(AppendUint64(dst, uint64(r.Position)), uint64(r.Start)), uint64(r.End))
}

func decodeRepeat(d *Decoder, r *records.Repeat) {
	n := func() int64 { return int64(d.Uint64()) }
	*r = records.Repeat{
		Text: d.text(r.Text), Words: n(), Occurrences: n(), Documents: n(),
		ID: d.text(r.ID), Source: d.text(r.Source), Position: n(), Start: n(), End: n(),
	}
}

// appendText appends a string column. Parquet requires valid UTF-8, which ids and file names need not be.
func appendText(dst []byte, s string) []byte { return AppendBytes(dst, ValidText(s)) }

// text reads a string column, and returns before if the value equals it.
func (d *Decoder) text(before string) string {
	if text := d.Bytes(); string(text) != before {
		return string(text)
	}
	return before
}

// appendOptionalText appends a string column that may be null.
func appendOptionalText(dst []byte, s *string) []byte {
	if s == nil {
		return AppendOptional(dst, nil, false)
	}
	return AppendOptional(dst, []byte(ValidText(*s)), true)
}

// optionalText reads a string column that may be null, and returns before if the value equals it.
func (d *Decoder) optionalText(before *string) *string {
	text, ok := d.Optional()
	switch {
	case !ok:
		return nil
	case before != nil && *before == string(text):
		return before
	}
	return new(string(text))
}

// appendList appends a list column; a nil slice is null.
func appendList[V any](dst []byte, values []V, one func([]byte, V) []byte) []byte {
	if values == nil {
		return binary.AppendUvarint(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(values))+1)
	for _, v := range values {
		dst = one(dst, v)
	}
	return dst
}

// list reads what appendList wrote.
func list[V any](d *Decoder, one func() V) []V {
	n := d.Uvarint()
	if n == 0 {
		return nil
	}
	values := []V{}
	for ; n > 1 && d.Err() == nil; n-- {
		values = append(values, one())
	}
	return values
}

// ValidText returns s as tables hold it, with U+FFFD for each run of bytes that are not UTF-8.
func ValidText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func (d *Decoder) bool() bool {
	b := d.Fixed(1)
	return b != nil && b[0] != 0
}

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
