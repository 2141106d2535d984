package decide

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/sorted"
)

const (
	keyBytes    = 8 // of blocks.AppendOrdered
	numberBytes = 4
)

func appendNumber(dst []byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32(dst, number)
}

// cursor goes through records that are read beside others in the same order. Close it.
type cursor struct {
	record []byte // at which it stands, nil behind the last
	err    error
	next   func() ([]byte, error, bool)
	close  func()
}

func cursorOf(records *sorted.Records) *cursor {
	c := &cursor{}
	c.next, c.close = iter.Pull2(records.All())
	c.advance()
	return c
}

func (c *cursor) advance() {
	record, err, ok := c.next()
	if c.record = record; !ok || err != nil {
		c.record, c.err = nil, err
	}
}

// at reports whether the record begins with a number.
func (c *cursor) at(number uint32) bool {
	return c.record != nil && binary.BigEndian.Uint32(c.record) == number
}

// rest is the record behind its number.
func (c *cursor) rest() []byte { return c.record[numberBytes:] }

// lookUp calls do with each record and that of all which begins with the same key, both without it.
func lookUp(records, all *sorted.Records, do func(record, found []byte) error) error {
	in := cursorOf(all)
	defer in.close()
	for record, err := range records.All() {
		if err != nil {
			return err
		}
		order := -1
		for in.record != nil {
			if order = bytes.Compare(in.record[:keyBytes], record[:keyBytes]); order >= 0 {
				break
			}
			in.advance()
		}
		if in.err != nil {
			return in.err
		}
		if order != 0 {
			key, _, _ := blocks.OrderedKey(record)
			return fmt.Errorf("%v, which is a document of a pair, is not a representative", key)
		}
		if err := do(record[keyBytes:], in.record[keyBytes:]); err != nil {
			return err
		}
	}
	return nil
}
