package memory

import "context"

// Large is from how many bytes on a buffer is taken of the room. What
// is smaller is of what a process may take beside: one for each worker.
const Large = 1 << 20

// Buffer is what a reader's buffer takes of its claim.
type Buffer struct {
	Claim    *Claim
	giveBack func() // nil: the buffer is not large
}

// Grow makes buf one of n bytes at least, which keeps what it has.
// While that is copied there are both, and both are taken.
func (b *Buffer) Grow(ctx context.Context, buf *[]byte, n int) error {
	if n <= cap(*buf) {
		return nil
	}
	var giveBack func()
	if n > Large {
		var err error
		if giveBack, err = b.Claim.Take(ctx, int64(n)); err != nil {
			return err
		}
	}
	*buf = append(make([]byte, 0, n), *buf...)
	b.Freed()
	b.giveBack = giveBack
	return nil
}

// Freed says that the buffer is no more.
func (b *Buffer) Freed() {
	if b.giveBack != nil {
		b.giveBack()
		b.giveBack = nil
	}
}

// Taken reports whether the buffer is taken of the claim.
func (b *Buffer) Taken() bool { return b.giveBack != nil }
