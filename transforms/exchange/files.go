package exchange

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

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
	register.Emitter1[[]byte]()
	register.Emitter2[int64, []byte]()
}

// Files say where and how what has entered is written.
type Files struct {
	// Folder is that of a run that lasts, and Prefix begins the names.
	Folder, Prefix string
	// Bytes is about how large a file is: each worker holds one, and who reads it another.
	Bytes int
	// Sync: the files are synced.
	Sync bool
}

// Write writes what has entered to files. Each bundle writes its own, so what is whole is what the facts of a job name: an
// attempt that failed may have left others.
//
//	KV<lane and key, block> → facts
func (l *Lanes) Write(files Files) flow.Facts {
	return flow.Facts(beam.ParDo(l.scope, &writeFn{Files: files}, l.all()))
}

// writeFn holds the frames of a file until that is written.
type writeFn struct {
	Files Files

	buffer *[]byte
	frames []byte // in the buffer
}

// buffers are those of files: each job has new DoFns.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// frameBytes are those before a block: its key and length, little-endian, and the CRC-32C of these and of the block.
const frameBytes = 8 + 4 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(head, block []byte) uint32 {
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, block)
}

func (f *writeFn) ProcessElement(ctx context.Context, key int64, block []byte, facts func([]byte)) error {
	if f.frames == nil {
		f.buffer = buffers.Get().(*[]byte)
		f.frames = slices.Grow((*f.buffer)[:0], f.Files.Bytes+frameBytes+blocks.BlockBytes)
	}
	start := len(f.frames)
	f.frames = binary.LittleEndian.AppendUint64(f.frames, uint64(key))
	f.frames = binary.LittleEndian.AppendUint32(f.frames, uint32(len(block)))
	f.frames = binary.LittleEndian.AppendUint32(f.frames, checksum(f.frames[start:], block))
	if f.frames = append(f.frames, block...); len(f.frames) < f.Files.Bytes {
		return nil
	}
	return f.FinishBundle(ctx, facts)
}

// FinishBundle writes what is held.
func (f *writeFn) FinishBundle(ctx context.Context, facts func([]byte)) error {
	if len(f.frames) == 0 {
		return nil
	}
	sum := hash.Text(f.frames) // of the same blocks it is the same file
	name := fmt.Sprintf("%s%016x%016x", f.Files.Prefix, sum.Hi, sum.Lo)
	path := storage.Join(f.Files.Folder, name)
	info, err := storage.WriteBelow(ctx, f.Files.Folder, path, func(w io.Writer) error {
		_, err := w.Write(f.frames)
		return err
	})
	if err == nil && f.Files.Sync {
		err = storage.Sync(ctx, path)
	}
	if err != nil {
		return err
	}
	*f.buffer, f.frames = f.frames, nil
	buffers.Put(f.buffer)
	return blocks.Fact{Kind: blocks.FactKept, Name: name, Bytes: info.Size}.Emit(facts)
}

// Read reads what Write wrote. The shared file list has the paths of the files. Only blocks are read whose key, without
// its lane, is among keys.
//
//	Impulse → KV<lane and key, block>
func Read(s beam.Scope, list string, keys blocks.Range) Arrived {
	s = s.Scope("exchange.Read")
	files := beam.Reshuffle(s, beam.ParDo(s, &filesFn{List: list}, beam.Impulse(s)))
	return Arrived{All: beam.ParDo(s, &readFn{Keys: keys}, files)}
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
type readFn struct{ Keys blocks.Range }

func (f *readFn) ProcessElement(ctx context.Context, file []byte, emit func(int64, []byte)) error {
	data, err := storage.ReadFile(ctx, string(file))
	if err != nil {
		return err
	}
	for len(data) > 0 {
		if len(data) < frameBytes {
			return damaged(file)
		}
		head, rest := data[:frameBytes-4], data[frameBytes:]
		key, n := int64(binary.LittleEndian.Uint64(head)), binary.LittleEndian.Uint32(head[8:])
		if uint64(n) > uint64(len(rest)) {
			return damaged(file)
		}
		block := rest[:n:n]
		if checksum(head, block) != binary.LittleEndian.Uint32(data[len(head):]) {
			return damaged(file)
		}
		if f.Keys.Has(key & (1<<laneBits - 1)) {
			emit(key, block)
		}
		data = rest[n:]
	}
	return nil
}

func damaged(file []byte) error {
	return fmt.Errorf("%s: this file of an earlier run is damaged; run again with --resume never", file)
}
