package memory

import "context"

// workerKey is that of a worker's claim in its context.
type workerKey struct{}

// Worker returns a context for one worker of a runner, whose steps hold what they take by this claim. Steps that call
// one another have one goroutine, and one claim: no step waits for another one of its worker.
func Worker(ctx context.Context, claim *Claim) context.Context {
	return context.WithValue(ctx, workerKey{}, claim)
}

// A Hold is what a step holds by the claim of its worker. Without one, as on a cluster, there is no bound.
// What is not more than Large is of what the process may take beside.
type Hold struct {
	claim *Claim
	held  int64
	small int64 // not taken
}

// NewHold returns a Hold of nothing. Free it when the step is through.
func NewHold(ctx context.Context) *Hold {
	claim, _ := ctx.Value(workerKey{}).(*Claim)
	return &Hold{claim: claim}
}

// Add adds n bytes, and waits until there is room for them. Add at once what is known: while a step waits for more,
// others wait for what it has. A nil Hold counts nothing.
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
