package decide

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/neardup/neardup/io/sorted"
)

const (
	keyBytes    = 8 // of blocks.AppendOrdered
	numberBytes = 4
)

func appendNumber(dst []byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32(dst, number)
}

// cursor reads records in step with others in the same order. The caller must close it.
type cursor struct {
	record []byte // current record, or nil after the last
	err    error
	next   func() ([]byte, error)
	close  func()
}

func cursorOf(records *sorted.Records) *cursor {
	c := &cursor{}
	c.next, c.close = records.Pull()
	c.advance()
	return c
}

func (c *cursor) advance() {
	record, err := c.next()
	if c.record = record; err != nil {
		c.record = nil
	}
	if !errors.Is(err, io.EOF) {
		c.err = err
	}
}

// at reports whether the current record begins with number.
func (c *cursor) at(number uint32) bool {
	return c.record != nil && binary.BigEndian.Uint32(c.record) == number
}

// rest returns the current record without its number.
func (c *cursor) rest() []byte { return c.record[numberBytes:] }
