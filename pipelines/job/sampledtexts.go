package job

import (
	"runtime"

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
	read        chan []sampledText
}

type textEnd struct{ text, ends int }

func newSampledTexts(spec shingle.Spec, see func(*sampledText)) *sampledTexts {
	s := &sampledTexts{see: see, spec: spec, idle: make(chan *copies.Reader, runtime.GOMAXPROCS(0)), next: newTextBatch()}
	for range cap(s.idle) {
		s.idle <- nil
	}
	return s
}

func newTextBatch() *textBatch { return &textBatch{read: make(chan []sampledText, 1)} }

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
	s.reading, s.next = append(s.reading, b), newTextBatch()
	go func() {
		reader := <-s.idle
		if reader == nil {
			reader = copies.NewReader(s.spec, shingle.Set)
		}
		b.read <- b.readBy(reader)
		s.idle <- reader
	}()
}

// end waits for the first batch that is being read.
func (s *sampledTexts) end() {
	for _, text := range <-s.reading[0].read {
		s.see(&text)
	}
	s.reading = s.reading[1:]
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
