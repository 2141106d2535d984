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
	"math/bits"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/dofn"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
)

func init() {
	dofn.Register[writeFn]()
	dofn.Register[filesFn]()
	dofn.Register[readFn]()
}

// Files say where and how what has entered is written.
type Files struct {
	// Folder is that of a run that lasts, and Prefix begins the names.
	Folder, Prefix string
	// Bytes is about how large a file is: each worker holds one, and who reads it another.
	Bytes int
	// Sync: the files are synced.
	Sync bool
	// Waves have files of their own, with Wave after Prefix in the name: of the keys, without their lane, in a range.
	Waves []blocks.Range
	// Cuts is the number of cuts that have files of their own, in the same way; 0 and 1: none have.
	Cuts int
}

// Wave is a wave, or a cut, in a name.
func Wave(i int) string { return fmt.Sprintf("%04d", i) }

// Cut is one of Of parts of all keys, by a hash: who groups what a cut has sees whole groups. The zero Cut is all keys.
type Cut struct{ I, Of int }

// Has reports whether a key, with its lane, is in the cut.
func (c Cut) Has(key int64) bool { return c.Of <= 1 || cutOf(key, c.Of) == c.I }

// Meets reports whether keys may be in the cut and in another.
func (c Cut) Meets(other Cut) bool {
	return c.I*max(1, other.Of) < (other.I+1)*max(1, c.Of) && other.I*max(1, c.Of) < (c.I+1)*max(1, other.Of)
}

// String is the cut in a name.
func (c Cut) String() string { return fmt.Sprintf("%04dof%04d", c.I, max(1, c.Of)) }

// cutOf is that of so many cuts which a key is in.
func cutOf(key int64, of int) int {
	hi, _ := bits.Mul64(hash.Mix(uint64(key)), uint64(of))
	return int(hi)
}

// Write writes what has entered to files. Each bundle writes its own, so what is whole is what the facts of a job name: an
// attempt that failed may have left others.
//
//	KV<lane and key, block> → facts
func (l *Lanes) Write(files Files) flow.Facts {
	return flow.Facts(beam.ParDo(l.scope, &writeFn{Files: files}, l.all()))
}

// writeFn holds the blocks of a file until that is written: nobody changes what was emitted.
type writeFn struct {
	Files Files

	held  []held // by wave or cut
	bytes int    // of all
}

type held struct {
	heads  []byte // of the blocks
	blocks [][]byte
}

// frameBytes are those before a block: its key, its length and the checksum, little-endian.
const frameBytes = 8 + 4 + 8

// checksum is that of a block, which tells of its length, and of its key.
func checksum(key uint64, block []byte) uint64 { return hash.Mix(key) ^ hash.Text(block).Lo }

func (f *writeFn) ProcessElement(ctx context.Context, key int64, block []byte, facts func([]byte)) error {
	if f.held == nil {
		f.held = make([]held, max(1, len(f.Files.Waves), f.Files.Cuts))
	}
	wave := slices.IndexFunc(f.Files.Waves, func(r blocks.Range) bool { return r.Has(key & (1<<laneBits - 1)) })
	h := &f.held[max(0, wave, cutOf(key, f.Files.Cuts))]
	h.heads = binary.LittleEndian.AppendUint64(h.heads, uint64(key))
	h.heads = binary.LittleEndian.AppendUint32(h.heads, uint32(len(block)))
	h.heads = binary.LittleEndian.AppendUint64(h.heads, checksum(uint64(key), block))
	h.blocks = append(h.blocks, block)
	if f.bytes += frameBytes + len(block); f.bytes < f.Files.Bytes {
		return nil
	}
	return f.FinishBundle(ctx, facts)
}

// ending ends the name of a file, as the heads of its blocks tell: of the same blocks it is the same file.
func ending(heads []byte) string {
	sum := hash.Text(heads)
	return fmt.Sprintf("%016x%016x", sum.Hi, sum.Lo)
}

// FinishBundle writes what is held.
func (f *writeFn) FinishBundle(ctx context.Context, facts func([]byte)) error {
	for i := range f.held {
		prefix := f.Files.Prefix
		if len(f.Files.Waves) > 0 || f.Files.Cuts > 1 {
			prefix += Wave(i) + "-"
		}
		if err := f.held[i].write(ctx, f.Files, prefix, facts); err != nil {
			return err
		}
	}
	f.bytes = 0
	return nil
}

// write writes a file, if there is something to write.
func (h *held) write(ctx context.Context, files Files, prefix string, facts func([]byte)) error {
	if len(h.blocks) == 0 {
		return nil
	}
	name := prefix + ending(h.heads)
	path := storage.Join(files.Folder, name)
	info, err := storage.WriteStaged(ctx, files.Folder, path, func(w io.Writer) (err error) {
		for i, block := range h.blocks {
			_, wrong := w.Write(h.heads[i*frameBytes:][:frameBytes])
			_, failed := w.Write(block)
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
	clear(h.blocks)
	h.heads, h.blocks = h.heads[:0], h.blocks[:0]
	return blocks.Fact{Kind: blocks.FactKept, Name: name, Bytes: info.Size}.Emit(facts)
}

// Read reads what Write wrote, of the keys in a cut. The shared file list has the paths of the files.
//
//	Impulse → KV<lane and key, block>
func Read(s beam.Scope, list string, cut Cut) Arrived {
	s = s.Scope("exchange.Read")
	files := beam.Reshuffle(s, beam.ParDo(s, &filesFn{List: list}, beam.Impulse(s)))
	return Arrived{All: beam.ParDo(s, &readFn{Cut: cut}, files)}
}

// Group groups what was read. One GroupByKey.
func (a Arrived) Group(s beam.Scope) Arrived {
	return Arrived{All: beam.GroupByKey(s.Scope("exchange"), a.All), Grouped: true}
}

// filesFn lists the files.
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

// readFn reads files.
type readFn struct{ Cut Cut }

// ProcessElement emits each block in memory of its own: a small one that waits must not keep the file.
func (f *readFn) ProcessElement(ctx context.Context, file []byte, emit func(int64, []byte)) error {
	content, err := storage.OpenFile(ctx, string(file))
	if err != nil {
		return err
	}
	defer content.Close()
	in := bufio.NewReaderSize(content, readBytes)
	var heads []byte
	for left := content.Size(); left > 0; {
		heads = append(heads, make([]byte, frameBytes)...)
		head := heads[len(heads)-frameBytes:]
		if _, err := io.ReadFull(in, head); err != nil {
			return readError(file, err)
		}
		key, n := binary.LittleEndian.Uint64(head), binary.LittleEndian.Uint32(head[8:])
		if left -= frameBytes + int64(n); left < 0 {
			return damaged(file)
		}
		block := make([]byte, n)
		if _, err := io.ReadFull(in, block); err != nil {
			return readError(file, err)
		}
		if checksum(key, block) != binary.LittleEndian.Uint64(head[12:]) {
			return damaged(file)
		}
		if f.Cut.Has(int64(key)) {
			emit(int64(key), block)
		}
	}
	if !bytes.HasSuffix(file, []byte(ending(heads))) {
		return damaged(file) // some blocks are missing, or are those of another file
	}
	return nil
}

// readBytes are read of a file at once.
const readBytes = 256 << 10

// readError is an error of reading a file, which is damaged if it ends early.
func readError(file []byte, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged(file)
	}
	return err
}

func damaged(file []byte) error {
	return fmt.Errorf("%s"+Damaged+"; run again with --resume never", file)
}

// Damaged follows the name of a file in the error of who reads it, which may come from another process.
const Damaged = ": this kept file is damaged"
