package shuffle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/runners/local/internal/spill"
)

// emptyStore returns a store, which must have released its memory and files at the end of the test.
func emptyStore(t *testing.T, budget int64, indexed bool) *Store {
	t.Helper()
	dir, err := spill.NewDir(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := NewStore(NewMemory(budget, 2), dir, indexed)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if used := s.mem.used.Load(); used != 0 {
			t.Errorf("%d bytes of the budget are still taken", used)
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// filled returns a store of records that several writers wrote, and its expected contents.
func filled(t *testing.T, budget int64, records int, indexed bool) (*Store, map[string][]string) {
	t.Helper()
	s := emptyStore(t, budget, indexed)
	random := rand.New(rand.NewPCG(7, uint64(records)))
	want := map[string][]string{}
	for i := 0; i < records; {
		w := s.Writer()
		for range random.IntN(records) {
			// Keys with common prefixes, of all lengths around that of the stored prefix.
			key := bytes.Repeat([]byte{'k', 0}, 9)[:random.IntN(18)]
			if random.IntN(2) == 0 {
				key = binary.BigEndian.AppendUint16(key, uint16(random.IntN(50)))
			}
			value := fmt.Sprint(i, string(make([]byte, random.IntN(200))))
			if i%997 == 0 {
				value += string(make([]byte, 2*largestChunk)) // larger than any chunk
			}
			cutAt := random.IntN(len(key) + 1)
			add := func() error { return w.Append(key[:cutAt], key[cutAt:], []byte(value)) }
			if i%5 == 0 {
				value += string(make([]byte, random.IntN(2*largeValue)))
				add = func() error { return w.Keep(key, []byte(value)) }
			}
			if err := add(); err != nil {
				t.Fatal(err)
			}
			want[string(key)] = append(want[string(key)], value)
			i++
		}
		w.Park()
	}
	return s, want
}

func eachBudget(t *testing.T, test func(t *testing.T, budget int64)) {
	for _, budget := range []int64{1, 100 << 10, 1 << 40} {
		t.Run(fmt.Sprint(budget), func(t *testing.T) { test(t, budget) })
	}
}

func TestGroups(t *testing.T) {
	eachBudget(t, func(t *testing.T, budget int64) {
		s, want := filled(t, budget, 5000, false)
		got := map[string][]string{}
		for p := range Partitions {
			g, err := s.Open(p)
			if err != nil {
				t.Fatal(err)
			}
			var last []byte
			for first := true; g.Next(); first = false {
				if !first && bytes.Compare(last, g.Key()) >= 0 {
					t.Fatalf("key %q comes after %q", g.Key(), last)
				}
				last = bytes.Clone(g.Key())
				for g.NextValue() {
					got[string(last)] = append(got[string(last)], string(g.Value()))
				}
			}
			if g.Err() != nil {
				t.Fatal(g.Err())
			}
			g.Close()
		}
		same(t, got, want)
	})
}

// TestRest reads the rest of groups twice, at once, from positions in their middle.
func TestRest(t *testing.T) {
	eachBudget(t, func(t *testing.T, budget int64) {
		s, want := filled(t, budget, 3000, false)
		got := map[string][]string{}
		for p := range Partitions {
			g, err := s.Open(p)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; g.Next(); i++ {
				key := string(g.Key())
				for n := 0; n < i%5 && g.NextValue(); n++ {
					got[key] = append(got[key], string(g.Value()))
				}
				rest := g.Rest()
				a, b := rest.Reader(nil), rest.Reader(nil)
				size := 0
				for _, v := range want[key] {
					size += len(v)
				}
				for _, v := range got[key] {
					size -= len(v)
				}
				half, err := io.ReadAll(io.LimitReader(a, int64(size/2)))
				if err != nil {
					t.Fatal(err)
				}
				whole, err := io.ReadAll(b)
				if err != nil || len(whole) != size || !bytes.HasPrefix(whole, half) {
					t.Fatalf("key %q: rest of %d bytes, want %d; %v", key, len(whole), size, err)
				}
				taken, err := take(rest)
				if values := bytes.Join(taken, nil); err != nil || !bytes.Equal(values, whole) {
					t.Fatalf("key %q: values of %d bytes, want %d; %v", key, len(values), size, err)
				}
				for g.NextValue() { // the groups continue where they were
					got[key] = append(got[key], string(g.Value()))
				}
			}
			g.Close()
		}
		same(t, got, want)
	})
}

func take(values *Values) (taken [][]byte, err error) {
	for i := values.Iterator(); ; {
		value, err := i.Take()
		if errors.Is(err, io.EOF) {
			return taken, nil
		}
		if err != nil {
			return nil, err
		}
		taken = append(taken, value)
	}
}

// TestTake checks that values stay valid after the memory of the store, or of the block from disk, was reused. Values
// that are kept are not copied, and the bytes after them cannot be reached.
func TestTake(t *testing.T) {
	eachBudget(t, func(t *testing.T, budget int64) {
		s := emptyStore(t, budget, false)
		w := s.Writer()
		var want [][]byte
		key := []byte("key")
		for i := range 200 {
			value := make([]byte, largeValue/2+i*16, largeValue/2+i*18)
			for at := range value {
				value[at] = byte(i)
			}
			want = append(want, value)
			if err := w.Keep(key, value); err != nil {
				t.Fatal(err)
			}
		}
		w.Park()
		g, err := s.Open(partitionOf(key))
		if err != nil {
			t.Fatal(err)
		}
		var got [][]byte
		for g.Next(); len(got) < len(want)/2 && g.NextValue(); {
			got = append(got, g.Take())
		}
		rest, err := take(g.Rest())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rest...)
		for _, r := range g.runs {
			for _, chunk := range r.chunks {
				clear(chunk)
			}
		}
		for g.NextValue() { // go on to other blocks
		}
		g.Close()
		slices.SortFunc(got, bytes.Compare)
		for i, value := range got {
			if !bytes.Equal(value, want[i]) {
				t.Errorf("value %d is not that of %d bytes", i, len(want[i]))
			}
			if large := len(value) >= largeValue; budget == 1<<40 && large != (&value[0] == &want[i][0]) {
				t.Errorf("value %d of %d bytes is kept is %t", i, len(value), !large)
			}
			if &value[0] == &want[i][0] && cap(value) > len(value) {
				t.Errorf("value %d of %d bytes has room for %d", i, len(value), cap(value))
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d values, want %d", len(got), len(want))
		}
	})
}

func TestLookup(t *testing.T) {
	eachBudget(t, func(t *testing.T, budget int64) {
		s, want := filled(t, budget, 3000, true)
		want["missing"] = nil
		for key, values := range want {
			v, err := s.Lookup([]byte(key))
			if err != nil {
				t.Fatal(err)
			}
			r := v.Reader(v.Close)
			all, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			size := 0
			for _, value := range values {
				size += len(value)
				if !bytes.Contains(all, []byte(value)) {
					t.Fatalf("key %q lacks a value", key)
				}
			}
			if len(all) != size {
				t.Fatalf("key %q has %d bytes, want %d", key, len(all), size)
			}
		}
	})
}

func same(t *testing.T, got, want map[string][]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d keys, want %d", len(got), len(want))
	}
	for key, values := range want {
		slices.Sort(values)
		slices.Sort(got[key])
		if !slices.Equal(got[key], values) {
			t.Errorf("key %q has %d values, want %d, or other ones", key, len(got[key]), len(values))
		}
	}
}

// TestPrefix checks that prefixes compare as the keys they stand for.
func TestPrefix(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	key := func() []byte {
		b := make([]byte, random.IntN(20))
		for i := range b {
			b[i] = byte(random.IntN(2)) * 255
		}
		return b
	}
	for range 200_000 {
		a, b := key(), key()
		want := bytes.Compare(a, b)
		got := prefixOf(a).compare(prefixOf(b))
		if got != want && (got != 0 || prefixOf(a).whole()) {
			t.Fatalf("%v and %v: %d, want %d", a, b, got, want)
		}
	}
}

// TestKeep checks that a large value is kept without copying, and counted. A small one is copied, and so is one that is
// part of something larger.
func TestKeep(t *testing.T) {
	large := make([]byte, largeValue)
	for _, c := range []struct {
		name  string
		value []byte
		kept  bool
	}{
		{"large", large, true},
		{"small", make([]byte, largeValue-1), false},
		{"part", make([]byte, largeValue, 2*largeValue), false},
	} {
		m := NewMemory(1<<40, 1)
		s := NewStore(m, nil, false)
		w := s.Writer()
		key := []byte("key")
		if err := w.Keep(key, c.value); err != nil {
			t.Fatal(err)
		}
		w.Park()
		if _, size := s.Totals(); size < largeValue {
			t.Errorf("%s: %d bytes in all", c.name, size)
		}
		if held := m.Held() - int64(m.chunk); (held >= largeValue) != c.kept {
			t.Errorf("%s: %d bytes are held beside a chunk", c.name, held)
		}
		g, err := s.Open(partitionOf(key))
		if err != nil {
			t.Fatal(err)
		}
		if !g.Next() || !g.NextValue() {
			t.Fatalf("%s: no value; %v", c.name, g.Err())
		}
		if got := g.Value(); !bytes.Equal(got, c.value) || (&got[0] == &c.value[0]) != c.kept {
			t.Errorf("%s: kept is %t, want %t", c.name, &got[0] == &c.value[0], c.kept)
		}
		g.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if used := m.used.Load(); used != 0 {
			t.Errorf("%s: %d bytes of the budget are still taken", c.name, used)
		}
	}
}

// TestKeepSpills checks that values go to disk as usual when those that are kept exceed the budget.
func TestKeepSpills(t *testing.T) {
	dir, err := spill.NewDir(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMemory(1<<20, 1)
	s := NewStore(m, dir, false)
	w := s.Writer()
	for range 64 {
		if err := w.Keep([]byte("key"), make([]byte, 1<<18)); err != nil {
			t.Fatal(err)
		}
		if used := m.used.Load(); used > 2<<20 {
			t.Fatalf("%d bytes are held, with a budget of 1 MiB", used)
		}
	}
	w.Park()
	if err := errors.Join(s.Close(), dir.Close()); err != nil {
		t.Fatal(err)
	}
	if used := m.used.Load(); used != 0 {
		t.Errorf("%d bytes of the budget are still taken", used)
	}
}
