package memory

import "context"

// Large is the size above which a buffer is taken from the room. Smaller ones, one for each worker, count as Beyond.
const Large = 1 << 20

// Buffer accounts for a reader's buffer in its claim.
type Buffer struct {
	Claim    *Claim
	giveBack func() // nil if the buffer is not large
}

// Grow makes the capacity of buf at least n, and keeps its content. During the copy both buffers exist, and both are
// taken.
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

// Freed says that the buffer is no longer in use.
func (b *Buffer) Freed() {
	if b.giveBack != nil {
		b.giveBack()
		b.giveBack = nil
	}
}

// Taken reports whether the buffer is taken from the claim.
func (b *Buffer) Taken() bool { return b.giveBack != nil }
