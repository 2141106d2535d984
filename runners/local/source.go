package local

import (
	"encoding/binary"
	"math"
	"sync/atomic"

	"github.com/neardup/neardup/runners/local/internal/plan"
	"github.com/neardup/neardup/runners/local/internal/shuffle"
)

// source is the input of a stage, divided into tasks. It is safe for concurrent use.
type source interface {
	// take reserves a task for the caller, and returns false if none is left.
	take() (task int, ok bool)
	// read feeds the elements of a task to a bundle, and returns their size in bytes.
	read(task int, to *bundle) (int64, error)
	// progress returns how many of all tasks have been taken.
	progress() (taken, all int)
}

// open returns the input of a stage, which must be complete.
func (j *job) open(s *stage) source {
	switch c := j.data[s.Input]; {
	case s.Input == nil:
		return &impulseSource{}
	case s.Input.Kind == plan.Blocks:
		return &listSource{list: c.list}
	default:
		return &groupSource{store: c.store, interval: c.Interval, bare: c.Bare}
	}
}

type impulseSource struct{ taken atomic.Bool }

func (s *impulseSource) take() (int, bool) { return 0, s.taken.CompareAndSwap(false, true) }

func (s *impulseSource) read(_ int, to *bundle) (int64, error) { return 0, to.send(impulse, 1) }

func (s *impulseSource) progress() (taken, all int) {
	if s.taken.Load() {
		return 1, 1
	}
	return 0, 1
}

// listSource has one task per block.
type listSource struct {
	list  *shuffle.List
	taken atomic.Int64
}

func (s *listSource) take() (int, bool) {
	task := int(s.taken.Add(1)) - 1
	return task, task < s.list.Len()
}

func (s *listSource) read(task int, to *bundle) (int64, error) {
	data, elements, err := s.list.Read(task)
	if err != nil {
		return 0, err
	}
	to.later(func() { s.list.Done(task) })
	return int64(len(data)), to.send(data, elements)
}

func (s *listSource) progress() (taken, all int) {
	return min(int(s.taken.Load()), s.list.Len()), s.list.Len()
}

// groupSource has one task per partition.
type groupSource struct {
	store    *shuffle.Store
	interval bool
	bare     bool
	taken    atomic.Int64
	largest  peak // bytes of the values of one group
}

func (s *groupSource) take() (int, bool) {
	for {
		task := int(s.taken.Add(1)) - 1
		if task >= shuffle.Partitions {
			return 0, false
		}
		if s.store.Bytes(task) > 0 {
			return task, true
		}
	}
}

func (s *groupSource) progress() (taken, all int) {
	return min(int(s.taken.Load()), shuffle.Partitions), shuffle.Partitions
}

// messageSize is about how many bytes of elements are fed to a bundle at a time.
const messageSize = 256 << 10

func (s *groupSource) read(task int, to *bundle) (int64, error) {
	if s.bare { // bareGroupsFn opens the partition
		partition := binary.AppendUvarint(groupHeader(nil, nil), uint64(task))
		return s.store.Bytes(task), to.send(partition, 1)
	}
	groups, err := s.store.Open(task)
	if err != nil {
		return 0, err
	}
	to.later(groups.Close)
	message := to.job.options.message
	longest := to.job.options.longest()
	var total int64
	elements := 0
	buffer := to.buffer[:0]
	for groups.Next() {
		start := len(buffer)
		window, key := s.split(groups.Key())
		buffer = groupHeader(buffer, window)
		buffer = append(buffer, key...)
		values, long := 0, false
		count := len(buffer)
		buffer = append(buffer, 0, 0, 0, 0)
		for groups.NextValue() {
			buffer = append(buffer, groups.Value()...)
			values++
			if long = len(buffer)-start >= longest; long {
				break
			}
		}
		if long {
			buffer = stream(buffer, count, values)
			to.rest = groups.Rest()
		}
		if err := groups.Err(); err != nil { // the group may lack values
			return total, err
		}
		if !long {
			binary.BigEndian.PutUint32(buffer[count:], uint32(values))
		}
		elements++
		if long || len(buffer) >= message {
			total += int64(len(buffer))
			if err := to.send(buffer, elements); err != nil {
				return total, err
			}
			// The buffer is reused, and the merge moves past the rest of a long group.
			if err := to.through(); err != nil {
				return total, err
			}
			buffer, elements = buffer[:0], 0
		}
	}
	to.buffer = buffer
	s.largest.raise(groups.Largest())
	if err := groups.Err(); err != nil {
		return total, err
	}
	if len(buffer) == 0 {
		return total, nil
	}
	return total + int64(len(buffer)), to.send(buffer, elements)
}

// stream turns a counted iterable into one of two chunks, the second of which the runner keeps: -1 for chunks, the size
// of the first, its values, then -1 for a token, its size and the token.
func stream(buffer []byte, count, values int) []byte {
	var size [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(size[:], uint64(values))
	buffer = append(buffer, size[:n]...)
	first := count + 4
	copy(buffer[first+n:], buffer[first:])
	copy(buffer[first:], size[:n])
	binary.BigEndian.PutUint32(buffer[count:], math.MaxUint32)
	buffer = binary.AppendUvarint(buffer, math.MaxUint64)
	return append(buffer, 0) // only one such iterable exists at a time, so its token is empty
}

// split separates the window from the key.
func (s *groupSource) split(key []byte) (window, rest []byte) {
	if !s.interval {
		return nil, key
	}
	n := windowSize(key)
	return key[:n], key[n:]
}
