package blocks

// Turn says when the pass through a crowd visits a representative: its number in the order of
// preference, and the batch of sets that has it.
type Turn struct {
	Crowd         Key
	Batch, Number int
}

// AppendTurn appends a turn to a block.
func AppendTurn(block []byte, t Turn) []byte {
	return AppendUint32(AppendUint32(AppendKey(block, t.Crowd), uint32(t.Batch)), uint32(t.Number))
}

// Turn reads what AppendTurn wrote.
func (d *Decoder) Turn() Turn {
	return Turn{Crowd: d.Key(), Batch: int(d.Uint32()), Number: int(d.Uint32())}
}
