package blocks

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

// The layouts in which processes share Inputs and Details. Numbers are little endian or, where noted, uvarints; a text
// is its length as a uvarint, then its bytes. Both layouts end with the CRC-32C of everything before it, in four bytes.
//
//	Inputs   "NDI2", text of the root; uvarints: shards, files n, preferences (0 or n), references, files with rows,
//	         files elsewhere, splits, pieces, bytes of names
//	         n × 8 bytes: end of the file in the listed bytes of all files
//	         n × 1 byte: flags (1: a document's id is its source, 2: spooled, 4: protected, 8: settled, 16: recalled)
//	         preferences: 4 bytes each
//	         files with rows, ascending: ordinal, 4 bytes; number of rows, 8
//	         files elsewhere, ascending: ordinal, 4 bytes; text of the path
//	         splits, then pieces: for each, its file's ordinal, 4 bytes, and its start, 8; then the last one's end, 8
//	         names, front-coded: uvarints of the bytes shared with the last name and of the bytes that follow, and these.
//	         Every sixteenth name shares none
//	Details  "NDF1", uvarint files n
//	         n × 4 bytes: offset of the file's description in what follows
//	         descriptions: texts of format, version and facts. The facts are empty if the file was not inspected;
//	         otherwise texts of compression, encoding and detected encoding, uvarints of percent, window, positions and
//	         sequential (0 or 1), and text of the header
const (
	inputsMagic  = "NDI2"
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
	for _, end := range in.ends {
		data = AppendUint64(data, uint64(end))
	}
	data = append(data, in.flags...)
	for _, p := range in.preferences {
		data = AppendUint32(data, p)
	}
	for i, file := range in.rowFiles {
		data = AppendUint64(AppendUint32(data, file), uint64(in.rows[i]))
	}
	files := make([]int, 0, len(in.elsewhere))
	for file := range in.elsewhere {
		files = append(files, file)
	}
	slices.Sort(files)
	for _, file := range files {
		data = AppendBytes(AppendUint32(data, uint32(file)), in.elsewhere[file])
	}
	data = in.Pieces.appendTo(in.Splits.appendTo(data))
	return seal(append(data, in.names.data...)), nil
}

// UnmarshalBinary decodes the output of MarshalBinary. It keeps data. For anything else it returns ErrCorrupt, after
// which no method may be called.
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
	in.ends = make([]int64, n)
	last := int64(0)
	for i := range in.ends {
		if in.ends[i] = int64(d.Uint64()); in.ends[i] < last {
			return ErrCorrupt
		}
		last = in.ends[i]
	}
	in.flags = slices.Clone(d.Fixed(n)) // a copy, since flags may change
	for _, flags := range in.flags {
		if flags&^flagsKnown != 0 {
			return ErrCorrupt
		}
	}
	if preferences > 0 {
		in.preferences = make([]uint32, preferences)
		for i := range in.preferences {
			in.preferences[i] = d.Uint32()
		}
		if preferences != n {
			return ErrCorrupt
		}
	}
	before := -1
	number := func() (file int, ok bool) { // of a file after the one before
		file = int(d.Uint32())
		ok = file > before && file < n
		before = file
		return file, ok
	}
	for range rows {
		file, ok := number()
		positions := int64(d.Uint64())
		if !ok || positions <= 0 {
			return ErrCorrupt
		}
		in.rowFiles, in.rows = append(in.rowFiles, uint32(file)), append(in.rows, positions)
	}
	before = -1
	if elsewhere > 0 {
		in.elsewhere = map[int]string{}
	}
	for range elsewhere {
		file, ok := number()
		if !ok {
			return ErrCorrupt
		}
		in.elsewhere[file] = string(d.Bytes())
	}
	if !in.Splits.decode(d, splits, n) || !in.Pieces.decode(d, pieces, n) {
		return ErrCorrupt
	}
	var ok bool
	if in.names, ok = decodeNames(n, slices.Clone(d.Fixed(names))); !ok {
		return ErrCorrupt
	}
	return d.end()
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

func (s *Spans) appendTo(data []byte) []byte {
	for i, file := range s.files {
		data = AppendUint64(AppendUint32(data, file), uint64(s.starts[i]))
	}
	return AppendUint64(data, uint64(s.end))
}

// decode reads n spans of files with ordinals below files, and reports whether they are valid and in order.
func (s *Spans) decode(d *Decoder, n, files int) bool {
	*s = Spans{files: make([]uint32, n), starts: make([]int64, n)}
	for i := range n {
		s.files[i], s.starts[i] = d.Uint32(), int64(d.Uint64())
		if int(s.files[i]) >= files || s.starts[i] < 0 {
			return false
		}
		if i > 0 && (s.files[i] < s.files[i-1] || s.files[i] == s.files[i-1] && s.starts[i] <= s.starts[i-1]) {
			return false
		}
	}
	s.end = int64(d.Uint64())
	return d.Err() == nil && (n == 0 || s.end > s.starts[n-1])
}

// MarshalBinary encodes the details, including what Keep added, in the layout that processes share.
func (d *Details) MarshalBinary() ([]byte, error) {
	d = d.withKept()
	data := binary.AppendUvarint([]byte(detailsMagic), uint64(len(d.starts)))
	for _, start := range d.starts {
		data = AppendUint32(data, start)
	}
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
	for i := range d.starts {
		d.starts[i] = held.Uint32()
	}
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
