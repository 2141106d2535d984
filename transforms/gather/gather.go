// Package gather reads the values of a group, and brings all values of a kind to one call.
package gather

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
)

func init() {
	beam.RegisterFunction(emptyFn)
}

// Key is the key of all values that one call gathers.
const Key int64 = 0

type (
	// Values are KV<Key, value>.
	Values beam.PCollection
	// Group is the one group of Values.
	Group beam.PCollection
)

// All brings values to one call, which happens even if there are none: it gets one empty value in addition. One
// GroupByKey.
//
//	KV<Key, value> … → KV<Key, group of values>
func All(s beam.Scope, values ...Values) Group {
	s = s.Scope("gather.All")
	all := []beam.PCollection{beam.ParDo(s, emptyFn, beam.Impulse(s))}
	for _, some := range values {
		all = append(all, beam.PCollection(some))
	}
	return Group(beam.GroupByKey(s, beam.Flatten(s, all...)))
}

// emptyFn emits an empty value.
//
//	Impulse → KV<Key, empty>
func emptyFn(_ []byte, emit func(int64, []byte)) { emit(Key, []byte{}) }

// EmitJSON emits a value for EachJSON.
func EmitJSON(v any, emit func(int64, []byte)) error {
	data, err := json.Marshal(v)
	if err == nil {
		emit(Key, data)
	}
	return err
}

// EachJSON calls do with each value of a group of All.
func EachJSON[T any](group func(*[]byte) bool, do func(*T)) error {
	var data []byte
	for group(&data) {
		if len(data) == 0 { // the empty value of All
			continue
		}
		var v T
		if err := json.Unmarshal(data, &v); err != nil {
			return err
		}
		do(&v)
	}
	return nil
}

// Counted returns emit with the emitted bytes counted.
func Counted(ctx context.Context, bytes beam.Counter, emit func(int64, []byte)) func(int64, []byte) {
	return func(key int64, block []byte) {
		bytes.Inc(ctx, int64(len(block)))
		emit(key, block)
	}
}

// Each calls do with a decoder of each block of a group until the block is read; do must read one value. Blocks are not
// overwritten afterwards. After an error the last value is incomplete.
func Each(group func(*[]byte) bool, do func(*blocks.Decoder)) error {
	var block []byte
	for group(&block) {
		d := blocks.NewDecoder(block)
		for !d.Done() {
			do(d)
		}
		if err := d.Err(); err != nil {
			return err
		}
		block = nil
	}
	return nil
}

// Edges calls do with each edge of a group.
func Edges(group func(*[]byte) bool, do func(blocks.Edge)) error {
	return each(group, blocks.DecodeEdges, do)
}

// NearPairs calls do with each near pair of a group.
func NearPairs(group func(*[]byte) bool, do func(blocks.NearPair)) error {
	return each(group, blocks.DecodeNearPairs, do)
}

func each[T any](group func(*[]byte) bool, decode func(dst []T, block []byte) ([]T, error), do func(T)) error {
	var values []T
	var block []byte
	var err error
	for group(&block) {
		if values, err = decode(values[:0], block); err != nil {
			return err
		}
		for _, v := range values {
			do(v)
		}
	}
	return nil
}

// WriteEdges writes the distinct edges to a file in sorted order. It sorts edges in place.
func WriteEdges(ctx context.Context, file string, edges []blocks.Edge) error {
	slices.SortFunc(edges, blocks.Edge.Compare)
	_, err := storage.WriteBelow(ctx, storage.Dir(file), file, func(w io.Writer) error {
		var buffer []byte
		for _, e := range slices.Compact(edges) {
			buffer = blocks.AppendEdge(buffer[:0], e)
			if _, err := w.Write(buffer); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// ReadEdges reads the file that WriteEdges wrote. A missing file means no edges.
func ReadEdges(ctx context.Context, file string) ([]blocks.Edge, error) {
	data, err := storage.ReadFile(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return blocks.DecodeEdges(nil, data)
}
