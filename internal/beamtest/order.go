package beamtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
)

// Orders is a runner that makes two attempts at each DoFn, and compares their outputs for each key. The first attempt
// gets all elements in one bundle. The second gets them, and the values of groups, in another order, in small bundles,
// and packed into other blocks by earlier DoFns. For some keys it gets the first attempt's output, as on an engine that
// has lost a part of its work and repeats it.
//
// It fails if a DoFn changes bytes of its input, which other DoFns may share.
//
// It runs only what our pipelines consist of: elements are bytes, int64, or bytes under a key, an int64 or bytes.
type Orders struct {
	// Records splits an output of a DoFn (as "package.name") into the records that are packed in it.
	Records func(fn string, output int, value []byte) (records []string, err error)
	// Combines reports whether a DoFn combines the values of a bundle. If so, attempts with one bundle each are compared,
	// and the next DoFn gets the output of small bundles.
	Combines func(fn string) bool
	// Passes reports whether a DoFn passes values on unchanged, only under other keys or not at all. Their records are
	// those of the DoFn that made them.
	Passes func(fn string) bool
	// Differs is called for each output whose attempts differ.
	Differs func(fn string, err error)

	// Fed has the DoFns whose input had an order: two elements, or two values of a group; or was an Impulse, which has
	// none.
	Fed map[string]bool

	pipelines uint64
}

// attempts are the output elements of either attempt.
type attempts [2][]element

// Run runs a pipeline.
func (o *Orders) Run(ctx context.Context, p *beam.Pipeline) (beam.PipelineResult, error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, err
	}
	if o.Fed == nil {
		o.Fed = map[string]bool{}
	}
	o.pipelines++
	data := map[int]attempts{} // by node
	for left := edges; len(left) > 0; {
		var later []*graph.MultiEdge
		for _, e := range left {
			if slices.ContainsFunc(e.Input, func(in *graph.Inbound) bool { _, done := data[in.From.ID()]; return !done }) {
				later = append(later, e)
				continue
			}
			var inputs []attempts
			for _, in := range e.Input {
				inputs = append(inputs, data[in.From.ID()])
			}
			outputs, err := o.edge(ctx, e, inputs)
			if err != nil {
				return nil, err
			}
			for i, out := range e.Output {
				data[out.To.ID()] = outputs[i]
			}
		}
		left = later
	}
	return noResult{}, nil
}

type noResult struct{}

func (noResult) Metrics() metrics.Results { return metrics.Results{} }
func (noResult) JobID() string            { return "" }

// element is a value, alone or under a key, or the values of a key.
type element struct {
	args   []any      // int64 or []byte
	groups [][][]byte // for each input of a CoGroupByKey
	from   output     // origin of the value or, for a group, of a value of the last input
}

// output identifies an output of a DoFn.
type output struct {
	fn string
	of int
}

// key returns the key as bytes, an int64 in big-endian order, or false if there is none.
func (e element) key() (key string, ok bool) {
	switch first := e.args[0].(type) {
	case int64:
		return string(binary.BigEndian.AppendUint64(nil, uint64(first))), true
	case []byte:
		if len(e.args) > 1 || e.groups != nil {
			return string(first), true
		}
	}
	return "", false
}

func (e element) value() []byte {
	value, _ := e.args[len(e.args)-1].([]byte)
	return value
}

// edge returns the outputs of an edge.
func (o *Orders) edge(ctx context.Context, e *graph.MultiEdge, inputs []attempts) ([]attempts, error) {
	var out attempts
	switch e.Op {
	case graph.Impulse:
		impulse := []element{{args: []any{e.Value}}}
		return []attempts{{impulse, impulse}}, nil
	case graph.Reshuffle, graph.Flatten:
		for _, in := range inputs {
			for i := range out {
				out[i] = append(out[i], in[i]...)
			}
		}
		return []attempts{out}, nil
	case graph.CoGBK:
		for i := range out {
			out[i] = grouped(inputs, i)
		}
		return []attempts{out}, nil
	case graph.ParDo:
		random := rand.New(rand.NewPCG(o.pipelines, uint64(e.ID())))
		return o.parDo(ctx, random, (*graph.Fn)(e.DoFn), len(e.Output), inputs[0])
	}
	return nil, fmt.Errorf("%v: not what our pipelines are made of", e)
}

// grouped groups the inputs of an attempt by key.
func grouped(inputs []attempts, attempt int) (all []element) {
	byKey := map[string]element{}
	for i, in := range inputs {
		for _, value := range in[attempt] {
			key, _ := value.key()
			group, ok := byKey[key]
			if !ok {
				group = element{args: value.args[:1], groups: make([][][]byte, len(inputs))}
			}
			group.groups[i] = append(group.groups[i], value.value())
			group.from = value.from
			byKey[key] = group
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		all = append(all, byKey[key])
	}
	return all
}

// parDo makes both attempts at a DoFn.
func (o *Orders) parDo(
	ctx context.Context, random *rand.Rand, fn *graph.Fn, outputs int, in attempts,
) ([]attempts, error) {
	d, err := newDoFn(fn)
	if err != nil {
		return nil, err
	}
	d.passes = o.Passes(d.name)
	if err := d.call(ctx, "Setup", element{}, nil); err != nil {
		return nil, err
	}
	if ordered(in[1]) {
		o.Fed[d.name] = true
	}
	again := shuffled(random, in[1])
	first, err := d.bundles(ctx, outputs, [][]element{in[0]})
	if err != nil {
		return nil, err
	}
	second, err := d.bundles(ctx, outputs, slices.Collect(slices.Chunk(again, 1+random.IntN(2))))
	if err != nil {
		return nil, err
	}
	compared := second
	if o.Combines(d.name) {
		if compared, err = d.bundles(ctx, outputs, [][]element{again}); err != nil {
			return nil, err
		}
	}
	if err := d.call(ctx, "Teardown", element{}, nil); err != nil {
		return nil, err
	}
	out := make([]attempts, outputs)
	for i := range out {
		out[i] = attempts{first[i], first[i]}
		if err := o.compare(first[i], compared[i]); err != nil {
			o.Differs(d.name, fmt.Errorf("output %d: %w", i, err))
			continue
		}
		out[i][1] = second[i]
		if !o.Combines(d.name) {
			out[i][1] = mixed(first[i], second[i], random.Int64N(2) == 1)
		}
	}
	return out, nil
}

// mixed returns the odd keys, or the even ones, of the first attempt and the others of the second; elements without a
// key are from the second.
func mixed(first, second []element, odd bool) (all []element) {
	for _, e := range first {
		if key, ok := e.key(); ok && isOdd(key) == odd {
			all = append(all, e)
		}
	}
	for _, e := range second {
		if key, ok := e.key(); !ok || isOdd(key) != odd {
			all = append(all, e)
		}
	}
	return all
}

func isOdd(key string) bool { return key != "" && key[len(key)-1]&1 == 1 }

// ordered reports whether elements, or the values of a group, can be in another order.
func ordered(all []element) bool {
	if len(all) == 0 {
		return false
	}
	impulse := all[0].groups == nil && len(all[0].value()) == 0
	return len(all) > 1 || impulse || slices.ContainsFunc(all[0].groups,
		func(values [][]byte) bool { return len(values) > 1 })
}

// shuffled returns elements, and the values of each group, in random order.
func shuffled(random *rand.Rand, all []element) []element {
	all = slices.Clone(all)
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, e := range all {
		all[i].groups = nil
		for _, values := range e.groups {
			values = slices.Clone(values)
			random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			all[i].groups = append(all[i].groups, values)
		}
	}
	return all
}

// compare returns an error that shows a difference between an output's records in two attempts.
func (o *Orders) compare(first, second []element) error {
	counts := map[string]map[string]int{}
	count := func(all []element, one int) error {
		for _, e := range all {
			records := []string{""} // for an int64
			if value := e.value(); value != nil {
				var err error
				if records, err = o.Records(e.from.fn, e.from.of, value); err != nil {
					return err
				}
			}
			key, _ := e.key()
			if counts[key] == nil {
				counts[key] = map[string]int{}
			}
			for _, r := range records {
				counts[key][r] += one
			}
		}
		return nil
	}
	if err := count(first, 1); err != nil {
		return err
	}
	if err := count(second, -1); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		for r, more := range counts[key] {
			if more != 0 {
				return fmt.Errorf("key %x has %.60q %+d times in bundles of another order", key, r, -more)
			}
		}
	}
	return nil
}

// doFn is a DoFn that is called as the SDK calls it.
type doFn struct {
	name   string
	passes bool          // it passes values on unchanged
	recv   reflect.Value // a pointer to a struct, or else fn
	fn     reflectx.Func
}

// newDoFn returns a copy of a DoFn, serialised as for a worker.
func newDoFn(fn *graph.Fn) (*doFn, error) {
	if fn.Fn != nil {
		return &doFn{name: path.Base(fn.Fn.Fn.Name()), fn: fn.Fn.Fn}, nil
	}
	t := reflect.TypeOf(fn.Recv).Elem()
	name, _, _ := strings.Cut(t.Name(), "[")
	d := &doFn{name: path.Base(t.PkgPath()) + "." + name, recv: reflect.New(t)}
	config, err := json.Marshal(fn.Recv)
	if err != nil {
		return nil, err
	}
	return d, json.Unmarshal(config, d.recv.Interface())
}

// bundles returns the output of bundles, by output.
func (d *doFn) bundles(ctx context.Context, outputs int, bundles [][]element) ([][]element, error) {
	emitted := make([][]element, outputs)
	before := contents(bundles)
	for _, bundle := range bundles {
		if err := d.call(ctx, "StartBundle", element{}, emitted); err != nil {
			return nil, err
		}
		for _, e := range bundle {
			if err := d.call(ctx, "ProcessElement", e, emitted); err != nil {
				return nil, err
			}
		}
		if err := d.call(ctx, "FinishBundle", element{}, emitted); err != nil {
			return nil, err
		}
	}
	if contents(bundles) != before {
		return nil, fmt.Errorf("%s changes bytes that it gets", d.name)
	}
	return emitted, nil
}

var contentsSeed = maphash.MakeSeed()

// contents returns a hash of the bytes of elements.
func contents(bundles [][]element) uint64 {
	var h maphash.Hash
	h.SetSeed(contentsSeed)
	for _, e := range slices.Concat(bundles...) {
		for _, values := range append(slices.Clip(e.groups), [][]byte{e.value()}) {
			for _, value := range values {
				_, _ = h.Write(value) // never fails
			}
		}
	}
	return h.Sum64()
}

// call calls a method, if it exists, with the arguments that its parameters need.
func (d *doFn) call(ctx context.Context, method string, e element, emitted [][]element) error {
	var t reflect.Type
	var run func([]reflect.Value) []reflect.Value
	switch {
	case d.fn == nil:
		m := d.recv.MethodByName(method)
		if !m.IsValid() {
			return nil
		}
		t, run = m.Type(), m.Call
	case method == "ProcessElement":
		t, run = d.fn.Type(), func(in []reflect.Value) (out []reflect.Value) {
			var args []any
			for _, v := range in {
				args = append(args, v.Interface())
			}
			for _, v := range d.fn.Call(args) {
				out = append(out, reflect.ValueOf(v))
			}
			return out
		}
	default:
		return nil
	}
	var in []reflect.Value
	args, groups, outputs := e.args, e.groups, 0
	for i := range t.NumIn() {
		switch p := t.In(i); {
		case p == reflect.TypeFor[context.Context]():
			in = append(in, reflect.ValueOf(ctx))
		case p == reflect.TypeFor[func(*[]byte) bool]():
			in, groups = append(in, reflect.ValueOf(Values(groups[0]...))), groups[1:]
		case p.Kind() == reflect.Func:
			from := output{d.name, outputs}
			if d.passes {
				from = e.from
			}
			in = append(in, emitter(p, from, &emitted[outputs]))
			outputs++
		default:
			in, args = append(in, reflect.ValueOf(args[0])), args[1:]
		}
	}
	for _, v := range run(in) {
		switch v := v.Interface().(type) {
		case error:
			return fmt.Errorf("%s.%s: %w", d.name, method, v)
		case []byte:
			emitted[0] = append(emitted[0], element{args: []any{bytes.Clone(v)}, from: output{fn: d.name}})
		}
	}
	return nil
}

// emitter returns an emitter of type t that appends to an output. It copies values, because the caller may overwrite
// them.
func emitter(t reflect.Type, from output, to *[]element) reflect.Value {
	return reflect.MakeFunc(t, func(in []reflect.Value) []reflect.Value {
		e := element{from: from}
		for _, v := range in {
			arg := v.Interface()
			if value, ok := arg.([]byte); ok {
				arg = append([]byte{}, value...)
			}
			e.args = append(e.args, arg)
		}
		*to = append(*to, e)
		return nil
	})
}
