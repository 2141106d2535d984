package blocks

// Turn is a representative's place in an order of its component: its number, and the batch that holds its set.
type Turn struct {
	Component     Key
	Batch, Number int
}

// AppendTurn appends a turn to a block.
func AppendTurn(block []byte, t Turn) []byte {
	return AppendUint32(AppendUint32(AppendKey(block, t.Component), uint32(t.Batch)), uint32(t.Number))
}

// Turn reads what AppendTurn wrote.
func (d *Decoder) Turn() Turn {
	return Turn{Component: d.Key(), Batch: int(d.Uint32()), Number: int(d.Uint32())}
}

// Batch describes a file with sets of a component.
type Batch struct {
	Number            int
	Sets, Shingles    int
	Smallest, Largest int // shingles per set
}

// AppendBatch appends a batch to a block.
func AppendBatch(block []byte, b Batch) []byte {
	for _, n := range []int{b.Number, b.Sets, b.Shingles, b.Smallest, b.Largest} {
		block = AppendUint64(block, uint64(n))
	}
	return block
}

// Batch reads what AppendBatch wrote.
func (d *Decoder) Batch() Batch {
	n := func() int { return int(d.Uint64()) }
	return Batch{Number: n(), Sets: n(), Shingles: n(), Smallest: n(), Largest: n()}
}
