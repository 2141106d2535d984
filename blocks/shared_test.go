package blocks

import (
	"errors"
	"testing"
)

// whole returns the bytes between the magic and the checksum.
func whole(t testing.TB, data []byte, err error, magic string) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return data[len(magic) : len(data)-4]
}

// FuzzInputs: accepted inputs can be looked up, and are encoded as they were read.
func FuzzInputs(f *testing.F) {
	in := &Inputs{Root: "/r", Shards: 2}
	f.Add([]byte{})
	for i, source := range []string{"a", "ab/c", "b"} {
		in.Add(&File{Source: source, Path: "/r/" + source, Size: 9, Positions: int64(i)}, []int64{3}, nil)
		data, err := in.MarshalBinary()
		f.Add(whole(f, data, err, inputsMagic))
	}
	in.Add(&File{Source: "stdin", Path: "/t", IDIsSource: true}, nil, []int64{1})
	in.Prefer(func(source string) int { return len(source) })
	in.Protect(func(source string) bool { return len(source) > 1 })
	in.Spool(1)
	data, err := in.MarshalBinary()
	f.Add(whole(f, data, err, inputsMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		var in Inputs
		if err := in.decode(NewDecoder(data)); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("error %v", err)
			}
			return
		}
		for i := range in.Len() {
			file := in.File(i)
			if key := NewKey(i, 5); in.Shard(key) >= in.Shards || in.Source(key) != file.Source {
				t.Errorf("file %d: shard %d, source %q", i, in.Shard(key), in.Source(key))
			}
			in.Preferred(&Profile{Key: NewKey(0, 0)}, &Profile{Key: NewKey(i, 1)})
			in.Spooled(i)
		}
		for i := range in.Pieces.Len() {
			in.PieceName(i)
		}
		for i := range in.Splits.Len() {
			if span := in.Splits.At(i); span.Start < MaxPosition && in.Split(NewKey(span.File, span.Start)) != i {
				t.Errorf("split %d %+v does not begin in itself", i, span)
			}
		}
		again, err := in.MarshalBinary()
		var second Inputs
		if err != nil || second.UnmarshalBinary(again) != nil || second.Len() != in.Len() {
			t.Errorf("what was read cannot be written and read: %v", err)
		}
	})
}

// FuzzDetails: accepted details can be looked up.
func FuzzDetails(f *testing.F) {
	d := &Details{}
	f.Add([]byte{})
	for i := range 3 {
		d.Add(&File{Format: "csv", Version: "1-2", Header: []byte("a,b"), Sequential: true}, i != 1)
		data, err := d.MarshalBinary()
		f.Add(whole(f, data, err, detailsMagic))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d Details
		if err := d.decode(NewDecoder(data)); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("error %v", err)
			}
			return
		}
		for i := range d.starts {
			var file File
			if _, err := d.Complete(i, &file); err != nil {
				t.Errorf("file %d: %v", i, err)
			}
			d.Keep(i, &file)
			if inspected, err := d.Complete(i, &File{}); err != nil || !inspected {
				t.Errorf("file %d, kept: %t, %v", i, inspected, err)
			}
		}
	})
}
