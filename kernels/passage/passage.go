package passage

import "cmp"

// A Place is where a word or an L-gram stands. Documents are numbered in input order.
type Place struct {
	Document int64
	Position int
}

// Compare orders places as the input does.
func (p Place) Compare(o Place) int {
	return cmp.Or(cmp.Compare(p.Document, o.Document), cmp.Compare(p.Position, o.Position))
}

// Repeats reports whether an L-gram of length words at p is repeated, if first is its first place.
func (p Place) Repeats(first Place, length int) bool {
	return first.Document < p.Document || first.Position+length <= p.Position
}

// A Passage is words from Start up to End, of which From is the document of the first places; FromStart and FromEnd
// span these.
type Passage struct {
	Start, End         int
	From               int64
	FromStart, FromEnd int
}

// Passages makes the passages of one document of its repeated L-grams.
type Passages struct {
	Length int
	Emit   func(Passage)

	next    int     // the first word that is not done
	held    []shown // that hold words not done, such that each has an earlier place than those after it
	passage Passage // not emitted yet, if it has a word

	repeated int   // the position of the last repeated L-gram, plus one; 0: there is none
	firsts   []int // positions of first places behind it that may be covered yet
	broken   int64
}

// shown is what a repeated L-gram shows: of its word at position i the place at + i.
type shown struct {
	last     int // word of the L-gram
	document int64
	at       int
}

// Add adds a repeated L-gram and its first place. Positions must ascend.
func (p *Passages) Add(position int, first Place) {
	p.words(position)
	s := shown{position + p.Length - 1, first.Document, first.Position - position}
	for len(p.held) > 0 {
		last := p.held[len(p.held)-1]
		if cmp.Or(cmp.Compare(last.document, s.document), cmp.Compare(last.at, s.at)) < 0 {
			break
		}
		p.held = p.held[:len(p.held)-1]
	}
	p.held = append(p.held, s)
	p.next = max(p.next, position)
	for _, f := range p.firsts {
		if f+p.Length > position {
			p.broken++
		}
	}
	p.firsts, p.repeated = p.firsts[:0], position+1
}

// First notes that an L-gram that is repeated elsewhere has its first place here. Positions must ascend, with those
// of Add.
func (p *Passages) First(position int) {
	if p.repeated > 0 && position < p.repeated-1+p.Length {
		p.broken++
		return
	}
	if len(p.firsts) == 2*p.Length { // most cannot be covered any more
		p.firsts = p.firsts[:copy(p.firsts, p.firsts[p.Length:])]
	}
	p.firsts = append(p.firsts, position)
}

// Close emits what is left, and returns how many of the first places are covered in part.
func (p *Passages) Close() (broken int64) {
	p.words(-1)
	p.flush()
	broken = p.broken
	*p = Passages{Length: p.Length, Emit: p.Emit, held: p.held[:0], firsts: p.firsts[:0]}
	return broken
}

// words takes the covered words before a position, or all.
func (p *Passages) words(before int) {
	for len(p.held) > 0 {
		s := p.held[0]
		end := s.last + 1
		if before >= 0 {
			end = min(end, before)
		}
		if p.next < end {
			p.extend(Passage{Start: p.next, End: end, From: s.document, FromStart: s.at + p.next, FromEnd: s.at + end})
			p.next = end
		}
		if end <= s.last {
			return
		}
		p.held = p.held[1:]
	}
}

// extend adds words that have one first place after the other.
func (p *Passages) extend(words Passage) {
	last := &p.passage
	if last.End != words.Start || last.From != words.From || last.Start == last.End {
		p.flush()
		*last = words
		return
	}
	last.End = words.End
	last.FromStart, last.FromEnd = min(last.FromStart, words.FromStart), max(last.FromEnd, words.FromEnd)
}

func (p *Passages) flush() {
	if p.passage.Start < p.passage.End {
		p.Emit(p.passage)
	}
	p.passage = Passage{}
}
