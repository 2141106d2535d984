package job

import (
	"bytes"
	"runtime"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/shingle"
)

const (
	// batchBytes is about how many bytes of texts a core processes at a time.
	batchBytes = 64 << 10
	// progressBytes bounds the texts in progress, whatever the number of cores, since each takes several times its size.
	progressBytes = 32 << 20
)

// sampledTexts shingles the texts of a sample on all cores, and calls see with the result of each, in their order.
type sampledTexts struct {
	see     func(*sampledText)
	idle    chan *copies.Reader // one for each core; nil if it is not made yet
	spec    shingle.Spec
	next    *textBatch
	reading []*textBatch // in progress, in order
	bytes   int          // of the texts in progress
	spare   []*textBatch // for further texts
}

// sampledText describes a text that has shingles.
type sampledText struct {
	traits copies.Traits
	sum    hash.Sum128 // of the set; decides what the sample holds
	size   int         // of the set
	set    []uint64    // thinned
}

// textBatch is a batch of texts for one core.
type textBatch struct {
	texts, ends []byte
	last        []textEnd // the end of each text
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

// add adds a text, whose columns end at the offsets ends.
func (s *sampledTexts) add(text, ends []byte) {
	b := s.next
	b.texts, b.ends = append(b.texts, text...), append(b.ends, ends...)
	if b.last = append(b.last, textEnd{len(b.texts), len(b.ends)}); len(b.texts) < batchBytes {
		return
	}
	s.begin()
	for len(s.reading) > cap(s.idle) || s.bytes > progressBytes {
		s.end()
	}
}

// flush calls see with all remaining texts.
func (s *sampledTexts) flush() {
	s.begin()
	for len(s.reading) > 0 {
		s.end()
	}
}

// begin starts to process the next batch.
func (s *sampledTexts) begin() {
	b := s.next
	s.reading = append(s.reading, b)
	s.bytes += len(b.texts)
	if last := len(s.spare) - 1; last >= 0 {
		s.next, s.spare = s.spare[last], s.spare[:last]
	} else {
		s.next = &textBatch{texts: make([]byte, 0, batchBytes+batchBytes/8)} // room for all but a long last one
	}
	b.reading.Go(func() {
		reader := <-s.idle
		defer func() { s.idle <- reader }()
		if reader == nil {
			reader = copies.NewReader(s.spec, (*shingle.Shingler).Set)
		}
		b.readBy(reader)
	})
}

// end waits for the oldest batch in progress, and calls see with its texts.
func (s *sampledTexts) end() {
	b := s.reading[0]
	s.reading = s.reading[1:]
	b.reading.Wait()
	s.bytes -= len(b.texts)
	for i := range b.read {
		s.see(&b.read[i])
	}
	if clear(b.read); cap(b.texts) <= 2*batchBytes {
		s.spare = append(s.spare, &textBatch{texts: b.texts[:0], ends: b.ends[:0], last: b.last[:0], read: b.read[:0]})
	}
}

func (b *textBatch) readBy(reader *copies.Reader) {
	var start textEnd
	for _, end := range b.last {
		traits, set := reader.ReadSample(b.texts[start.text:end.text], b.ends[start.ends:end.ends])
		if start = end; len(set) > 0 {
			b.read = append(b.read, sampledText{traits, hash.Sequence(set), len(set), thin(set)})
		}
		reader.Trim()
	}
}

// TextsKept holds the first texts of a sample, or the beginnings of long ones.
type TextsKept [][]byte

// The maximum number of texts that are kept, and of bytes of each: a text of that size is long for any --shingle.
const (
	textsKept     = 200
	textKeptBytes = 16 << 10
)

// Add adds a text, unless enough are kept.
func (t *TextsKept) Add(text []byte) {
	if len(*t) < textsKept {
		*t = append(*t, bytes.Clone(text[:min(len(text), textKeptBytes)]))
	}
}
