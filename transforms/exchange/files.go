package exchange

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
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

// fileBytes is about how large a file is: a worker holds one.
const fileBytes = 8 << 20

// Write writes what has entered to files in a folder of a run that lasts, of names that begin with prefix. Each bundle
// writes its own, so what is whole is what the facts of a job name: an attempt that failed may have left others. They
// are synced if sync is set.
//
//	KV<lane and key, block> → facts
func (l *Lanes) Write(folder, prefix string, sync bool) flow.Facts {
	return flow.Facts(beam.ParDo(l.scope, &writeFn{Folder: folder, Prefix: prefix, Sync: sync}, l.all()))
}

// writeFn holds the frames of a file until that is written.
type writeFn struct {
	Folder, Prefix string
	Sync           bool

	buffer *[]byte
	frames []byte // in the buffer
}

// buffers are those of files: each job has new DoFns.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, fileBytes+blocks.BlockBytes+frameBytes)) }}

// frameBytes are those before a block: its key and length, little-endian, and the CRC-32C of these and of the block.
const frameBytes = 8 + 4 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(head, block []byte) uint32 {
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, block)
}

func (f *writeFn) ProcessElement(ctx context.Context, key int64, block []byte, facts func([]byte)) error {
	if f.frames == nil {
		f.buffer = buffers.Get().(*[]byte)
		f.frames = (*f.buffer)[:0]
	}
	start := len(f.frames)
	f.frames = binary.LittleEndian.AppendUint64(f.frames, uint64(key))
	f.frames = binary.LittleEndian.AppendUint32(f.frames, uint32(len(block)))
	f.frames = binary.LittleEndian.AppendUint32(f.frames, checksum(f.frames[start:], block))
	if f.frames = append(f.frames, block...); len(f.frames) < fileBytes {
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
	name := fmt.Sprintf("%s%016x%016x", f.Prefix, sum.Hi, sum.Lo)
	path := storage.Join(f.Folder, name)
	info, err := storage.WriteBelow(ctx, f.Folder, path, func(w io.Writer) error {
		_, err := w.Write(f.frames)
		return err
	})
	if err == nil && f.Sync {
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
