package blocks

// Turn is a representative's place in an order of its component: its number, and the batch that holds its set.
type Turn struct {
	Component     Key
	Batch, Number int
}

// AppendTurn appends a turn to a block.
func AppendTurn(block []byte, t Turn) []byte { return appended(block, &t, (*fields).turn) }

// Turn reads what AppendTurn wrote.
func (d *Decoder) Turn() Turn { return read(d, (*fields).turn) }

func (f *fields) turn(t *Turn) {
	key.each(f, &t.Component)
	count.each(f, &t.Batch, &t.Number)
}

// Batch describes a file with sets of a component.
type Batch struct {
	Number            int
	Sets, Shingles    int
	Smallest, Largest int // shingles per set
}

// AppendBatch appends a batch to a block.
func AppendBatch(block []byte, b Batch) []byte { return appended(block, &b, (*fields).batch) }

// Batch reads what AppendBatch wrote.
func (d *Decoder) Batch() Batch { return read(d, (*fields).batch) }

func (f *fields) batch(b *Batch) {
	count.each(f, &b.Number, &b.Sets, &b.Shingles, &b.Smallest, &b.Largest)
}
