package local

import (
	"encoding/binary"
	"io"

	"github.com/neardup/neardup/runners/local/internal/plan"
	"github.com/neardup/neardup/runners/local/internal/shuffle"
)

// writer returns the writer for a bundle's data sink, which writes one element per Write.
func (c *collection) writer(j *job) io.WriteCloser {
	if c.list != nil {
		return &listSink{job: j, to: c, writer: c.list.Writer()}
	}
	return &storeSink{job: j, to: c, plan: c.Collection, writer: c.store.Writer()}
}

type listSink struct {
	job     *job
	to      *collection
	writer  *shuffle.ListWriter
	largest int
}

func (s *listSink) Write(element []byte) (int, error) {
	s.largest = max(s.largest, len(element))
	return len(element), s.job.own(s.writer.Append(element))
}

func (s *listSink) Close() error {
	s.to.largest.raise(int64(s.largest))
	return s.job.own(s.writer.Park())
}

// own makes an error of the runner the job's error, before the SDK attributes it to the DoFn that was writing.
func (j *job) own(err error) error {
	if err != nil {
		j.fail(err)
	}
	return err
}

// storeSink stores elements by window and key.
type storeSink struct {
	job     *job
	to      *collection
	plan    *plan.Collection
	writer  *shuffle.Writer
	largest int
}

func (s *storeSink) Write(b []byte) (int, error) {
	s.largest = max(s.largest, len(b))
	count, windows, element, err := parseHeader(b, s.plan.Interval)
	if err != nil {
		return 0, err
	}
	var key []byte
	value := element
	if s.plan.Kind != plan.Side {
		length, n := binary.Uvarint(element)
		if n <= 0 || length > uint64(len(element)-n) {
			return 0, errHeader
		}
		end := n + int(length)
		key, value = element[:end], element[end:]
		if s.plan.Kind == plan.KeyedSide {
			key = key[n:] // readers ask for the key without its length
		}
	}
	if !s.plan.Interval {
		return len(b), s.job.own(s.writer.Append(nil, key, value))
	}
	// An element in several windows is grouped in each.
	for range count {
		n := windowSize(windows)
		if err := s.writer.Append(windows[:n], key, value); err != nil {
			return 0, s.job.own(err)
		}
		windows = windows[n:]
	}
	return len(b), nil
}

func (s *storeSink) Close() error {
	s.to.largest.raise(int64(s.largest))
	s.writer.Park()
	return nil
}
