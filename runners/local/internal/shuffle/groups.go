package shuffle

import (
	"bytes"
	"fmt"
	"io"
)

// widest is how many runs on disk are merged at once; each takes a block of memory.
const widest = 64

// Groups reads the groups of a partition in the order of their keys.
type Groups struct {
	store     *Store
	runs      []*run    // pinned in memory while they are read
	heap      []*cursor // by key; the first is at the next record
	remaining int       // records not yet read
	key       []byte
	prefix    prefix
	passed    bool // the first cursor's record has been returned
	value     []byte
	err       error

	size, largest int64 // bytes of this group's values so far, and of the largest group's
}

// Open returns the groups of a partition. All writers must be parked.
func (s *Store) Open(partition int) (*Groups, error) {
	g := &Groups{store: s}
	cursors, runs := s.cursors(partition)
	g.runs = runs
	cursors, err := s.narrow(cursors)
	if err == nil {
		err = g.fill(cursors)
	}
	if err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// cursors returns a cursor for each run with records of the partition. The caller must call leave with the returned
// runs, which are in memory.
func (s *Store) cursors(partition int) (cursors []*cursor, runs []*run) {
	s.mu.Lock()
	var disk []*cursor
	for _, on := range s.spilled {
		if on.counts[partition] > 0 {
			c := diskCursor(on.file, on.blocks[partition], on.counts[partition])
			c.firsts = on.firsts[partition]
			disk = append(disk, c)
		}
	}
	for _, r := range s.parked {
		if r.counts[partition] > 0 {
			r.readers++
			runs = append(runs, r)
		}
	}
	s.mu.Unlock()
	for _, r := range runs {
		cursors = append(cursors, memoryCursor(r, r.part(partition)))
	}
	return append(cursors, disk...), runs
}

// leave releases runs that cursors has returned.
func (s *Store) leave(runs []*run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range runs {
		r.readers--
		s.reclaim(r)
	}
}

// narrow merges runs, widest at a time, to disk until few enough remain to read at once.
func (s *Store) narrow(cursors []*cursor) ([]*cursor, error) {
	for len(cursors) > widest {
		batch := cursors[len(cursors)-widest:]
		cursors = cursors[:len(cursors)-widest]
		merged := &Groups{store: s}
		if err := merged.fill(batch); err != nil {
			return nil, err
		}
		c, err := merged.rewrite()
		if err != nil {
			return nil, err
		}
		cursors = append([]*cursor{c}, cursors...)
	}
	return cursors, nil
}

// rewrite writes all groups to disk as one run, and returns a cursor for it.
func (g *Groups) rewrite() (*cursor, error) {
	file, err := g.store.borrow()
	if err != nil {
		return nil, err
	}
	w := blockWriter{file: file}
	records := g.remaining
	var record []byte
	for g.Next() {
		for g.NextValue() {
			record = appendRecord(record[:0], g.key, g.value)
			if err := w.append(record); err != nil {
				return nil, err
			}
		}
	}
	if g.err != nil {
		return nil, g.err
	}
	blocks, _, err := w.finish()
	if err != nil {
		return nil, err
	}
	return diskCursor(file, blocks, records), g.store.giveBack(file)
}

func (g *Groups) fill(cursors []*cursor) error {
	for _, c := range cursors {
		ok, err := c.start()
		if err != nil {
			return err
		}
		g.remaining += c.records
		if ok {
			g.heap = append(g.heap, c)
		}
	}
	for i := len(g.heap)/2 - 1; i >= 0; i-- {
		g.sink(i)
	}
	return nil
}

func (g *Groups) sink(i int) {
	h := g.heap
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].below(h[child]) {
			child++
		}
		if !h[child].below(h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// settle moves past the record that has been returned.
func (g *Groups) settle() {
	if !g.passed {
		return
	}
	g.passed = false
	g.remaining--
	ok, err := g.heap[0].next()
	if err != nil {
		g.err = err
		g.heap = nil
		return
	}
	if !ok {
		last := len(g.heap) - 1
		g.heap[0] = g.heap[last]
		g.heap = g.heap[:last]
	}
	if len(g.heap) > 1 {
		g.sink(0)
	}
}

// Next moves to the next group and skips the rest of this one. It returns false after the last group and after an
// error. An end before the last record is an error.
func (g *Groups) Next() bool {
	if g.key != nil {
		for g.NextValue() {
		}
	}
	if len(g.heap) == 0 {
		if g.err == nil && g.remaining != 0 {
			g.err = fmt.Errorf("local runner: internal error; please report it: a merge ended %d records too early", g.remaining)
		}
		return false
	}
	g.prefix = g.heap[0].prefix
	g.key = append(g.key[:0], g.heap[0].key...)
	g.size = 0
	if g.key == nil {
		g.key = []byte{}
	}
	return true
}

// NextValue moves to the next value of the group, and reports whether there is one.
func (g *Groups) NextValue() bool {
	g.settle()
	if len(g.heap) == 0 || !g.heap[0].at(g.prefix, g.key) {
		return false
	}
	g.value = g.heap[0].value
	g.passed = true
	g.size += int64(len(g.value))
	g.largest = max(g.largest, g.size)
	return true
}

// Key returns the key of the group, valid until the next group.
func (g *Groups) Key() []byte { return g.key }

// Value returns the value, valid until the next one.
func (g *Groups) Value() []byte { return g.value }

// Take returns the value. The caller may keep it, but must not write to it.
func (g *Groups) Take() []byte { return g.heap[0].take() }

// Largest returns the size in bytes of the values of the largest group read so far.
func (g *Groups) Largest() int64 { return g.largest }

// Err returns the error that ended the groups early, or nil.
func (g *Groups) Err() error { return g.err }

// Rest returns the unread values of the group. They can be read any number of times while the Groups are open, even
// after Groups has moved on.
func (g *Groups) Rest() *Values {
	g.settle()
	v := &Values{key: bytes.Clone(g.key), prefix: g.prefix}
	for _, c := range g.heap {
		if c.at(g.prefix, g.key) {
			v.marks = append(v.marks, c.mark())
		}
	}
	return v
}

// Close releases the memory.
func (g *Groups) Close() {
	g.store.leave(g.runs)
	g.runs, g.heap = nil, nil
}

// Values are the values of one key, in no particular order.
type Values struct {
	key    []byte
	prefix prefix
	marks  []cursor
	store  *Store
	runs   []*run
}

// Lookup returns the values of a key of an indexed store. The caller must close them.
func (s *Store) Lookup(key []byte) (*Values, error) {
	partition := partitionOf(key)
	cursors, runs := s.cursors(partition)
	v := &Values{key: key, prefix: prefixOf(key), store: s, runs: runs}
	for _, c := range cursors {
		ok, err := c.seek(key)
		if err != nil {
			v.Close()
			return nil, err
		}
		if ok && c.at(v.prefix, key) {
			v.marks = append(v.marks, c.mark())
		}
	}
	return v, nil
}

// Close releases the memory.
func (v *Values) Close() {
	if v.store != nil {
		v.store.leave(v.runs)
	}
}

// Iterator returns an iterator at the first value.
func (v *Values) Iterator() *Iterator { return &Iterator{values: v, marks: v.marks} }

// Iterator reads values.
type Iterator struct {
	values *Values
	marks  []cursor // not yet begun
	cursor *cursor
}

// Take returns the next value, or io.EOF after the last. The caller may keep it, but must not write to it.
func (i *Iterator) Take() ([]byte, error) {
	if err := i.next(); err != nil {
		return nil, err
	}
	return i.cursor.take(), nil
}

// next moves to the next value.
func (i *Iterator) next() (err error) {
	ok := false
	if i.cursor != nil {
		if ok, err = i.cursor.next(); err != nil {
			return err
		}
	}
	if !ok || !i.cursor.at(i.values.prefix, i.values.key) {
		if len(i.marks) == 0 {
			i.cursor = nil
			return io.EOF
		}
		if i.cursor, err = i.marks[0].resume(); err != nil {
			return err
		}
		i.marks = i.marks[1:]
	}
	return nil
}

// Reader returns a reader of all values, one after another. Its Close calls close.
func (v *Values) Reader(close func()) io.ReadCloser {
	return &reader{values: v.Iterator(), close: close}
}

type reader struct {
	values *Iterator
	rest   []byte // of the current value
	close  func()
}

func (r *reader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if err := r.values.next(); err != nil {
			return 0, err
		}
		r.rest = r.values.cursor.value
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *reader) Close() error {
	if r.close != nil {
		r.close()
		r.close = nil
	}
	return nil
}
