// Package parallel runs functions on goroutines. If one panics, the goroutine that waits for it panics too, and can
// recover. Otherwise the panic would end the process without a message and without cleaning up.
package parallel

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Group is a sync.WaitGroup of functions that may panic. The zero value is ready for use.
type Group struct {
	wait     sync.WaitGroup
	panicked atomic.Pointer[Panic] // the first
}

// Go calls f on a goroutine of its own.
func (g *Group) Go(f func()) {
	g.wait.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				g.panicked.CompareAndSwap(nil, newPanic(p))
			}
		}()
		f()
	})
}

// Wait waits until all functions have returned. If one has panicked, Wait panics with a *Panic.
func (g *Group) Wait() {
	g.wait.Wait()
	if p := g.panicked.Load(); p != nil {
		panic(p)
	}
}

// Panic is a panic of a function on another goroutine.
type Panic struct {
	Value any
	Stack []byte // of the goroutine that panicked first
}

// newPanic must be called while a goroutine recovers.
func newPanic(value any) *Panic {
	if p, ok := value.(*Panic); ok { // from a goroutine that this one waited for
		return p
	}
	return &Panic{Value: value, Stack: debug.Stack()}
}

// String returns the value and the stack, as the runtime prints a panic.
func (p *Panic) String() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }
