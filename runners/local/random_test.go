package local

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/neardup/neardup/internal/nightly"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[generate]())
	beam.RegisterDoFn(reflect.TypeFor[affine]())
	beam.RegisterDoFn(reflect.TypeFor[part]())
	beam.RegisterDoFn(reflect.TypeFor[reduce]())
	beam.RegisterDoFn(reflect.TypeFor[join]())
	beam.RegisterDoFn(reflect.TypeFor[withAll]())
	beam.RegisterDoFn(reflect.TypeFor[withKey]())
	beam.RegisterDoFn(reflect.TypeFor[gather]())
	register.Combiner3[sumCount, int64, int64](&total{})
	register.Emitter2[int64, int64]()
	register.Iter1[int64]()
	register.Iter2[int64, int64]()
}

// pair is an element of the random pipelines.
type pair struct{ K, V int64 }

// A random pipeline is a sequence of operations on collections that earlier operations made. Each operation has a form
// for Beam and one for the plain model. Both call the same arithmetic below, which does not depend on order.

func affinePairs(a int64, p pair) []pair {
	switch p.V & 3 {
	case 0:
		return nil
	case 1:
		return []pair{{p.K + a, p.V * 3}, {p.K, p.V ^ a}}
	}
	return []pair{{p.K ^ (a & 7), p.V + a}}
}

func goesFirst(a int64, p pair) bool { return (p.K^p.V^a)&1 == 0 }

func reducePair(k int64, values []int64) pair {
	var sum, squares int64
	for _, v := range values {
		sum += v
		squares += v * v
	}
	return pair{k, sum ^ squares<<1 ^ int64(len(values))}
}

func joinPair(k int64, first, second []int64) pair {
	return pair{k, 3*reducePair(k, first).V + reducePair(k, second).V}
}

func withAllPair(p pair, all []pair) pair {
	var sum int64
	for _, s := range all {
		sum += s.K * s.V
	}
	return pair{p.K, p.V ^ sum}
}

func withKeyPair(p pair, values []int64) pair { return pair{p.K, p.V + reducePair(p.K, values).V} }

func totalOf(k int64, values []int64) pair {
	var sum int64
	for _, v := range values {
		sum += v
	}
	return pair{k, sum*31 + int64(len(values))}
}

func generated(seed, n, keys int64) (pairs []pair) {
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	for range n {
		pairs = append(pairs, pair{random.Int64N(keys) - keys/2, random.Int64() >> random.IntN(60)})
	}
	return pairs
}

type generate struct{ Seed, N, Keys int64 }

func (f *generate) ProcessElement(_ []byte, emit func(int64, int64)) {
	for _, p := range generated(f.Seed, f.N, f.Keys) {
		emit(p.K, p.V)
	}
}

type affine struct{ A int64 }

func (f *affine) ProcessElement(k, v int64, emit func(int64, int64)) {
	for _, p := range affinePairs(f.A, pair{k, v}) {
		emit(p.K, p.V)
	}
}

type part struct{ A int64 }

func (f *part) ProcessElement(k, v int64, first, second func(int64, int64)) {
	if goesFirst(f.A, pair{k, v}) {
		first(k, v)
	} else {
		second(k, v)
	}
}

func list(values func(*int64) bool) (all []int64) {
	var v int64
	for values(&v) {
		all = append(all, v)
	}
	return all
}

type reduce struct{}

func (*reduce) ProcessElement(k int64, values func(*int64) bool, emit func(int64, int64)) {
	p := reducePair(k, list(values))
	emit(p.K, p.V)
}

type join struct{}

func (*join) ProcessElement(k int64, first, second func(*int64) bool, emit func(int64, int64)) {
	p := joinPair(k, list(first), list(second))
	emit(p.K, p.V)
}

type withAll struct{}

func (*withAll) ProcessElement(k, v int64, side func(*int64, *int64) bool, emit func(int64, int64)) {
	var all []pair
	var s pair
	for side(&s.K, &s.V) {
		all = append(all, s)
	}
	p := withAllPair(pair{k, v}, all)
	emit(p.K, p.V)
}

type withKey struct{}

func (*withKey) ProcessElement(k, v int64, side func(int64) func(*int64) bool, emit func(int64, int64)) {
	p := withKeyPair(pair{k, v}, list(side(k)))
	emit(p.K, p.V)
}

type sumCount struct{ Sum, Count int64 }

type total struct{}

func (*total) AddInput(a sumCount, v int64) sumCount { return sumCount{a.Sum + v, a.Count + 1} }
func (*total) MergeAccumulators(a, b sumCount) sumCount {
	return sumCount{a.Sum + b.Sum, a.Count + b.Count}
}
func (*total) ExtractOutput(a sumCount) int64 { return a.Sum*31 + a.Count }

// gather collects the elements that reach it, for the test.
type gather struct {
	Run        int64
	Collection int
}

func (f *gather) ProcessElement(k, v int64) {
	gathered.Lock()
	defer gathered.Unlock()
	gathered.runs[f.Run][f.Collection] = append(gathered.runs[f.Run][f.Collection], pair{k, v})
}

var gathered = struct {
	sync.Mutex
	next int64
	runs map[int64][][]pair
}{runs: map[int64][][]pair{}}

// operation makes one or two collections from others.
type operation struct {
	kind   string
	in     []int
	a      int64
	n, key int64
}

var kinds = []string{"affine", "part", "group", "cogroup", "combine", "flatten", "reshuffle", "all", "keyed"}

// randomOperations returns a pipeline and the number of collections it makes.
func randomOperations(random *rand.Rand) (ops []operation, made int) {
	for range 1 + random.IntN(2) {
		ops = append(ops, operation{kind: "source", a: random.Int64N(1e6), n: random.Int64N(2000), key: 1 + random.Int64N(1<<random.IntN(12))})
		made++
	}
	for range 2 + random.IntN(8) {
		op := operation{kind: kinds[random.IntN(len(kinds))], a: random.Int64N(1000)}
		inputs := 1
		switch op.kind {
		case "cogroup", "all", "keyed":
			inputs = 2
		case "flatten":
			inputs = 2 + random.IntN(2)
		}
		for range inputs {
			op.in = append(op.in, random.IntN(made))
		}
		ops = append(ops, op)
		if made++; op.kind == "part" {
			made++
		}
	}
	return ops, made
}

// model runs the operations on slices.
func model(ops []operation) (made [][]pair) {
	for _, op := range ops {
		var in [][]pair
		for _, i := range op.in {
			in = append(in, made[i])
		}
		var out, second []pair
		switch op.kind {
		case "source":
			out = generated(op.a, op.n, op.key)
		case "affine":
			for _, p := range in[0] {
				out = append(out, affinePairs(op.a, p)...)
			}
		case "part":
			for _, p := range in[0] {
				if goesFirst(op.a, p) {
					out = append(out, p)
				} else {
					second = append(second, p)
				}
			}
		case "group":
			for k, values := range byKey(in[0]) {
				out = append(out, reducePair(k, values))
			}
		case "cogroup":
			a, b := byKey(in[0]), byKey(in[1])
			for k := range byKey(slices.Concat(in[0], in[1])) {
				out = append(out, joinPair(k, a[k], b[k]))
			}
		case "combine":
			for k, values := range byKey(in[0]) {
				out = append(out, totalOf(k, values))
			}
		case "flatten":
			out = slices.Concat(in...)
		case "reshuffle":
			out = in[0]
		case "all":
			for _, p := range in[0] {
				out = append(out, withAllPair(p, in[1]))
			}
		case "keyed":
			side := byKey(in[1])
			for _, p := range in[0] {
				out = append(out, withKeyPair(p, side[p.K]))
			}
		}
		made = append(made, out)
		if op.kind == "part" {
			made = append(made, second)
		}
	}
	return made
}

func byKey(pairs []pair) map[int64][]int64 {
	m := map[int64][]int64{}
	for _, p := range pairs {
		m[p.K] = append(m[p.K], p.V)
	}
	return m
}

// build builds a pipeline from the operations, and gathers all collections.
func build(ops []operation, run int64) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	var made []beam.PCollection
	for _, op := range ops {
		var in []beam.PCollection
		for _, i := range op.in {
			in = append(in, made[i])
		}
		switch op.kind {
		case "source":
			made = append(made, beam.ParDo(s, &generate{op.a, op.n, op.key}, beam.Impulse(s)))
		case "affine":
			made = append(made, beam.ParDo(s, &affine{op.a}, in[0]))
		case "part":
			first, second := beam.ParDo2(s, &part{op.a}, in[0])
			made = append(made, first, second)
		case "group":
			made = append(made, beam.ParDo(s, &reduce{}, beam.GroupByKey(s, in[0])))
		case "cogroup":
			made = append(made, beam.ParDo(s, &join{}, beam.CoGroupByKey(s, in[0], in[1])))
		case "combine":
			made = append(made, beam.CombinePerKey(s, &total{}, in[0]))
		case "flatten":
			made = append(made, beam.Flatten(s, in...))
		case "reshuffle":
			made = append(made, beam.Reshuffle(s, in[0]))
		case "all":
			made = append(made, beam.ParDo(s, &withAll{}, in[0], beam.SideInput{Input: in[1]}))
		case "keyed":
			made = append(made, beam.ParDo(s, &withKey{}, in[0], beam.SideInput{Input: in[1]}))
		}
	}
	for i, c := range made {
		beam.ParDo0(s, &gather{run, i}, c)
	}
	return p
}

// execute runs the operations and returns the elements of each collection.
func execute(t *testing.T, ops []operation, made int, runner string, o Options) [][]pair {
	t.Helper()
	gathered.Lock()
	gathered.next++
	run := gathered.next
	gathered.runs[run] = make([][]pair, made)
	gathered.Unlock()
	if _, err := beam.Run(WithOptions(context.Background(), o), runner, build(ops, run)); err != nil {
		t.Fatalf("%s: %v\n%s", runner, err, describe(ops))
	}
	gathered.Lock()
	defer gathered.Unlock()
	got := gathered.runs[run]
	delete(gathered.runs, run)
	return got
}

func describe(ops []operation) (text string) {
	for i, op := range ops {
		text += fmt.Sprintf("  %d: %+v\n", i, op)
	}
	return text
}

func sorted(pairs []pair) []pair {
	pairs = slices.Clone(pairs)
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.K, b.K), cmp.Compare(a.V, b.V)) })
	return pairs
}

// TestRandomPipelines compares the runner, in all settings, with a plain model that works on slices. Now and then, it
// also compares the model with Prism.
func TestRandomPipelines(t *testing.T) {
	pipelines := 12
	if nightly.On() {
		pipelines = 200
	}
	for seed := range pipelines {
		ops, made := randomOperations(rand.New(rand.NewPCG(uint64(seed), 2)))
		want := model(ops)
		compare := func(name string, got [][]pair) {
			for i := range want {
				if !slices.Equal(sorted(got[i]), sorted(want[i])) {
					t.Fatalf("seed %d, %s: collection %d has %d elements, want %d, or other ones\n%s", seed, name, i, len(got[i]), len(want[i]), describe(ops))
				}
			}
		}
		for _, s := range settings {
			compare(s.name, execute(t, ops, made, "local", s.options))
		}
		if seed%30 == 0 {
			compare("prism", execute(t, ops, made, "prism", Options{}))
		}
	}
}
