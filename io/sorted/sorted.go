// Package sorted reads the records of a group in order, however many there are: records beyond a limit go through
// sorted files.
package sorted

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
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

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
)

// Params say how much to hold, and where to put files.
type Params struct {
	// Temp is the folder for temporary files of an active run, and Name names the group's files in it.
	Temp, Name string
	// Width is the size of every record; 0: each is packed by blocks.AppendBytes.
	Width int
	// Held is how many bytes are held in memory; 0: 16 MiB. Results do not depend on it.
	Held int
}

const usualHeld = 16 << 20

// Records are the records of a group, which are byte strings. The zero Records is ready to Read one group after
// another, and reuses its memory.
type Records struct {
	ctx    context.Context //nolint:containedctx // of the call that reads the group
	params Params
	blocks [][]byte
	size   int    // bytes held
	added  []byte // the block that Add fills
	refs   []ref
	placed []ref // memory for sort
	ends   []uint32
	// rekeyed says that the keys of refs are the second eight bytes, because the first eight are the same in all records.
	rekeyed bool
	files   []File
}

// File is a file of sorted records, and their number.
type File struct {
	Path    string
	Records int
}

// ref is the location of a record, with eight of its bytes.
type ref struct {
	key       uint64
	block, at uint32
}

const (
	refBytes = 16
	keyBytes = 8
)

// Read reads a group, which replaces the last one.
func (r *Records) Read(ctx context.Context, p Params, packed func(*[]byte) bool) error {
	r.Begin(ctx, p)
	var block []byte
	for packed(&block) {
		if err := r.take(block); err != nil {
			return err
		}
		block = nil // r holds it
	}
	return r.End()
}

// Begin begins a group whose records are added one by one; it replaces the last group.
func (r *Records) Begin(ctx context.Context, p Params) {
	clear(r.blocks)
	*r = Records{
		ctx: ctx, params: p, blocks: r.blocks[:0], added: r.added[:0], refs: r.refs[:0], placed: r.placed, ends: r.ends,
	}
}

// addedBytes is the size of the blocks that Add fills.
const addedBytes = 64 << 10

// Add adds a copy of a record.
func (r *Records) Add(record []byte) error {
	if r.params.Width > 0 {
		r.added = append(r.added, record...)
	} else {
		r.added = blocks.AppendBytes(r.added, record)
	}
	if len(r.added) < min(addedBytes, cmp.Or(r.params.Held, usualHeld)/2) {
		return nil
	}
	block := r.added
	r.added = make([]byte, 0, cap(block)) // block is still in use
	return r.take(block)
}

// End ends the group. All then yields its records.
func (r *Records) End() error {
	err := r.takeAdded()
	r.sort()
	return err
}

func (r *Records) takeAdded() error {
	if len(r.added) == 0 {
		return nil
	}
	return r.take(r.added)
}

// AddFile adds the records of a file that Spill has made.
func (r *Records) AddFile(f File) { r.files = append(r.files, f) }

// Spill ends the group and, if its records take more than most bytes, returns files that have all of them. If they do
// not, it returns none, and All yields the records.
func (r *Records) Spill(most int) ([]File, error) {
	if err := r.takeAdded(); err != nil {
		return nil, err
	}
	if len(r.files) == 0 && r.size <= most {
		r.sort()
		return nil, nil
	}
	err := r.spill()
	return r.files, err
}

// take holds a block. If there is no room for it, take first spills the blocks before it.
func (r *Records) take(block []byte) error {
	if r.size > 0 && r.size+len(block) > cmp.Or(r.params.Held, usualHeld) {
		if err := r.spill(); err != nil {
			return err
		}
		r.size = 0
	}
	before := len(r.refs)
	if err := r.refer(block); err != nil {
		return err
	}
	r.size += len(block) + refBytes*(len(r.refs)-before)
	return nil
}

// refer adds the refs of a block.
func (r *Records) refer(block []byte) error {
	number := uint32(len(r.blocks))
	r.blocks = append(r.blocks, block)
	if width := r.params.Width; width > 0 {
		if len(block)%width != 0 {
			return blocks.ErrCorrupt
		}
		r.refs = slices.Grow(r.refs, len(block)/width)
		for at := 0; at < len(block); at += width {
			r.refs = append(r.refs, ref{keyOf(block[at:at+width], 0), number, uint32(at)})
		}
		return nil
	}
	for at := 0; at < len(block); {
		length, n := binary.Uvarint(block[at:])
		if n <= 0 || length > uint64(len(block)-at-n) {
			return blocks.ErrCorrupt
		}
		begin := at + n
		end := begin + int(length)
		r.refs = append(r.refs, ref{keyOf(block[begin:end], 0), number, uint32(at)})
		at = end
	}
	return nil
}

// keyOf returns eight bytes of a record, padded with zeros.
func keyOf(record []byte, from int) uint64 {
	if len(record) >= from+keyBytes {
		return binary.BigEndian.Uint64(record[from:])
	}
	var key [keyBytes]byte
	copy(key[:], record[min(from, len(record)):])
	return binary.BigEndian.Uint64(key[:])
}

// record returns the bytes of a record.
func (r *Records) record(f ref) []byte {
	block := r.blocks[f.block][f.at:]
	if width := r.params.Width; width > 0 {
		return block[:width:width]
	}
	length, n := binary.Uvarint(block)
	end := n + int(length)
	return block[n:end:end]
}

// usualRun is the average number of records in a run of sort.
const usualRun = 4

// keys returns the smallest and the largest key.
func (r *Records) keys() (smallest, largest uint64) {
	smallest = r.refs[0].key
	for i := range r.refs {
		smallest, largest = min(smallest, r.refs[i].key), max(largest, r.refs[i].key)
	}
	return smallest, largest
}

// sort sorts the records held. One pass by their first eight bytes, or by the next eight if all begin the same, leaves
// runs of a few records if these are evenly spread.
func (r *Records) sort() {
	if len(r.refs) < 2 {
		return
	}
	smallest, largest := r.keys()
	short := func(f ref) bool { return len(r.record(f)) < keyBytes }
	r.rekeyed = smallest == largest && !slices.ContainsFunc(r.refs, short)
	if r.rekeyed {
		for i := range r.refs {
			r.refs[i].key = keyOf(r.record(r.refs[i]), keyBytes)
		}
		smallest, largest = r.keys()
	}
	shift := max(0, bits.Len64(largest-smallest)-bits.Len(uint(len(r.refs)/usualRun)))
	n := int((largest-smallest)>>shift) + 1
	r.ends = slices.Grow(r.ends[:0], n)[:n]
	ends := r.ends
	clear(ends)
	for i := range r.refs {
		ends[(r.refs[i].key-smallest)>>shift]++
	}
	end := uint32(0)
	for i, n := range ends {
		ends[i] = end // start of the run, and its end once all are placed
		end += n
	}
	r.placed = slices.Grow(r.placed[:0], len(r.refs))[:len(r.refs)]
	placed := r.placed
	for _, f := range r.refs {
		at := &ends[(f.key-smallest)>>shift]
		placed[*at] = f
		*at++
	}
	r.refs, r.placed = placed, r.refs
	begin := uint32(0)
	for _, end := range ends {
		r.sortRun(placed[begin:end])
		begin = end
	}
}

// insertion is the maximum number of records for which insertion sort is fastest.
const insertion = 12

func (r *Records) sortRun(run []ref) {
	if len(run) > insertion {
		slices.SortFunc(run, r.compare)
		return
	}
	for i := 1; i < len(run); i++ {
		f, j := run[i], i
		for ; j > 0 && (f.key < run[j-1].key || f.key == run[j-1].key && r.compare(f, run[j-1]) < 0); j-- {
			run[j] = run[j-1]
		}
		run[j] = f
	}
}

func (r *Records) compare(a, b ref) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	return bytes.Compare(r.record(a), r.record(b))
}

// spill moves the records held to a sorted file. The file is named by its content: a repeated call may cut the group
// differently while the first attempt still reads.
func (r *Records) spill() error {
	r.sort()
	sum := sha256.New()
	each := func(w io.Writer) error {
		var record []byte
		for _, f := range r.refs {
			record = blocks.AppendBytes(record[:0], r.record(f))
			if _, err := w.Write(record); err != nil {
				return err
			}
		}
		return nil
	}
	if err := each(sum); err != nil {
		return err
	}
	path := storage.Join(r.params.Temp, "sorted", r.params.Name, hex.EncodeToString(sum.Sum(nil)))
	_, err := storage.WriteBelow(r.ctx, r.params.Temp, path, func(w io.Writer) error { return storage.Buffered(w, each) })
	if err != nil {
		return err
	}
	r.files = append(r.files, File{path, len(r.refs)})
	clear(r.blocks)
	r.blocks, r.refs = r.blocks[:0], r.refs[:0]
	return nil
}

// All yields the records in the order of their bytes, each valid until the next. It may be called again.
func (r *Records) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if len(r.files) == 0 {
			for _, f := range r.refs {
				if !yield(r.record(f), nil) {
					return
				}
			}
			return
		}
		runs := []func() ([]byte, error){r.held()}
		for _, f := range r.files {
			content, err := storage.OpenFile(r.ctx, f.Path)
			if err != nil {
				yield(nil, err)
				return
			}
			defer content.Close()
			runs = append(runs, f.read(content))
		}
		merge(runs, yield)
	}
}

// Pull returns a function that returns the records of All one by one and then io.EOF, and a function that ends this.
func (r *Records) Pull() (next func() ([]byte, error), stop func()) {
	if len(r.files) == 0 {
		return r.held(), func() {}
	}
	merged, stop := iter.Pull2(r.All())
	return func() ([]byte, error) {
		record, err, ok := merged()
		if !ok {
			err = io.EOF
		}
		return record, err
	}, stop
}

// Repeated yields the records of All that share their first prefix bytes with another record.
func (r *Records) Repeated(prefix int) iter.Seq2[[]byte, error] {
	if len(r.files) == 0 && !r.rekeyed && prefix >= keyBytes {
		return r.repeatedHeld(prefix)
	}
	return func(yield func([]byte, error) bool) {
		var last []byte // not yet yielded
		begun, equal := false, false
		for record, err := range r.All() {
			if err != nil {
				yield(nil, err)
				return
			}
			switch same := begun && sameFirst(last, record, prefix); {
			case same && !equal && !yield(last, nil), same && !yield(record, nil):
				return
			default:
				equal = same
			}
			last, begun = append(last[:0], record...), true
		}
	}
}

func sameFirst(a, b []byte, n int) bool {
	return len(a) >= n && len(b) >= n && bytes.Equal(a[:n], b[:n])
}

// repeatedHeld is Repeated if all records are held. Most have a unique key, and are not read.
func (r *Records) repeatedHeld(prefix int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		same := func(i, j int) bool {
			return i >= 0 && j < len(r.refs) && r.refs[i].key == r.refs[j].key &&
				sameFirst(r.record(r.refs[i]), r.record(r.refs[j]), prefix)
		}
		before := false
		for i, f := range r.refs {
			after := same(i, i+1)
			if (before || after) && !yield(r.record(f), nil) {
				return
			}
			before = after
		}
	}
}

// held returns a function that returns one record after another, then io.EOF.
func (r *Records) held() func() ([]byte, error) {
	next := 0
	return func() ([]byte, error) {
		if next == len(r.refs) {
			return nil, io.EOF
		}
		next++
		return r.record(r.refs[next-1]), nil
	}
}

// mostRecord is the maximum size of a record: no element exceeds it.
const mostRecord = 1 << 20

// read returns a function that returns the records of the file one by one, then io.EOF. A record is valid until the
// next.
func (f File) read(content io.Reader) func() ([]byte, error) {
	in := bufio.NewReaderSize(content, 64<<10)
	var record []byte
	left := f.Records
	return func() ([]byte, error) {
		length, err := binary.ReadUvarint(in)
		switch {
		case left == 0 && errors.Is(err, io.EOF):
			return nil, io.EOF
		case err == nil && (left == 0 || length > mostRecord):
			err = blocks.ErrCorrupt
		case err == nil:
			left--
			record = slices.Grow(record[:0], int(length))[:length]
			_, err = io.ReadFull(in, record)
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, fmt.Errorf("sorted records %s: %w", f.Path, err)
		}
		return record, nil
	}
}

// merge yields the records of sorted runs in order. Each run returns one record after another, then io.EOF.
func merge(runs []func() ([]byte, error), yield func([]byte, error) bool) {
	var least cursors
	for _, next := range runs {
		record, err := next()
		switch {
		case err == nil:
			least = append(least, cursor{record, next})
		case !errors.Is(err, io.EOF):
			yield(nil, err)
			return
		}
	}
	heap.Init(&least)
	for len(least) > 0 {
		c := &least[0]
		if !yield(c.record, nil) {
			return
		}
		var err error
		switch c.record, err = c.next(); {
		case err == nil:
			heap.Fix(&least, 0)
		case errors.Is(err, io.EOF):
			heap.Pop(&least)
		default:
			yield(nil, err)
			return
		}
	}
}

// cursor is at a record of a run.
type cursor struct {
	record []byte
	next   func() ([]byte, error)
}

// cursors is a heap of cursors; the first is at the smallest record.
type cursors []cursor

func (c cursors) Len() int           { return len(c) }
func (c cursors) Less(i, j int) bool { return bytes.Compare(c[i].record, c[j].record) < 0 }
func (c cursors) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c cursors) Push(any)           { panic("sorted: runs only end") }
func (c *cursors) Pop() any {
	*c = (*c)[:len(*c)-1]
	return nil
}
