package job

import (
	"runtime"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/shingle"
)

// batchBytes is about how many bytes of texts a core reads at a time.
const batchBytes = 64 << 10

// sampledTexts reads the texts of a sample on all cores, and calls see with what it reads of each, in their order.
type sampledTexts struct {
	see     func(*sampledText)
	idle    chan *copies.Reader // one for each core; nil: it is not made yet
	spec    shingle.Spec
	next    *textBatch
	reading []*textBatch // in order
}

// sampledText is what is read of a text that has shingles.
type sampledText struct {
	traits copies.Traits
	size   int      // of its set
	set    []uint64 // thinned
}

// textBatch is texts that one core reads.
type textBatch struct {
	texts, ends []byte
	last        []textEnd // of each
	reading     parallel.Group
	read        []sampledText
}

type textEnd struct{ text, ends int }

func newSampledTexts(spec shingle.Spec, see func(*sampledText)) *sampledTexts {
	s := &sampledTexts{see: see, spec: spec, idle: make(chan *copies.Reader, runtime.GOMAXPROCS(0)), next: &textBatch{}}
	for range cap(s.idle) {
		s.idle <- nil
	}
	return s
}

// add adds a text, whose columns end at ends.
func (s *sampledTexts) add(text, ends []byte) {
	b := s.next
	b.texts, b.ends = append(b.texts, text...), append(b.ends, ends...)
	if b.last = append(b.last, textEnd{len(b.texts), len(b.ends)}); len(b.texts) < batchBytes {
		return
	}
	s.begin()
	if len(s.reading) > cap(s.idle) {
		s.end()
	}
}

// flush calls see with what was not seen yet.
func (s *sampledTexts) flush() {
	s.begin()
	for len(s.reading) > 0 {
		s.end()
	}
}

// begin has the next batch read.
func (s *sampledTexts) begin() {
	b := s.next
	s.reading, s.next = append(s.reading, b), &textBatch{}
	b.reading.Go(func() {
		reader := <-s.idle
		defer func() { s.idle <- reader }()
		if reader == nil {
			reader = copies.NewReader(s.spec, shingle.Set)
		}
		b.read = b.readBy(reader)
	})
}

// end waits for the first batch that is being read.
func (s *sampledTexts) end() {
	b := s.reading[0]
	s.reading = s.reading[1:]
	b.reading.Wait()
	for _, text := range b.read {
		s.see(&text)
	}
}

func (b *textBatch) readBy(reader *copies.Reader) (read []sampledText) {
	var start textEnd
	for _, end := range b.last {
		traits, set := reader.Read(b.texts[start.text:end.text], b.ends[start.ends:end.ends])
		if start = end; len(set) > 0 {
			read = append(read, sampledText{traits, len(set), thin(set)})
		}
		reader.Trim()
	}
	return read
}
