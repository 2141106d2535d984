package passage

import "cmp"

// A Place is the place of a word or an L-gram. Documents are numbered in input order.
type Place struct {
	Document int64
	Position int
}

// Compare orders places in input order.
func (p Place) Compare(o Place) int {
	return cmp.Or(cmp.Compare(p.Document, o.Document), cmp.Compare(p.Position, o.Position))
}

// Repeats reports whether an L-gram of length words at p is a repetition, given its first place.
func (p Place) Repeats(first Place, length int) bool {
	return first.Document < p.Document || first.Position+length <= p.Position
}

// A Passage is the words from Start up to but not including End. From is the document of their first places, which
// FromStart and FromEnd span.
type Passage struct {
	Start, End         int
	From               int64
	FromStart, FromEnd int
}

// Passages joins the repeated L-grams of one document into its passages.
type Passages struct {
	Length int
	Emit   func(Passage)

	next    int     // first word that is not done
	held    []shown // L-grams with words that are not done, in ascending order of the places that they show
	passage Passage // not yet emitted, unless empty

	repeated int   // position of the last repeated L-gram plus one, or 0
	firsts   []int // positions of first places after it that may still be covered
	broken   int64
}

// shown is the places that a repeated L-gram shows: place at + i for its word at position i.
type shown struct {
	last     int // last word of the L-gram
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

// First reports that an L-gram that is repeated elsewhere has its first place here. Positions must ascend, also
// relative to those of Add.
func (p *Passages) First(position int) {
	if p.repeated > 0 && position < p.repeated-1+p.Length {
		p.broken++
		return
	}
	if len(p.firsts) == 2*p.Length { // most can no longer be covered
		p.firsts = p.firsts[:copy(p.firsts, p.firsts[p.Length:])]
	}
	p.firsts = append(p.firsts, position)
}

// Close emits the remaining passages, and returns the number of first places that are covered in part.
func (p *Passages) Close() (broken int64) {
	p.words(-1)
	p.flush()
	broken = p.broken
	*p = Passages{Length: p.Length, Emit: p.Emit, held: p.held[:0], firsts: p.firsts[:0]}
	return broken
}

// words finishes the covered words before a position, or all if before is -1.
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

// extend adds words with consecutive first places.
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
