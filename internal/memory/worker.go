package memory

import "context"

// workerKey is the context key of a worker's claim.
type workerKey struct{}

// Worker returns a context for one worker of a runner, whose steps account for their memory in this claim. Steps that
// call one another share a goroutine and a claim, so no step waits for another one of its worker.
func Worker(ctx context.Context, claim *Claim) context.Context {
	return context.WithValue(ctx, workerKey{}, claim)
}

// A Hold is what a step holds in the claim of its worker. Without a claim, as on a cluster, there is no limit. Up to
// Large bytes are not taken, and count as Beyond.
type Hold struct {
	claim *Claim
	held  int64
	small int64 // not taken from the claim
}

// NewHold returns an empty Hold. Free it when the step is done.
func NewHold(ctx context.Context) *Hold {
	claim, _ := ctx.Value(workerKey{}).(*Claim)
	return claim.Hold()
}

// Hold returns an empty Hold in the claim.
func (c *Claim) Hold() *Hold { return &Hold{claim: c} }

// Add adds n bytes, and waits until there is room for them. Add everything that is known at once: while a step waits
// for more, others wait for what it holds. A nil Hold counts nothing.
func (h *Hold) Add(ctx context.Context, n int64) error {
	if h == nil || h.claim == nil {
		return nil
	}
	if h.small += n; h.small <= Large {
		return nil
	}
	if err := h.claim.take(ctx, h.small); err != nil {
		return err
	}
	h.held, h.small = h.held+h.small, 0
	return nil
}

// Free gives all back.
func (h *Hold) Free() {
	if h.held > 0 {
		h.claim.giveBack(h.held)
	}
	h.held, h.small = 0, 0
}
