package shuffle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/runners/local/internal/spill"
)

// randomStore returns a store of records of random sizes, in runs that are randomly in memory or on disk, and its
// contents.
func randomStore(t *rapid.T, dir *spill.Dir, indexed bool) (*Store, map[string][]string) {
	s := NewStore(NewMemory(1<<40, 2), dir, indexed)
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
	runs := rapid.IntRange(1, 3*widest).Draw(t, "runs")
	keys := rapid.IntRange(1, 40).Draw(t, "keys")
	spilled := rapid.Float64Range(0, 1).Draw(t, "spilled")
	want := map[string][]string{}
	for i := range runs {
		w := s.Writer()
		for range 1 + random.IntN(8) {
			key := bytes.Repeat([]byte{0}, random.IntN(keys)) // of all lengths around that of the prefix
			if random.IntN(2) == 0 {
				key = binary.AppendUvarint(key, uint64(random.IntN(keys)))
			}
			size := random.IntN(1 << random.IntN(10))
			if random.IntN(400) == 0 {
				size = random.IntN(1 << 20)
			}
			value := make([]byte, size)
			for i := 0; i < size; i += 7 {
				value[i] = byte(random.Uint32())
			}
			add := w.Keep
			if random.IntN(2) == 0 {
				add = func(key, value []byte) error { return w.Append(nil, key, value) }
			}
			if err := add(key, value); err != nil {
				t.Fatal(err)
			}
			want[string(key)] = append(want[string(key)], string(value))
		}
		if random.Float64() < spilled {
			if err := w.spill(); err != nil {
				t.Fatal(err)
			}
		}
		if i%3 > 0 { // otherwise the next writer continues the run
			defer w.Park()
		} else {
			w.Park()
		}
	}
	for _, values := range want {
		slices.Sort(values)
	}
	return s, want
}

// checked checks a property of random stores. Everything they hold must be gone afterwards.
func checked(t *testing.T, indexed bool, property func(t *rapid.T, s *Store, want map[string][]string)) {
	dir, err := spill.NewDir(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s, want := randomStore(t, dir, indexed)
		property(t, s, want)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if used := s.mem.used.Load(); used != 0 {
			t.Fatalf("%d bytes of the budget are still taken", used)
		}
	})
	if err := dir.Close(); err != nil {
		t.Error(err)
	}
}

// TestGroupsAreTheSortedMap compares each partition with a map whose keys are sorted. It reads the rest of some groups
// from the middle, and some of these rests only after all groups were read.
func TestGroupsAreTheSortedMap(t *testing.T) {
	checked(t, false, func(t *rapid.T, s *Store, want map[string][]string) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "reads"), 6))
		got := map[string][]string{}
		for p := range Partitions {
			var keys []string
			for _, key := range slices.Sorted(maps.Keys(want)) {
				if partitionOf([]byte(key)) == p {
					keys = append(keys, key)
				}
			}
			if size := s.Bytes(p); (size > 0) != (len(keys) > 0) {
				t.Fatalf("partition %d has %d bytes and %d keys", p, size, len(keys))
			}
			g, err := s.Open(p)
			if err != nil {
				t.Fatal(err)
			}
			var rests []func()
			for _, key := range keys {
				if !g.Next() || string(g.Key()) != key {
					t.Fatalf("partition %d stands at key %q, want %q; %v", p, g.Key(), key, g.Err())
				}
				if random.IntN(8) == 0 { // skip the rest of the group
					rest := g.Rest()
					got[key] = want[key]
					rests = append(rests, func() { contents(t, rest, want[key]) })
					continue
				}
				for random.IntN(8) > 0 && g.NextValue() {
					got[key] = append(got[key], string(g.Value()))
				}
				rest, left := g.Rest(), missing(want[key], got[key])
				rests = append(rests, func() { contents(t, rest, left) }, func() { contents(t, rest, left) })
				if random.IntN(2) == 0 {
					contents(t, rest, left)
				}
				for g.NextValue() {
					got[key] = append(got[key], string(g.Value()))
				}
			}
			if g.Next() || g.Err() != nil {
				t.Fatalf("partition %d goes on with key %q; %v", p, g.Key(), g.Err())
			}
			for _, read := range rests {
				read()
			}
			g.Close()
		}
		for key, values := range want {
			slices.Sort(got[key])
			if !slices.Equal(got[key], values) {
				t.Fatalf("key %q has %d values, want %d, or other ones", key, len(got[key]), len(values))
			}
		}
	})
}

// TestLookupIsTheMap looks up all keys, several at a time, and similar keys that do not exist.
func TestLookupIsTheMap(t *testing.T) {
	checked(t, true, func(t *rapid.T, s *Store, want map[string][]string) {
		var readers sync.WaitGroup
		for key, values := range want {
			readers.Go(func() {
				for _, k := range []string{key, key + "\x00", key + "\xff"} {
					v, err := s.Lookup([]byte(k))
					if err != nil {
						t.Error(err)
						return
					}
					if k == key {
						contents(t, v, values)
						contents(t, v, values)
					} else {
						contents(t, v, want[k])
					}
					v.Close()
				}
			})
		}
		readers.Wait()
	})
}

// missing returns the elements of all that are not in some. all is sorted.
func missing(all, some []string) (left []string) {
	some = slices.Clone(some)
	for _, v := range all {
		if i := slices.Index(some, v); i >= 0 {
			some = slices.Delete(some, i, i+1)
		} else {
			left = append(left, v)
		}
	}
	return left
}

// contents reads values in pieces of many sizes and compares them with want. They come one after another in any order,
// so all bytes together must be the same, and each value must be among them.
func contents(t *rapid.T, v *Values, want []string) {
	closed := false
	r := v.Reader(func() { closed = true })
	var all []byte
	var err error
	for piece := 1; err == nil; piece = piece*2%65_537 + 1 {
		b, n := make([]byte, piece), 0
		n, err = r.Read(b)
		all = append(all, b[:n]...)
	}
	if err != io.EOF {
		t.Errorf("got %v at the end, want %v", err, io.EOF)
	}
	if err := r.Close(); err != nil || !closed {
		t.Errorf("the reader closes with %v, and its hook ran: %t", err, closed)
	}
	var got, expected [256]int
	for _, b := range all {
		got[b]++
	}
	for _, v := range want {
		for _, b := range []byte(v) {
			expected[b]++
		}
		if !bytes.Contains(all, []byte(v)) {
			t.Errorf("a value of %d bytes is missing", len(v))
		}
	}
	if got != expected {
		t.Errorf("%d bytes are not those of %d values", len(all), len(want))
	}
}

// TestManyWritersShareABudget checks writers whose runs are spilled while others write.
func TestManyWritersShareABudget(t *testing.T) {
	for _, budget := range []int64{1, 64 << 10, 1 << 20} {
		t.Run(fmt.Sprint(budget), func(t *testing.T) {
			dir, err := spill.NewDir(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			mem := NewMemory(budget, 4)
			stores := []*Store{NewStore(mem, dir, false), NewStore(mem, dir, true)}
			const writers, bundles, records = 8, 1000, 2
			var all sync.WaitGroup
			for i := range writers {
				all.Go(func() {
					for b := range bundles {
						w := stores[b%2].Writer()
						for r := range records {
							key := binary.BigEndian.AppendUint32(nil, uint32(r))
							if err := w.Append(nil, key, fmt.Append(make([]byte, 100), i, b, r)); err != nil {
								t.Error(err)
							}
						}
						w.Park()
					}
				})
			}
			all.Wait()
			for _, s := range stores {
				seen := map[string]int{}
				for p := range Partitions {
					g, err := s.Open(p)
					if err != nil {
						t.Fatal(err)
					}
					for g.Next() {
						for g.NextValue() {
							seen[string(g.Key())+string(g.Value())]++
						}
					}
					if g.Err() != nil {
						t.Fatal(g.Err())
					}
					g.Close()
				}
				if len(seen) != writers*bundles/2*records {
					t.Errorf("%d records, want %d", len(seen), writers*bundles/2*records)
				}
				for record, n := range seen {
					if n != 1 {
						t.Fatalf("%q came %d times", record, n)
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			if used := mem.used.Load(); used != 0 {
				t.Errorf("%d bytes of the budget are still taken", used)
			}
			if err := dir.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
