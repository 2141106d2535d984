package shuffle

import (
	"bytes"
	"slices"
	"sort"

	"github.com/neardup/neardup/runners/local/internal/spill"
)

// cursor goes through one partition of one run, in memory or on disk. key and value are those of
// the record it stands at, valid until it moves.
type cursor struct {
	key, value []byte
	kept       bool // the value is valid for good
	prefix     prefix
	records    int // all it goes through, before it starts

	run     *run
	entries []entry // the record it stands at, and those after it

	file      *spill.File
	blocks    []spill.Ref // those after the one being read
	firsts    [][]byte    // their first keys, in an indexed store before the first is read
	block     []byte      // the rest of the block, after the record
	here      spill.Ref   // the block being read
	remaining int         // len of the rest of it from the record on
	room      []byte
	scratch   []byte
}

func memoryCursor(r *run, entries []entry) *cursor {
	return &cursor{run: r, entries: entries, records: len(entries)}
}

func diskCursor(f *spill.File, blocks []spill.Ref, records int) *cursor {
	return &cursor{file: f, blocks: blocks, records: records}
}

// start moves to the first record, and returns false if there is none.
func (c *cursor) start() (bool, error) {
	if c.run != nil {
		return c.stand(), nil
	}
	return c.next()
}

// stand looks at the first of the entries.
func (c *cursor) stand() bool {
	if len(c.entries) == 0 {
		return false
	}
	c.prefix = c.entries[0].prefix
	c.key, c.value, c.kept = c.run.record(c.entries[0])
	return true
}

// next moves to the next record, and returns false behind the last.
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

// seek moves forward to the first record whose key is not below key.
func (c *cursor) seek(key []byte) (ok bool, err error) {
	if c.run != nil {
		i := sort.Search(len(c.entries), func(i int) bool { return bytes.Compare(c.run.key(c.entries[i]), key) >= 0 })
		c.entries = c.entries[i:]
		return c.stand(), nil
	}
	// Records of one key may begin at the end of the block before the first that begins with it.
	i := sort.Search(len(c.firsts), func(i int) bool { return bytes.Compare(c.firsts[i], key) >= 0 })
	c.blocks = c.blocks[max(0, i-1):]
	for ok, err = c.next(); ok && bytes.Compare(c.key, key) < 0; {
		ok, err = c.next()
	}
	return ok, err
}

// mark is a place that a cursor can be sent to again.
type mark struct {
	run       *run
	entries   []entry
	file      *spill.File
	here      spill.Ref
	blocks    []spill.Ref
	remaining int
}

func (c *cursor) mark() mark { return mark{c.run, c.entries, c.file, c.here, c.blocks, c.remaining} }

// cursor returns a new cursor at the marked record.
func (m mark) cursor() (*cursor, error) {
	c := &cursor{run: m.run, entries: m.entries, file: m.file, blocks: m.blocks}
	if m.run != nil {
		c.stand()
		return c, nil
	}
	if err := c.load(m.here); err != nil {
		return nil, err
	}
	c.block = c.block[len(c.block)-m.remaining:]
	c.parse()
	return c, nil
}

// take returns the value, in memory that is the caller's to keep, though not to write to.
func (c *cursor) take() []byte {
	if c.kept {
		return slices.Clip(c.value)
	}
	return bytes.Clone(c.value)
}

// below orders cursors by key.
func (c *cursor) below(o *cursor) bool {
	order := c.prefix.compare(o.prefix)
	if order == 0 && !c.prefix.whole() {
		order = bytes.Compare(c.key, o.key)
	}
	return order < 0
}

// at says whether the record has the key, of which prefix is the prefix.
func (c *cursor) at(prefix prefix, key []byte) bool {
	return c.prefix == prefix && (prefix.whole() || bytes.Equal(c.key, key))
}
