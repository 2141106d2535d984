package parallel

import (
	"strings"
	"sync/atomic"
	"testing"
)

func TestGroup(t *testing.T) {
	var g Group
	var sum atomic.Int64
	for i := range int64(100) {
		g.Go(func() { sum.Add(i) })
	}
	if g.Wait(); sum.Load() != 4950 {
		t.Errorf("the sum is %d before all have returned", sum.Load())
	}
}

// recovered returns the value with which f panics.
func recovered(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

func plant() { panic("planted") }

// TestPanic: Wait panics like a function that panicked, after all others have returned.
func TestPanic(t *testing.T) {
	var g Group
	begun, goOn := make(chan bool), make(chan bool)
	others := 0
	g.Go(func() {
		begun <- true
		<-goOn
		others++
	})
	g.Go(func() {
		<-begun
		defer close(goOn)
		plant()
	})
	p, ok := recovered(g.Wait).(*Panic)
	if !ok || p.Value != "planted" || others != 1 {
		t.Fatalf("it panics with %v, %d others have returned", p, others)
	}
	if s := p.String(); !strings.HasPrefix(s, "planted\n\ngoroutine ") || !strings.Contains(s, "parallel.plant(") {
		t.Errorf("it tells of %s", s)
	}
}

// TestPanicWithin: a panic passes through nested groups unchanged.
func TestPanicWithin(t *testing.T) {
	var outer Group
	outer.Go(func() {
		var inner Group
		inner.Go(plant)
		inner.Wait()
	})
	p, ok := recovered(outer.Wait).(*Panic)
	if !ok || p.Value != "planted" || strings.Count(p.String(), "[running]") != 1 {
		t.Errorf("it panics with %v", p)
	}
}
