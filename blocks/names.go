package blocks

import (
	"encoding/binary"
	"iter"
)

// names is a front-coded list of strings: each entry has the number of bytes that it shares with the previous string,
// the number that follow, and these bytes. Every sixteenth string is stored whole.
type names struct {
	data   []byte
	starts []int64 // offsets of the strings stored whole
	n      int
	last   []byte
}

const namesEach = 16

func (l *names) add(name string) {
	shared := 0
	if l.n%namesEach == 0 {
		l.starts = append(l.starts, int64(len(l.data)))
	} else {
		for shared < min(len(name), len(l.last)) && name[shared] == l.last[shared] {
			shared++
		}
	}
	l.data = binary.AppendUvarint(l.data, uint64(shared))
	l.data = binary.AppendUvarint(l.data, uint64(len(name)-shared))
	l.data = append(l.data, name[shared:]...)
	l.last = append(l.last[:shared], name[shared:]...)
	l.n++
}

func (l *names) at(i int) string {
	var buffer [256]byte
	name, data := buffer[:0], l.data[l.starts[i/namesEach]:]
	for range i%namesEach + 1 {
		name, data, _ = nextName(name, data)
	}
	return string(name)
}

// all yields the names in order.
func (l *names) all() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		var name []byte
		data := l.data
		for i := range l.n {
			name, data, _ = nextName(name, data)
			if !yield(i, string(name)) {
				return
			}
		}
	}
}

// nextName decodes the name at the start of data, given the one before, and returns the rest of data. ok is false if
// data does not begin with a name.
func nextName(before, data []byte) (name, rest []byte, ok bool) {
	shared, n := binary.Uvarint(data)
	if n <= 0 || shared > uint64(len(before)) {
		return nil, nil, false
	}
	own, m := binary.Uvarint(data[n:])
	if m <= 0 || own > uint64(len(data)-n-m) {
		return nil, nil, false
	}
	data = data[n+m:]
	return append(before[:shared], data[:own]...), data[own:], true
}

// decodeNames decodes the n names in data, and reports whether they fill it.
func decodeNames(n int, data []byte) (names, bool) {
	l := names{data: data, n: n}
	var name []byte
	for i := range n {
		if i%namesEach == 0 {
			l.starts = append(l.starts, int64(len(l.data)-len(data)))
			name = name[:0]
		}
		var ok bool
		if name, data, ok = nextName(name, data); !ok {
			return names{}, false
		}
	}
	l.last = name
	return l, len(data) == 0
}
