package blocks

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
)

// The layouts in which processes share Inputs and Details. Numbers are little endian or, where noted, uvarints; a text
// is its length as a uvarint, then its bytes. Both layouts end with the CRC-32C of everything before it, in four bytes.
//
//	Inputs   "NDI3", text of the root; uvarints: shards, files n, preferences (0 or n), references, files with rows,
//	         files elsewhere, splits, pieces, bytes of names
//	         n × 8 bytes: end of the file in the listed bytes of all files
//	         n × 1 byte: flags (1: a document's id is its source, 2: spooled, 4: protected, 8: settled, 16: recalled)
//	         preferences: 4 bytes each
//	         files with rows, ascending: ordinals, 4 bytes each; numbers of rows, 8 bytes each
//	         splits, then pieces: their files' ordinals, 4 bytes each; their starts, 8 bytes each; the last one's end, 8
//	         files elsewhere, ascending: for each, its ordinal, 4 bytes, and text of the path
//	         names, front-coded: uvarints of the bytes shared with the last name and of the bytes that follow, and these.
//	         Every sixteenth name shares none
//	Details  "NDF1", uvarint files n
//	         n × 4 bytes: offset of the file's description in what follows
//	         descriptions: texts of format, version and facts. The facts are empty if the file was not inspected;
//	         otherwise texts of compression, encoding and detected encoding, uvarints of percent, window, positions and
//	         sequential (0 or 1), and text of the header
const (
	inputsMagic  = "NDI3"
	detailsMagic = "NDF1"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func seal(data []byte) []byte { return AppendUint32(data, crc32.Checksum(data, castagnoli)) }

// unseal returns a decoder for the bytes between data's magic and checksum.
func unseal(data []byte, magic, what string) (*Decoder, error) {
	end := len(data) - crc32.Size
	if end < len(magic) || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("the %s of the run are damaged or of another version of neardup: %w", what, ErrCorrupt)
	}
	if binary.LittleEndian.Uint32(data[end:]) != crc32.Checksum(data[:end], castagnoli) {
		return nil, fmt.Errorf("the %s of the run have a wrong checksum: %w", what, ErrCorrupt)
	}
	return NewDecoder(data[len(magic):end]), nil
}

// MarshalBinary encodes the inputs in the layout that processes share.
func (in *Inputs) MarshalBinary() ([]byte, error) {
	n := in.Len()
	data := make([]byte, 0, 64+len(in.Root)+n*13+12*(in.Splits.Len()+in.Pieces.Len())+len(in.names.data))
	data = AppendBytes(append(data, inputsMagic...), in.Root)
	for _, v := range []int{in.Shards, n, len(in.preferences), in.references, len(in.rows), len(in.elsewhere),
		in.Splits.Len(), in.Pieces.Len(), len(in.names.data)} {
		data = binary.AppendUvarint(data, uint64(v))
	}
	for _, column := range in.columns() {
		data, _ = binary.Append(data, binary.LittleEndian, column) // numbers of fixed size always encode
	}
	for _, file := range slices.Sorted(maps.Keys(in.elsewhere)) {
		data = AppendBytes(AppendUint32(data, uint32(file)), in.elsewhere[file])
	}
	return seal(append(data, in.names.data...)), nil
}

// columns returns the columns of numbers, in the order of the layout.
func (in *Inputs) columns() []any {
	return []any{
		in.ends, in.flags, in.preferences, in.rowFiles, in.rows,
		in.Splits.files, in.Splits.starts, &in.Splits.end, in.Pieces.files, in.Pieces.starts, &in.Pieces.end,
	}
}

// UnmarshalBinary decodes the output of MarshalBinary. For anything else it returns ErrCorrupt, after which no method
// may be called.
func (in *Inputs) UnmarshalBinary(data []byte) error {
	d, err := unseal(data, inputsMagic, "inputs")
	if err != nil {
		return err
	}
	return in.decode(d)
}

func (in *Inputs) decode(d *Decoder) error {
	*in = Inputs{Root: string(d.Bytes()), Shards: d.count(maxCount)}
	n := d.count(MaxFiles)
	preferences, references, rows, elsewhere := d.count(n), d.count(n), d.count(n), d.count(n)
	in.references = references
	splits, pieces, names := d.count(maxCount), d.count(maxCount), d.count(math.MaxInt)
	// Check the counts against the length before allocating.
	if d.Err() != nil || uint64(n)*9+uint64(preferences)*4+uint64(rows)*12+uint64(elsewhere)*5+uint64(splits+pieces)*12+16+
		uint64(names) > uint64(d.Left()) || in.Shards == 0 {
		return ErrCorrupt
	}
	in.ends, in.flags, in.preferences = make([]int64, n), make([]byte, n), make([]uint32, preferences)
	in.rowFiles, in.rows = make([]uint32, rows), make([]int64, rows)
	in.Splits, in.Pieces = newSpans(splits), newSpans(pieces)
	for _, column := range in.columns() {
		d.fill(column)
	}
	in.elsewhere = map[int]string{}
	for range elsewhere {
		in.elsewhere[int(d.Uint32())] = string(d.Bytes())
	}
	var ok bool
	if in.names, ok = decodeNames(n, slices.Clone(d.Fixed(names))); !ok || len(in.elsewhere) != elsewhere || !in.valid() {
		return ErrCorrupt
	}
	return d.end()
}

// valid reports whether the columns are consistent.
func (in *Inputs) valid() bool {
	n := in.Len()
	for i, end := range in.ends {
		if end < in.offset(i) || in.flags[i]&^flagsKnown != 0 {
			return false
		}
	}
	for i, file := range in.rowFiles {
		if int(file) >= n || in.rows[i] <= 0 || i > 0 && file <= in.rowFiles[i-1] {
			return false
		}
	}
	for file := range in.elsewhere {
		if file >= n {
			return false
		}
	}
	return (len(in.preferences) == 0 || len(in.preferences) == n) && in.Splits.valid(n) && in.Pieces.valid(n)
}

// maxCount is above the number of spans that files of the maximum size have.
const maxCount = math.MaxInt32

// count reads a number up to most.
func (d *Decoder) count(most int) int {
	n := d.Uvarint()
	if n > uint64(most) {
		d.fail()
		return 0
	}
	return int(n)
}

// end returns ErrCorrupt if a value was corrupt or data is left.
func (d *Decoder) end() error {
	if !d.Done() {
		d.fail()
	}
	return d.Err()
}

// fill reads numbers of fixed size: a slice, or a pointer to one of them.
func (d *Decoder) fill(numbers any) {
	if data := d.Fixed(binary.Size(numbers)); data != nil {
		_, _ = binary.Decode(data, binary.LittleEndian, numbers) // which is as long
	}
}

func newSpans(n int) Spans { return Spans{files: make([]uint32, n), starts: make([]int64, n)} }

// valid reports whether spans are of files with ordinals below files, and in order.
func (s *Spans) valid(files int) bool {
	for i, file := range s.files {
		if int(file) >= files || s.starts[i] < 0 ||
			i > 0 && (file < s.files[i-1] || file == s.files[i-1] && s.starts[i] <= s.starts[i-1]) {
			return false
		}
	}
	return len(s.files) == 0 || s.end > s.starts[len(s.starts)-1]
}

// MarshalBinary encodes the details, including what Keep added, in the layout that processes share.
func (d *Details) MarshalBinary() ([]byte, error) {
	d = d.withKept()
	data := binary.AppendUvarint([]byte(detailsMagic), uint64(len(d.starts)))
	data, _ = binary.Append(data, binary.LittleEndian, d.starts)
	return seal(append(data, d.data...)), nil
}

// UnmarshalBinary decodes the output of MarshalBinary. It keeps data. For anything else it returns ErrCorrupt, after
// which no method may be called.
func (d *Details) UnmarshalBinary(data []byte) error {
	held, err := unseal(data, detailsMagic, "details of inputs")
	if err != nil {
		return err
	}
	return d.decode(held)
}

func (d *Details) decode(held *Decoder) error {
	n := held.count(DetailsFiles)
	if held.Err() != nil || n*4 > held.Left() {
		return ErrCorrupt
	}
	d.starts = make([]uint32, n)
	held.fill(d.starts)
	d.data = held.Fixed(held.Left())
	record := NewDecoder(d.data)
	for _, start := range d.starts {
		if int(start) != len(d.data)-record.Left() {
			return ErrCorrupt
		}
		record.Bytes()
		record.Bytes()
		if facts := record.Bytes(); len(facts) > 0 && decodeFacts(facts, &File{}) != nil {
			return ErrCorrupt
		}
	}
	return record.end()
}
