package sink

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/klauspost/compress/s2"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/dofn"
	groups "github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/storage"
)

func init() {
	dofn.Register[sliceFn]()
	beam.RegisterFunction(packFn)
	dofn.Register[runFn]()
}

// runs sorts the rows of each slice of a shard.
//
//	KV<shard, rows> → KV<shard, rows>
//
// One GroupByKey by slice.
func runs(s beam.Scope, name string, slices int, p Params, rows beam.PCollection) beam.PCollection {
	sliced := beam.ParDo(s, &sliceFn{Slices: int64(slices)}, rows)
	if p.Pack {
		sliced = beam.ParDo(s, packFn, sliced)
	}
	return beam.ParDo(s, &runFn{Temp: p.Temp, Name: name, Slices: int64(slices), Few: int(p.GroupRows) / slices,
		Held: p.held(), Packed: p.Pack}, beam.GroupByKey(s, sliced))
}

// sliceFn spreads the rows of a shard over its slices. A row's slice depends on its sort key alone, because a repeated
// step may receive its blocks in another order.
//
//	KV<shard, rows> → KV<slice, rows>
type sliceFn struct {
	Slices int64

	buffers blocks.Buffers
}

func (f *sliceFn) ProcessElement(shard int64, block []byte, emit func(int64, []byte)) error {
	for d := blocks.NewDecoder(block); !d.Done(); {
		part := d.RowPart()
		if err := d.Err(); err != nil {
			return err
		}
		f.buffers.Add(shard*f.Slices+f.slice(part.Order), part.Append, emit)
	}
	return nil
}

// slice returns the slice of a row, by Fibonacci hashing, twice.
func (f *sliceFn) slice(order blocks.Edge) int64 {
	const golden = 0x9e3779b97f4a7c15
	mixed := uint64(order.A) * golden
	mixed = (mixed ^ mixed>>32 ^ uint64(order.B)) * golden
	return int64((mixed >> 32) % uint64(f.Slices))
}

func (f *sliceFn) FinishBundle(emit func(int64, []byte)) { f.buffers.Flush(emit) }

// packFn compresses rows.
//
//	KV<slice, rows> → KV<slice, packed rows>
func packFn(slice int64, rows []byte, emit func(int64, []byte)) { emit(slice, s2.Encode(nil, rows)) }

// unpacked unpacks the blocks of a group that packFn packed. It stops at a broken block and sets err.
func unpacked(packed func(*[]byte) bool, err *error) func(*[]byte) bool {
	return func(block *[]byte) bool {
		var in []byte
		if !packed(&in) {
			return false
		}
		*block, *err = s2.Decode(nil, in)
		return *err == nil
	}
}

// runFn sorts one slice. It passes on up to Few bytes directly, and writes more to files that marker rows name (Order
// == inFile).
//
//	KV<slice, rows> → KV<shard, rows>
type runFn struct {
	Temp, Name string // the run's temporary folder, and the table's name
	Slices     int64
	Few        int // maximum bytes of rows to pass on
	Held       int // maximum bytes of rows to hold in memory
	Packed     bool
}

// shardRows is how many bytes of a group's rows are held in memory by default.
const shardRows = 16 << 20

// inFile is the order of a row that names a file of rows.
var inFile = blocks.Edge{A: -1, B: -1}

func (f *runFn) ProcessElement(
	ctx context.Context, slice int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	var broken error
	if f.Packed {
		packed = unpacked(packed, &broken)
	}
	files, all, size, err := collect(ctx, f.Temp, f.Name, f.Held, packed)
	if broken != nil {
		return broken
	}
	if err != nil {
		return err
	}
	if len(files) == 0 && size <= f.Few {
		for _, block := range all {
			emit(slice/f.Slices, block)
		}
		return nil
	}
	if size > 0 {
		last, err := sortToFile(ctx, f.Temp, f.Name, all, size)
		if err != nil {
			return err
		}
		files = append(files, last)
	}
	for _, fields := range files {
		run := blocks.RowPart{RowPlace: blocks.RowPlace{Order: inFile}, Fields: fields}
		emit(slice/f.Slices, run.Append(nil))
	}
	return nil
}

// collect returns the blocks of a group of rows of the table name, and their size in bytes. It sorts rows beyond held
// bytes into files below the folder temp; files names these and the files of marker rows, for openRun.
func collect(
	ctx context.Context, temp, name string, held int, packed func(*[]byte) bool,
) (files, all [][]byte, size int, err error) {
	var block []byte
	for packed(&block) {
		if d := blocks.NewDecoder(block); !d.Done() {
			if first := d.RowPart(); first.Order == inFile { // such a row is a block of its own
				files = append(files, first.Fields)
				block = nil
				continue
			}
		}
		if size > 0 && size+len(block) > held {
			fields, err := sortToFile(ctx, temp, name, all, size)
			if err != nil {
				return nil, nil, 0, err
			}
			files = append(files, fields)
			all, size = nil, 0
		}
		all = append(all, block)
		size += len(block)
		block = nil // all holds it
	}
	return files, all, size, nil
}

// sortToFile sorts the parts in packed, of size bytes in total, into a file below the folder temp, and returns the
// fields by which openRun finds it. The file's name depends on its rows: a repeated step may divide them differently
// while the first attempt still reads its files.
func sortToFile(ctx context.Context, temp, name string, packed [][]byte, size int) ([]byte, error) {
	rows, err := sort(packed, size)
	if err != nil {
		return nil, err
	}
	places := sha256.New()
	var place []byte
	for _, r := range rows.refs {
		place = binary.BigEndian.AppendUint64(blocks.AppendEdge(place[:0], r.Order), uint64(r.Left))
		places.Write(place)
	}
	path := storage.Join(temp, "rows", name, hex.EncodeToString(places.Sum(nil)))
	count := len(rows.refs)
	return fmt.Appendf(nil, "%d %s", count, path), writeRun(ctx, temp, path, rows.next)
}

// sorted holds the parts of a group's rows in order. The parts stay in their blocks: refs are sorted, since these are
// small and have no pointers.
type sorted struct {
	blocks [][]byte
	refs   []ref
	read   []blocks.RowPart
	ahead  []blocks.RowPart // parts of read that next has not returned
}

// ref is the location of a part.
type ref struct {
	blocks.RowPlace
	block, at uint32
}

// usualRun is the average number of refs in a run of order.
const usualRun = 4

// usualRows is the maximum number of rows to reserve memory for before they are counted.
const usualRows = 1 << 17

// sort sorts the parts in packed, of size bytes in total.
func sort(packed [][]byte, size int) (*sorted, error) {
	s := &sorted{blocks: packed}
	for i, block := range packed {
		for d := blocks.NewDecoder(block); !d.Done(); {
			at := len(block) - d.Left()
			part := d.RowPart()
			if err := d.Err(); err != nil {
				return nil, err
			}
			if s.refs == nil { // assuming that the other parts are about as large
				s.refs = make([]ref, 0, min(size/(len(block)-d.Left())+1, usualRows))
			}
			s.refs = append(s.refs, ref{part.RowPlace, uint32(i), uint32(at)})
		}
	}
	order(s.refs)
	return s, nil
}

// order sorts refs. Documents are spread evenly over a shard, so one distribution pass by document leaves runs of a few
// refs.
func order(refs []ref) {
	if len(refs) == 0 {
		return
	}
	first, last := refs[0].Order.A, refs[0].Order.A
	for i := range refs {
		first, last = min(first, refs[i].Order.A), max(last, refs[i].Order.A)
	}
	shift := max(0, bits.Len64(uint64(last-first))-bits.Len(uint(len(refs)/usualRun)))
	run := func(r *ref) int { return int(uint64(r.Order.A-first) >> shift) }
	ends := make([]uint32, uint64(last-first)>>shift+1)
	for i := range refs {
		ends[run(&refs[i])]++
	}
	end := uint32(0)
	next := make([]uint32, len(ends)) // next place in each run
	for i, n := range ends {
		next[i] = end
		end += n
		ends[i] = end
	}
	begin := uint32(0)
	for i, end := range ends {
		for at := next[i]; at < end; at = next[i] {
			if to := run(&refs[at]); to == i {
				next[i]++
			} else {
				refs[at], refs[next[to]] = refs[next[to]], refs[at]
				next[to]++
			}
		}
		slices.SortFunc(refs[begin:end], func(a, b ref) int { return a.Compare(b.RowPlace) })
		begin = end
	}
}

// readAhead is how many parts next reads at once. They are scattered over the blocks, and a core waits for several
// cache misses in the time of one.
const readAhead = 64

// next removes and returns the first part, or returns io.EOF if there is none.
func (s *sorted) next() (blocks.RowPart, error) {
	if len(s.ahead) == 0 {
		if len(s.refs) == 0 {
			return blocks.RowPart{}, io.EOF
		}
		some := s.refs[:min(len(s.refs), readAhead)]
		s.refs = s.refs[len(some):]
		s.ahead = s.read[:0]
		for _, r := range some {
			s.ahead = append(s.ahead, blocks.NewDecoder(s.blocks[r.block][r.at:]).RowPart())
		}
		s.read = s.ahead
	}
	part := s.ahead[0]
	s.ahead = s.ahead[1:]
	return part, nil
}

// writeRun writes the parts that next returns, until io.EOF, to a file below the folder temp, each preceded by its
// length.
func writeRun(ctx context.Context, temp, name string, next func() (blocks.RowPart, error)) error {
	_, err := storage.WriteBelow(ctx, temp, name, func(w io.Writer) error {
		var part, length []byte
		for {
			r, err := next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			part = r.Append(part[:0])
			length = binary.AppendUvarint(length[:0], uint64(len(part)))
			if _, err := w.Write(length); err != nil {
				return err
			}
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
	})
	return err
}

// openRun opens the file that the fields of a marker row name, with the number of its parts. The returned next returns
// one part after another, each valid until the next call, and then io.EOF.
func openRun(ctx context.Context, fields []byte) (next func() (blocks.RowPart, error), file io.Closer, err error) {
	count, name, _ := strings.Cut(string(fields), " ")
	parts, err := strconv.Atoi(count)
	if err != nil {
		return nil, nil, blocks.ErrCorrupt
	}
	content, err := storage.OpenFile(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	records := groups.ReadFile(name, parts, content)
	return func() (part blocks.RowPart, err error) {
		record, err := records()
		if err != nil {
			return part, err
		}
		d := blocks.NewDecoder(record)
		part = d.RowPart()
		if err = d.Err(); err == nil && !d.Done() {
			err = blocks.ErrCorrupt
		}
		if err != nil {
			err = fmt.Errorf("sorted rows %s: %w", name, err)
		}
		return part, err
	}, content, nil
}

// merged yields the whole rows of a shard of the table name in order, from the group's blocks and from files. A row is
// valid until the next.
func merged(
	ctx context.Context, temp, name string, held int, packed func(*[]byte) bool,
) (iter.Seq2[blocks.RowPart, error], error) {
	files, all, size, err := collect(ctx, temp, name, held, packed)
	if err != nil {
		return nil, err
	}
	rows, err := sort(all, size)
	if err != nil {
		return nil, err
	}
	return joined(func(yield func(blocks.RowPart, error) bool) {
		runs := []func() (blocks.RowPart, error){rows.next}
		for _, fields := range files {
			next, file, err := openRun(ctx, fields)
			if err != nil {
				yield(blocks.RowPart{}, err)
				return
			}
			defer file.Close()
			runs = append(runs, next)
		}
		groups.Merge(runs, byPlace, yield)
	}), nil
}

func byPlace(a, b blocks.RowPart) int { return a.Compare(b.RowPlace) }

// joined yields the rows that parts make up.
func joined(parts iter.Seq2[blocks.RowPart, error]) iter.Seq2[blocks.RowPart, error] {
	return func(yield func(blocks.RowPart, error) bool) {
		var rows blocks.RowJoiner
		for part, err := range parts {
			whole := false
			if err == nil {
				part, whole, err = rows.Add(part)
			}
			if err != nil {
				yield(part, err)
				return
			}
			if whole && !yield(part, nil) {
				return
			}
		}
		if err := rows.Close(); err != nil {
			yield(blocks.RowPart{}, err)
		}
	}
}
