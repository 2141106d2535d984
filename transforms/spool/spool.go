// Package spool writes the shingle sets of large components to files, once each, in batches whose order an earlier step
// has chosen. Later steps can read them any number of times.
package spool

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
)

func init() {
	flow.Register[routeFn]()
	flow.Register[batchFn]()
}

// Sets writes the sets of large components to files.
//
//	KV<document, set part>, KV<document, turn>, KV<document, turn> → KV<component, batches> of the first turns, and of the second
//
// A document without a turn is a copy, whose set is dropped. One CoGroupByKey and two GroupByKeys, which hold a batch.
func Sets(s beam.Scope, sets flow.LargeSets, crowds, others flow.Turns, temp string) (ofCrowds, ofOthers flow.Batches) {
	s = s.Scope("spool.Sets")
	toCrowds, toOthers := beam.ParDo2(s, &routeFn{}, beam.CoGroupByKey(s, beam.PCollection(sets), beam.PCollection(crowds),
		beam.PCollection(others)))
	write := func(routed beam.PCollection) flow.Batches {
		return flow.Batches(beam.ParDo(s, &batchFn{Temp: temp}, beam.GroupByKey(s, routed)))
	}
	return write(toCrowds), write(toOthers)
}

// routeFn sends each set to its batch.
//
//	KV<document, set parts, turns, turns> → KV<batch's hash, turn and set part> of the first turns, and of the second
type routeFn struct{}

func (f *routeFn) ProcessElement(
	_ int64, parts, crowds, others func(*[]byte) bool, toCrowds, toOthers func(int64, []byte),
) error {
	emit := toCrowds
	var turn, block []byte
	if !crowds(&turn) {
		if emit = toOthers; !others(&turn) {
			return nil
		}
	}
	d := blocks.NewDecoder(turn)
	t := d.Turn()
	if err := d.Err(); err != nil {
		return err
	}
	batch := int64(hash.Mix(hash.Mix(uint64(t.Component))+uint64(t.Batch)) >> 1)
	for parts(&block) {
		emit(batch, slices.Concat(turn, block))
	}
	return nil
}

// batchFn writes the sets of batches to files, in the order of their turns.
//
//	KV<batch's hash, turns and set parts> → KV<component, batches>
type batchFn struct{ Temp string }

func (f *batchFn) ProcessElement(
	ctx context.Context, _ int64, values func(*[]byte) bool, emit func(int64, []byte),
) error {
	type content struct {
		parts   [][]byte
		numbers map[blocks.Key]int // numbers of the turns
	}
	contents := map[blocks.Turn]*content{} // keys have Number 0; more than one only if hashes collide
	hold := memory.NewHold(ctx)
	defer hold.Free()
	var value []byte
	for values(&value) {
		d := blocks.NewDecoder(value)
		t := d.Turn()
		encoded := value[len(value)-d.Left():]
		part := d.SetPart()
		if err := d.Err(); err != nil {
			return err
		}
		if err := assembles(ctx, hold, &part); err != nil {
			return err
		}
		of := blocks.Turn{Component: t.Component, Batch: t.Batch}
		if contents[of] == nil {
			contents[of] = &content{numbers: map[blocks.Key]int{}}
		}
		contents[of].parts = append(contents[of].parts, encoded)
		contents[of].numbers[part.Key] = t.Number
		value = nil
	}
	for of, c := range contents {
		sets, err := blocks.AssembleSets(c.parts)
		if err != nil {
			return err
		}
		number := func(i int) int { return c.numbers[sets.Keys[i]] }
		err = writeBatch(ctx, f.Temp, of.Component, of.Batch, sets,
			func(i, j int) int { return cmp.Compare(number(i), number(j)) }, emit)
		if err != nil {
			return err
		}
	}
	return nil
}

// writeBatch writes sets to a file, ordered by comparing their indexes, and emits their batch.
//
//	KV<component, batches>
func writeBatch(
	ctx context.Context, temp string, component blocks.Key, number int, sets blocks.Sets, compare func(i, j int) int,
	emit func(int64, []byte),
) error {
	order := make([]int, len(sets.Sets))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, compare)
	var ordered blocks.Sets
	for _, i := range order {
		ordered.Keys, ordered.Sets = append(ordered.Keys, sets.Keys[i]), append(ordered.Sets, sets.Sets[i])
	}
	if err := Write(ctx, temp, BatchFile(temp, component, number), ordered); err != nil {
		return err
	}
	emit(int64(component), blocks.AppendBatch(nil, Describe(number, ordered)))
	return nil
}

// assembles adds to hold the memory of a set and its parts, when the first part arrives.
func assembles(ctx context.Context, hold *memory.Hold, part *blocks.SetPart) error {
	if part.First > 0 {
		return nil
	}
	return hold.Add(ctx, 2*blocks.ShingleBytes*int64(part.Total))
}

// Describe returns the batch of this number with these sets.
func Describe(number int, sets blocks.Sets) blocks.Batch {
	b := blocks.Batch{Number: number, Sets: len(sets.Sets)}
	for i, set := range sets.Sets {
		if b.Shingles += len(set); i == 0 {
			b.Smallest = len(set)
		}
		b.Smallest, b.Largest = min(b.Smallest, len(set)), max(b.Largest, len(set))
	}
	return b
}

// BatchFile returns the path of a batch of a component, below the run's folder temp.
func BatchFile(temp string, component blocks.Key, batch int) string {
	return File(temp, component, "batch", batch)
}

// File returns the path of a numbered file with sets of a component, below the run's folder temp. kind says what it
// has.
func File(temp string, component blocks.Key, kind string, number int) string {
	return storage.Join(temp, "sets", fmt.Sprintf("%d-%s-%d", int64(component), kind, number))
}

// Write writes sets to a file below the run's folder temp, for Read.
func Write(ctx context.Context, temp, name string, sets blocks.Sets) error {
	_, err := storage.WriteBelow(ctx, temp, name, sets.Write)
	return err
}

// Read reads the file that Write wrote.
func Read(ctx context.Context, name string) (blocks.Sets, error) {
	return Pick(ctx, name, nil, nil)
}

// Pick is like Read, but reads only the sets at the wanted indexes, which must ascend, with the keys of all sets. It
// adds the size of the file to hold.
func Pick(ctx context.Context, name string, wanted []int, hold *memory.Hold) (blocks.Sets, error) {
	file, err := storage.OpenFile(ctx, name)
	if err != nil {
		return blocks.Sets{}, err
	}
	defer file.Close()
	if err := hold.Add(ctx, file.Size()); err != nil {
		return blocks.Sets{}, err
	}
	sets, err := blocks.PickSets(file, wanted)
	if err != nil {
		return blocks.Sets{}, fmt.Errorf("%s: %w", name, err)
	}
	return sets, nil
}
