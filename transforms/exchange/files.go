package exchange

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
)

func init() {
	flow.Register[writeFn]()
	flow.Register[filesFn]()
	flow.Register[readFn]()
}

// Files configures the files that collections are written to.
type Files struct {
	// Folder is that of a run that can be resumed, and Prefix the start of the file names.
	Folder, Prefix string
	// Bytes is the approximate size of a file; each writer and each reader holds one in memory.
	Bytes int
	// Sync syncs the files.
	Sync bool
	// Waves are ranges of keys without their lanes. Each has its own files, with Wave after Prefix in their names.
	Waves []blocks.Range
}

// Wave returns a wave's number as file names have it.
func Wave(i int) string { return fmt.Sprintf("%04d", i) }

// Write writes the collections to files. Each bundle writes its own files, so that only files named by the facts of a
// job count: failed attempts may have left others.
//
//	KV<lane and key, block> → facts
func Write(s beam.Scope, files Files, entries ...Entry) flow.Facts {
	s = s.Scope("exchange")
	return flow.Facts(beam.ParDo(s, &writeFn{Files: files}, enter(s, entries)))
}

// A file has the blocks of each key together, after an index of the keys:
//
//	number of keys: uint32, for each in order: key, bytes of its frames, sum of their checksums: 3 × uint64; frames
//	frame: key: uint64, length: uint32, checksum: uint64, block
//
// All numbers are little endian. The file name ends in a hash of everything before the frames.
const (
	countBytes = 4
	entryBytes = 3 * 8
	frameBytes = 8 + 4 + 8
)

// frame is a block with the checksum of the block and its key.
type frame struct {
	key   int64
	sum   uint64
	block []byte
}

// checksum covers the length of the block, too.
func checksum(key int64, block []byte) uint64 { return hash.Mix(uint64(key)) ^ hash.Text(block).Lo }

func byKey(a, b frame) int { return cmp.Compare(a.key, b.key) }

func (f *frame) appendHead(data []byte) []byte {
	data = binary.LittleEndian.AppendUint64(data, uint64(f.key))
	data = binary.LittleEndian.AppendUint32(data, uint32(len(f.block)))
	return binary.LittleEndian.AppendUint64(data, f.sum)
}

// eachFrame calls do with each frame, and reports whether the frames are intact: their checksums match and add up to
// sum.
func eachFrame(frames []byte, sum uint64, do func(frame)) bool {
	for len(frames) >= frameBytes {
		f := frame{key: int64(binary.LittleEndian.Uint64(frames)), sum: binary.LittleEndian.Uint64(frames[12:])}
		n := uint64(binary.LittleEndian.Uint32(frames[8:]))
		frames = frames[frameBytes:]
		if n > uint64(len(frames)) {
			return false
		}
		if f.block = frames[:n:n]; checksum(f.key, f.block) != f.sum {
			return false
		}
		do(f)
		frames = frames[n:]
		sum -= f.sum
	}
	return len(frames) == 0 && sum == 0
}

// entry describes the frames of one key in a file.
type entry struct {
	key, bytes int64
	sum        uint64
}

// writeFn holds the blocks of a file until it writes the file; emitted blocks are never changed.
type writeFn struct {
	Files Files

	held  [][]frame // by wave
	bytes int       // of all waves
}

func (f *writeFn) ProcessElement(ctx context.Context, key int64, block []byte, facts func([]byte)) error {
	if f.held == nil {
		f.held = make([][]frame, max(1, len(f.Files.Waves)))
	}
	wave := slices.IndexFunc(f.Files.Waves, func(r blocks.Range) bool { return r.Has(key & (1<<laneBits - 1)) })
	wave = max(0, wave)
	f.held[wave] = append(f.held[wave], frame{key, checksum(key, block), block})
	if f.bytes += frameBytes + len(block); f.bytes < f.Files.Bytes {
		return nil
	}
	return f.FinishBundle(ctx, facts)
}

// FinishBundle writes the held blocks.
func (f *writeFn) FinishBundle(ctx context.Context, facts func([]byte)) error {
	for i, held := range f.held {
		prefix := f.Files.Prefix
		if len(f.Files.Waves) > 0 {
			prefix += Wave(i) + "-"
		}
		if err := write(ctx, f.Files, prefix, held, facts); err != nil {
			return err
		}
		clear(held)
		f.held[i] = held[:0]
	}
	f.bytes = 0
	return nil
}

// write writes frames to a file, unless there are none.
func write(ctx context.Context, files Files, prefix string, frames []frame, facts func([]byte)) error {
	if len(frames) == 0 {
		return nil
	}
	slices.SortStableFunc(frames, byKey)
	head := headOf(frames)
	name := prefix + ending(head)
	path := storage.Join(files.Folder, name)
	info, err := storage.WriteStaged(ctx, files.Folder, path, func(w io.Writer) error {
		_, err := w.Write(head)
		for _, f := range frames {
			head = f.appendHead(head[:0])
			_, wrong := w.Write(head)
			_, failed := w.Write(f.block)
			err = cmp.Or(err, wrong, failed)
		}
		return err
	})
	if err == nil && files.Sync {
		err = storage.Sync(ctx, path)
	}
	if err != nil {
		return err
	}
	return blocks.Fact{Kind: blocks.FactKept, Name: name, Bytes: info.Size}.Emit(facts)
}

// headOf returns the bytes before the frames.
func headOf(frames []frame) []byte {
	var entries []entry
	for _, f := range frames {
		if n := len(entries); n == 0 || entries[n-1].key != f.key {
			entries = append(entries, entry{key: f.key})
		}
		last := &entries[len(entries)-1]
		last.bytes += int64(frameBytes + len(f.block))
		last.sum += f.sum
	}
	return appendEntries(binary.LittleEndian.AppendUint32(nil, uint32(len(entries))), entries)
}

func appendEntries(data []byte, entries []entry) []byte {
	for _, e := range entries {
		data = binary.LittleEndian.AppendUint64(data, uint64(e.key))
		data = binary.LittleEndian.AppendUint64(data, uint64(e.bytes))
		data = binary.LittleEndian.AppendUint64(data, e.sum)
	}
	return data
}

func readEntries(data []byte) (entries []entry) {
	for ; len(data) >= entryBytes; data = data[entryBytes:] {
		entries = append(entries, entry{
			key: int64(binary.LittleEndian.Uint64(data)), bytes: int64(binary.LittleEndian.Uint64(data[8:])),
			sum: binary.LittleEndian.Uint64(data[16:]),
		})
	}
	return entries
}

// ending returns the end of a file's name, which is the same for files with the same blocks.
func ending(head []byte) string {
	sum := hash.Text(head)
	return fmt.Sprintf("%016x%016x", sum.Hi, sum.Lo)
}

// Read reads the files that Write wrote. The shared file list has their paths; bytes is their total size. A worker that
// groups blocks holds about hold bytes of them at once; if hold is 0, the runner groups them.
//
//	Impulse → paths
func Read(s beam.Scope, list string, bytes, hold int64) Arrived {
	s = s.Scope("exchange.Read")
	return Arrived{files: beam.Reshuffle(s, beam.ParDo(s, &filesFn{List: list}, beam.Impulse(s))),
		bytes: bytes, hold: hold}
}

// filesFn emits the paths of the files.
type filesFn struct{ List string }

func (f *filesFn) ProcessElement(ctx context.Context, _ []byte, emit func([]byte)) error {
	files, err := storage.Shared[[]string](ctx, f.List)
	if err != nil {
		return err
	}
	for _, file := range *files {
		emit([]byte(file))
	}
	return nil
}

// readFn reads the blocks of a lane.
//
//	paths → KV<key, block>
type readFn struct {
	Lane Lane

	frames []byte
}

// ProcessElement emits each block in its own memory, so that a small block that waits does not retain the file.
func (f *readFn) ProcessElement(ctx context.Context, file []byte, emit func(int64, []byte)) error {
	path := string(file)
	content, err := storage.OpenFile(ctx, path)
	if err != nil {
		return err
	}
	defer content.Close()
	in := bufio.NewReaderSize(content, readBytes)
	all, err := readHead(path, in, content.Size())
	if err != nil {
		return err
	}
	entries, at := f.Lane.in(all)
	if start := headBytes(all); at > start {
		in.Reset(io.NewSectionReader(content, at, content.Size()-at))
	}
	for _, e := range entries {
		f.frames = slices.Grow(f.frames[:0], int(e.bytes))[:e.bytes]
		if _, err := io.ReadFull(in, f.frames); err != nil {
			return readError(path, err)
		}
		if !eachFrame(f.frames, e.sum, func(b frame) { emit(f.Lane.Key(b.key), bytes.Clone(b.block)) }) {
			return damaged(path)
		}
	}
	return nil
}

// in returns the entries of the lane, and the offset of their frames in the file.
func (l Lane) in(all []entry) (entries []entry, at int64) {
	at = headBytes(all)
	for len(all) > 0 && !l.Has(all[0].key) {
		at += all[0].bytes
		all = all[1:]
	}
	n := 0
	for n < len(all) && l.Has(all[n].key) {
		n++
	}
	return all[:n], at
}

func headBytes(entries []entry) int64 { return countBytes + entryBytes*int64(len(entries)) }

// readHead reads the bytes before the frames of a file of this size.
func readHead(path string, in io.Reader, size int64) ([]entry, error) {
	head := make([]byte, countBytes)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, readError(path, err)
	}
	rest := entryBytes * int64(binary.LittleEndian.Uint32(head))
	if rest > size-countBytes {
		return nil, damaged(path)
	}
	head = slices.Grow(head, int(rest))[:countBytes+rest]
	if _, err := io.ReadFull(in, head[countBytes:]); err != nil {
		return nil, readError(path, err)
	}
	entries := readEntries(head[countBytes:])
	whole := headBytes(entries)
	for _, e := range entries {
		whole += e.bytes
	}
	if whole != size || !strings.HasSuffix(path, ending(head)) {
		return nil, damaged(path)
	}
	return entries, nil
}

// readBytes is the size of the read buffer.
const readBytes = 256 << 10

// readError returns the error for a failed read: the file is damaged if it ends early.
func readError(path string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged(path)
	}
	return err
}

func damaged(path string) error {
	return fmt.Errorf("%s"+Damaged+"; run again with --resume never", path)
}

// Damaged follows the file name in a reader's error. The error may come from another process, so callers search its
// text.
const Damaged = ": this saved file is damaged"
