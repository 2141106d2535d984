package blocks

import (
	"encoding/binary"
	"sync"
)

// DetailsFiles is the number of files that one Details describes: file i is in Details i / DetailsFiles.
const DetailsFiles = 4096

// keptBytes is the maximum size of the inspection results that one Details keeps.
const keptBytes = 256 << 10

// Details holds what a step needs to open the files of a range, beyond what Inputs has: format, version and, for an
// inspected file, the facts found. All methods but Add are safe for concurrent use.
type Details struct {
	starts []uint32 // offsets of the files in data
	data   []byte

	mu    sync.Mutex
	kept  []uint16          // per file, index into found plus 1; 0: unknown
	found []string          // facts of files
	known map[string]uint16 // index of found plus 1
	bytes int
}

// Full reports whether the next file belongs to the next Details.
func (d *Details) Full() bool { return len(d.starts) == DetailsFiles }

// Add appends a file.
func (d *Details) Add(f *File, inspected bool) {
	var facts []byte
	if inspected {
		facts = appendFacts(nil, f)
	}
	d.add([]byte(f.Format), []byte(f.Version), facts)
}

func (d *Details) add(format, version, facts []byte) {
	d.starts = append(d.starts, uint32(len(d.data)))
	d.data = AppendBytes(AppendBytes(AppendBytes(d.data, format), version), facts)
}

// withKept returns a copy of d that also describes what d keeps.
func (d *Details) withKept() *Details {
	all := &Details{}
	for i, start := range d.starts {
		record := NewDecoder(d.data[start:])
		format, version, facts := record.Bytes(), record.Bytes(), record.Bytes()
		if len(facts) == 0 {
			facts = d.keptOf(i)
		}
		all.add(format, version, facts)
	}
	return all
}

// Complete sets the fields of f that Details describes; f has those of Inputs already. It reports whether the file was
// inspected: if not, the caller must do so.
func (d *Details) Complete(file int, f *File) (inspected bool, err error) {
	i := file % DetailsFiles
	if i >= len(d.starts) {
		return false, ErrCorrupt
	}
	record := NewDecoder(d.data[d.starts[i]:])
	f.Format, f.Version = string(record.Bytes()), string(record.Bytes())
	facts := record.Bytes()
	if err := record.Err(); err != nil {
		return false, err
	}
	if len(facts) == 0 {
		facts = d.keptOf(i)
	}
	if len(facts) == 0 {
		return false, nil
	}
	return true, decodeFacts(facts, f)
}

func (d *Details) keptOf(i int) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept == nil || d.kept[i] == 0 {
		return nil
	}
	return []byte(d.found[d.kept[i]-1])
}

// Keep remembers what an inspection found about a file, within keptBytes. Most files share their facts with others.
func (d *Details) Keep(file int, f *File) {
	facts := appendFacts(nil, f)
	d.mu.Lock()
	defer d.mu.Unlock()
	number, ok := d.known[string(facts)]
	if !ok {
		if d.bytes += len(facts); d.bytes > keptBytes {
			return
		}
		if d.known == nil {
			d.known = map[string]uint16{}
		}
		d.found = append(d.found, string(facts))
		number = uint16(len(d.found))
		d.known[d.found[number-1]] = number
	}
	if d.kept == nil {
		d.kept = make([]uint16, len(d.starts))
	}
	d.kept[file%DetailsFiles] = number
}

// appendFacts appends what an inspection found, which is never empty.
func appendFacts(dst []byte, f *File) []byte {
	sequential := uint64(0)
	if f.Sequential {
		sequential = 1
	}
	dst = AppendBytes(AppendBytes(AppendBytes(dst, f.Compression), f.Encoding), f.Detected)
	for _, v := range []uint64{uint64(f.Percent), uint64(f.Window), uint64(f.Positions), sequential} {
		dst = binary.AppendUvarint(dst, v)
	}
	return AppendBytes(dst, f.Header)
}

func decodeFacts(facts []byte, f *File) error {
	d := NewDecoder(facts)
	f.Compression, f.Encoding, f.Detected = string(d.Bytes()), string(d.Bytes()), string(d.Bytes())
	f.Percent = int(d.Uvarint())
	f.Window, f.Positions, f.Sequential = int64(d.Uvarint()), int64(d.Uvarint()), d.Uvarint() == 1
	f.Header = nil
	if header := d.Bytes(); len(header) > 0 {
		f.Header = header
	}
	return d.end()
}
