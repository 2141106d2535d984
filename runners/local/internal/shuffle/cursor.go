package shuffle

import (
	"bytes"
	"slices"
	"sort"

	"github.com/neardup/neardup/runners/local/internal/spill"
)

// cursor moves through one partition of one run, in memory or on disk. key and value are those of the current record,
// valid until it moves.
type cursor struct {
	key, value []byte
	kept       bool // the value stays valid
	prefix     prefix
	records    int // total number of records

	run     *run
	entries []entry // the current record and those after it

	file      *spill.File
	blocks    []spill.Ref // blocks after the current one
	firsts    [][]byte    // their first keys, in an indexed store; valid before the first block is read
	block     []byte      // rest of the block after the record
	here      spill.Ref   // the current block
	remaining int         // size of its rest from the record on
	room      []byte
	scratch   []byte
}

func memoryCursor(r *run, entries []entry) *cursor {
	return &cursor{run: r, entries: entries, records: len(entries)}
}

func diskCursor(f *spill.File, blocks []spill.Ref, records int) *cursor {
	return &cursor{file: f, blocks: blocks, records: records}
}

// start moves to the first record, and reports whether there is one.
func (c *cursor) start() (bool, error) {
	if c.run != nil {
		return c.stand(), nil
	}
	return c.next()
}

// stand reads the first of the entries.
func (c *cursor) stand() bool {
	if len(c.entries) == 0 {
		return false
	}
	c.prefix = c.entries[0].prefix
	c.key, c.value, c.kept = c.run.record(c.entries[0])
	return true
}

// next moves to the next record, and reports whether there is one.
func (c *cursor) next() (bool, error) {
	if c.run != nil {
		c.entries = c.entries[1:]
		return c.stand(), nil
	}
	if len(c.block) == 0 {
		if len(c.blocks) == 0 {
			return false, nil
		}
		if err := c.load(c.blocks[0]); err != nil {
			return false, err
		}
		c.blocks = c.blocks[1:]
	}
	c.parse()
	return true, nil
}

func (c *cursor) load(ref spill.Ref) (err error) {
	c.here = ref
	c.room, err = c.file.Read(ref, c.room, &c.scratch)
	c.block = c.room
	return err
}

func (c *cursor) parse() {
	c.remaining = len(c.block)
	c.key, c.block = cut(c.block)
	c.value, c.block = cut(c.block)
	c.prefix = prefixOf(c.key)
}

// seek moves forward to the first record whose key is at least key.
func (c *cursor) seek(key []byte) (ok bool, err error) {
	if c.run != nil {
		i := sort.Search(len(c.entries), func(i int) bool { return bytes.Compare(c.run.key(c.entries[i]), key) >= 0 })
		c.entries = c.entries[i:]
		return c.stand(), nil
	}
	// The records of a key may begin in the block before the first block that begins with it.
	i := sort.Search(len(c.firsts), func(i int) bool { return bytes.Compare(c.firsts[i], key) >= 0 })
	c.blocks = c.blocks[max(0, i-1):]
	for ok, err = c.next(); ok && bytes.Compare(c.key, key) < 0; {
		ok, err = c.next()
	}
	return ok, err
}

// mark returns a cursor that resume can move to the current record, and that holds no part of it.
func (c *cursor) mark() cursor {
	return cursor{run: c.run, entries: c.entries, file: c.file, here: c.here, blocks: c.blocks, remaining: c.remaining}
}

// resume returns a new cursor at the marked record.
func (c cursor) resume() (*cursor, error) {
	if c.run != nil {
		c.stand()
		return &c, nil
	}
	if err := c.load(c.here); err != nil {
		return nil, err
	}
	c.block = c.block[len(c.block)-c.remaining:]
	c.parse()
	return &c, nil
}

// take returns the value. The caller may keep it, but must not write to it.
func (c *cursor) take() []byte {
	if c.kept {
		return slices.Clip(c.value)
	}
	return bytes.Clone(c.value)
}

// below reports whether the key of c is less than that of o.
func (c *cursor) below(o *cursor) bool {
	order := c.prefix.compare(o.prefix)
	if order == 0 && !c.prefix.whole() {
		order = bytes.Compare(c.key, o.key)
	}
	return order < 0
}

// at reports whether the record has this key, whose prefix is prefix.
func (c *cursor) at(prefix prefix, key []byte) bool {
	return c.prefix == prefix && (prefix.whole() || bytes.Equal(c.key, key))
}
