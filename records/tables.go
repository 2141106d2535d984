package records

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"strings"
)

// The rows of the output tables. Names and types are a contract: docs/formats.md.

// Pair is a row of pairs/: two documents that are at least threshold similar, a before b in
// input order. Copies are linked to their representative only, near pairs run between
// representatives.
type Pair struct {
	IDA        string  `parquet:"id_a"`
	IDB        string  `parquet:"id_b"`
	SourceA    string  `parquet:"source_a,dict"`
	SourceB    string  `parquet:"source_b,dict"`
	PositionA  int64   `parquet:"position_a"`
	PositionB  int64   `parquet:"position_b"`
	Similarity float64 `parquet:"similarity"`
	Shared     int32   `parquet:"shared"`
	SizeA      int32   `parquet:"size_a"`
	SizeB      int32   `parquet:"size_b"`
}

// Clustered is a row of clusters/: one document of a cluster of two or more.
type Clustered struct {
	Cluster  int64  `parquet:"cluster"`
	ID       string `parquet:"id"`
	Source   string `parquet:"source,dict"`
	Position int64  `parquet:"position"`
	Size     int32  `parquet:"size"`
	Members  int32  `parquet:"members"`
	Kept     bool   `parquet:"kept"`
}

// Why a document was removed.
const (
	ReasonCopy = "copy" // same shingle set as the kept document
	ReasonNear = "near" // at least threshold similar to the kept document, or linked to it by pairs
)

// Removed is a row of removed/: one document that is not in corpus/, and the kept one.
type Removed struct {
	ID           string   `parquet:"id"`
	Source       string   `parquet:"source,dict"`
	Position     int64    `parquet:"position"`
	Cluster      int64    `parquet:"cluster"`
	KeptID       string   `parquet:"kept_id"`
	KeptSource   string   `parquet:"kept_source,dict"`
	KeptPosition int64    `parquet:"kept_position"`
	Similarity   *float64 `parquet:"similarity,optional"`
	Reason       string   `parquet:"reason,dict"`
}

// Rejected is a row of rejected/: a record that is unreadable (Raw is set; it is not in
// corpus/) or a document that was not compared (it stays in corpus/).
type Rejected struct {
	Source   string  `parquet:"source,dict"`
	Position int64   `parquet:"position"`
	ID       *string `parquet:"id,optional"`
	Reason   string  `parquet:"reason,dict"`
	Detail   string  `parquet:"detail"`
	Raw      []byte  `parquet:"raw,optional"`
}

// MaxRaw is how much of an unreadable record Rejected.Raw holds.
const MaxRaw = 1 << 20

// Reasons why a document is not compared.
const (
	ReasonNoText   = "no text"
	ReasonNoToken  = "no token"
	ReasonTooShort = "too few words"
	ReasonTooLarge = "too large"
)

// Unreadable reports whether the row stands for a record that is not in corpus/.
func (r *Rejected) Unreadable() bool { return r.Raw != nil }

// Row is a table row as it travels: a sort key of two document keys (the row's own document,
// then b of a pair or the row's document again) before its fields.
type Row interface {
	appendFields(dst []byte) []byte
}

// RowPart is a row or, of a large one, a part of its fields.
type RowPart struct {
	RowPlace
	Fields []byte
}

// RowPlace is where a part stands among those of a table.
type RowPlace struct {
	Order Edge // the row's sort key
	Left  int  // bytes of the row's fields that follow in other parts
}

// Compare orders the parts of a table by row, and those of a row as they follow one another.
func (p RowPlace) Compare(o RowPlace) int {
	if p.Order != o.Order {
		return p.Order.Compare(o.Order)
	}
	return cmp.Compare(o.Left, p.Left)
}

// rowPart is the size above which the fields of a row travel in parts.
const rowPart = 512 << 10

// NewRow returns a row in one part, whose fields are appended to an empty slice.
func NewRow(fields []byte, own, second Key, row Row) RowPart {
	return RowPart{RowPlace{Order: Edge{A: own, B: second}}, row.appendFields(fields)}
}

// AddRow adds a row to a shard's block, a large one in parts.
func AddRow(b *Buffers, shard int64, own, second Key, row Row, emit func(int64, []byte)) {
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
	}
}

// Append appends the part to a block.
func (p RowPart) Append(block []byte) []byte {
	block = binary.AppendUvarint(AppendEdge(block, p.Order), uint64(p.Left))
	return AppendBytes(block, p.Fields)
}

// RowPart reads what Append wrote; its bytes share memory with the block.
func (d *Decoder) RowPart() RowPart {
	return RowPart{RowPlace{Order: Edge{A: d.Key(), B: d.Key()}, Left: int(d.Uvarint())}, d.Bytes()}
}

// A RowJoiner makes rows of their parts, of which those of one row come in order. The zero value
// is ready.
type RowJoiner struct{ begun map[Edge]RowPart }

// Add returns the row that the part is the last of, if it is.
func (j *RowJoiner) Add(part RowPart) (row RowPart, whole bool, err error) {
	if begun, ok := j.begun[part.Order]; ok {
		if begun.Left != part.Left+len(part.Fields) {
			return part, false, ErrCorrupt
		}
		part.Fields = append(begun.Fields, part.Fields...)
		delete(j.begun, part.Order)
	} else if part.Left > 0 {
		part.Fields = bytes.Clone(part.Fields) // the parts to come are appended
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

// Close fails if a row lacks parts.
func (j *RowJoiner) Close() error {
	if len(j.begun) > 0 {
		return ErrCorrupt
	}
	return nil
}

func (p *Pair) appendFields(dst []byte) []byte {
	dst = appendText(appendText(dst, p.IDA), p.IDB)
	dst = appendText(appendText(dst, p.SourceA), p.SourceB)
	dst = AppendUint64(AppendUint64(dst, uint64(p.PositionA)), uint64(p.PositionB))
	dst = AppendFloat64(dst, p.Similarity)
	dst = AppendUint32(dst, uint32(p.Shared))
	return AppendUint32(AppendUint32(dst, uint32(p.SizeA)), uint32(p.SizeB))
}

// DecodeFields fills the row from what a RowPart has of its fields.
func (p *Pair) DecodeFields(d *Decoder) {
	*p = Pair{
		IDA: string(d.Bytes()), IDB: string(d.Bytes()),
		SourceA: string(d.Bytes()), SourceB: string(d.Bytes()),
		PositionA: int64(d.Uint64()), PositionB: int64(d.Uint64()),
		Similarity: d.Float64(),
		Shared:     int32(d.Uint32()), SizeA: int32(d.Uint32()), SizeB: int32(d.Uint32()),
	}
}

func (c *Clustered) appendFields(dst []byte) []byte {
	dst = AppendUint64(dst, uint64(c.Cluster))
	dst = appendText(appendText(dst, c.ID), c.Source)
	dst = AppendUint64(dst, uint64(c.Position))
	dst = AppendUint32(AppendUint32(dst, uint32(c.Size)), uint32(c.Members))
	return appendBool(dst, c.Kept)
}

// DecodeFields fills the row from what a RowPart has of its fields.
func (c *Clustered) DecodeFields(d *Decoder) {
	*c = Clustered{
		Cluster: int64(d.Uint64()),
		ID:      string(d.Bytes()), Source: string(d.Bytes()), Position: int64(d.Uint64()),
		Size: int32(d.Uint32()), Members: int32(d.Uint32()), Kept: d.bool(),
	}
}

func (r *Removed) appendFields(dst []byte) []byte {
	dst = appendText(appendText(dst, r.ID), r.Source)
	dst = AppendUint64(AppendUint64(dst, uint64(r.Position)), uint64(r.Cluster))
	dst = appendText(appendText(dst, r.KeptID), r.KeptSource)
	dst = AppendUint64(dst, uint64(r.KeptPosition))
	dst = appendBool(dst, r.Similarity != nil)
	if r.Similarity != nil {
		dst = AppendFloat64(dst, *r.Similarity)
	}
	return appendText(dst, r.Reason)
}

// DecodeFields fills the row from what a RowPart has of its fields.
func (r *Removed) DecodeFields(d *Decoder) {
	*r = Removed{
		ID: string(d.Bytes()), Source: string(d.Bytes()),
		Position: int64(d.Uint64()), Cluster: int64(d.Uint64()),
		KeptID: string(d.Bytes()), KeptSource: string(d.Bytes()), KeptPosition: int64(d.Uint64()),
	}
	if d.bool() {
		similarity := d.Float64()
		r.Similarity = &similarity
	}
	r.Reason = string(d.Bytes())
}

func (r *Rejected) appendFields(dst []byte) []byte {
	dst = AppendUint64(appendText(dst, r.Source), uint64(r.Position))
	if r.ID == nil {
		dst = AppendOptional(dst, nil, false)
	} else {
		dst = AppendOptional(dst, []byte(validText(*r.ID)), true)
	}
	dst = appendText(appendText(dst, r.Reason), r.Detail)
	return AppendOptional(dst, r.Raw, r.Raw != nil)
}

// DecodeFields fills the row from what a RowPart has of its fields.
func (r *Rejected) DecodeFields(d *Decoder) {
	*r = Rejected{Source: string(d.Bytes()), Position: int64(d.Uint64())}
	if id, ok := d.Optional(); ok {
		text := string(id)
		r.ID = &text
	}
	r.Reason, r.Detail = string(d.Bytes()), string(d.Bytes())
	if raw, ok := d.Optional(); ok {
		r.Raw = append([]byte{}, raw...)
	}
}

// appendText appends a string column, which Parquet requires to be UTF-8: user ids and file
// names need not be.
func appendText(dst []byte, s string) []byte { return AppendBytes(dst, validText(s)) }

func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

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

// Tally names the count of a run that the row belongs to, "" for none. own is the key of the
// row's own document.
func (p *Pair) Tally(Key) string {
	if p.Similarity == 1 { // equal sets: between representatives there are none
		return CountCopies
	}
	return CountNear
}

// Tally counts each cluster once, with its first document.
func (c *Clustered) Tally(own Key) string {
	if c.Cluster == int64(own) {
		return CountClusters
	}
	return ""
}

// Tally counts removed documents by what the kept one is to them.
func (r *Removed) Tally(Key) string {
	switch {
	case r.Reason == ReasonCopy:
		return CountCopies
	case r.Similarity == nil:
		return CountChained
	default:
		return CountNear
	}
}

// Tally counts rejected rows by what becomes of the record.
func (r *Rejected) Tally(Key) string {
	if r.Unreadable() {
		return CountUnreadable
	}
	return CountNotCompared
}
