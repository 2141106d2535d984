package shuffle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/runners/local/internal/spill"
)

// filled returns a store of records that several writers wrote, and what it should hold.
func filled(t *testing.T, budget int64, records int, indexed bool) (*Store, map[string][]string) {
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
			if err := w.Append(key[:cutAt], key[cutAt:], []byte(value)); err != nil {
				t.Fatal(err)
			}
			want[string(key)] = append(want[string(key)], value)
			i++
		}
		w.Park()
	}
	s.Finish()
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

// TestRest reads the rest of groups twice, at once, from places in their midst.
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
				for g.NextValue() { // the groups go on where they were
					got[key] = append(got[key], string(g.Value()))
				}
			}
			g.Close()
		}
		same(t, got, want)
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

// TestPrefix compares prefixes as the keys they stand for.
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
