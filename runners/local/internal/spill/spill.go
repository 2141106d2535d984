// Package spill keeps blocks of bytes in temporary files, compressed and each with a checksum, so that a read returns
// what was written or an error.
package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/klauspost/compress/s2"
)

// A block is stored as a header and its compressed bytes:
//
//	crc32c of the rest and of the block's offset  4 bytes
//	size, uncompressed                            4 bytes
//	s2 block                                      the rest
const headerSize = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrCorrupt is wrapped by errors about blocks that have changed since they were written.
var ErrCorrupt = errors.New("corrupt block: its checksum does not match; the disk or the memory may be failing")

// Storage is what a File needs from the file below it.
type Storage interface {
	io.WriterAt
	io.ReaderAt
	io.Closer
}

// Dir is a folder of temporary files. It is safe for concurrent use.
type Dir struct {
	path    string
	opened  func(Storage) Storage
	files   atomic.Int64
	written atomic.Int64
}

// NewDir creates a new folder below parent, which it creates if it is missing; "" is the system's folder for temporary
// files. opened, unless nil, may wrap the file below a File.
func NewDir(parent string, opened func(Storage) Storage) (*Dir, error) {
	if parent != "" {
		if err := os.MkdirAll(parent, 0o777); err != nil {
			return nil, fmt.Errorf("temporary folder: %w", err)
		}
	}
	path, err := os.MkdirTemp(parent, "beam-local-")
	if err != nil {
		return nil, fmt.Errorf("temporary folder: %w", err)
	}
	return &Dir{path: path, opened: opened}, nil
}

func openFile(path string) (Storage, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	// Where the system allows it, a file without a name disappears with the process, however that ends.
	_ = os.Remove(path)
	return f, nil
}

// Written returns how many bytes were written to all files.
func (d *Dir) Written() int64 { return d.written.Load() }

// Close removes the folder. The files must have been closed.
func (d *Dir) Close() error { return os.RemoveAll(d.path) }

// Create creates a file.
func (d *Dir) Create() (*File, error) {
	path := filepath.Join(d.path, fmt.Sprintf("%06d", d.files.Add(1)))
	s, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot spill to disk: %w", err)
	}
	if d.opened != nil {
		s = d.opened(s)
	}
	return &File{dir: d, path: path, storage: s}, nil
}

// File is a sequence of blocks. Only one goroutine may write at a time: the system makes concurrent writers of one file
// wait for each other, at a high price. Flushed blocks may be read concurrently.
type File struct {
	dir     *Dir
	path    string
	storage Storage
	end     int64  // of the data in the file
	pending []byte // data not yet written
}

// flushSize is the approximate size of a write.
const flushSize = 256 << 10

// Ref is the location of a block in its file.
type Ref struct {
	at   int64
	size int32
}

// Write appends a block, which is in the file only after Flush.
func (f *File) Write(block []byte) (Ref, error) {
	start := len(f.pending)
	need := start + headerSize + s2.MaxEncodedLen(len(block))
	if cap(f.pending) < need {
		f.pending = slices.Grow(f.pending, need-start)
	}
	packed := s2.Encode(f.pending[start+headerSize:cap(f.pending)], block)
	f.pending = f.pending[:start+headerSize+len(packed)]
	stored := f.pending[start:]
	ref := Ref{f.end + int64(start), int32(len(stored))}
	binary.LittleEndian.PutUint32(stored[4:], uint32(len(block)))
	binary.LittleEndian.PutUint32(stored, checksum(ref.at, stored))
	if len(f.pending) >= flushSize {
		return ref, f.Flush()
	}
	return ref, nil
}

// Flush writes the pending blocks to the file.
func (f *File) Flush() error {
	if len(f.pending) == 0 {
		return nil
	}
	if _, err := f.storage.WriteAt(f.pending, f.end); err != nil {
		return fmt.Errorf("cannot spill to disk: %w; free some space there, use another folder, or raise the "+
			"memory limit", err)
	}
	f.dir.written.Add(int64(len(f.pending)))
	f.end += int64(len(f.pending))
	f.pending = f.pending[:0]
	return nil
}

// Read returns a block, in dst if that is large enough.
func (f *File) Read(ref Ref, dst []byte, scratch *[]byte) ([]byte, error) {
	if cap(*scratch) < int(ref.size) {
		*scratch = make([]byte, ref.size)
	}
	stored := (*scratch)[:ref.size]
	if _, err := f.storage.ReadAt(stored, ref.at); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // io.EOF would mean that everything was read
		}
		return nil, fmt.Errorf("cannot read back what was spilled to %s at byte %d: %w", f.path, ref.at, err)
	}
	if binary.LittleEndian.Uint32(stored) != checksum(ref.at, stored) {
		return nil, fmt.Errorf("spilled to %s at byte %d: %w", f.path, ref.at, ErrCorrupt)
	}
	size := int(binary.LittleEndian.Uint32(stored[4:]))
	if cap(dst) < size {
		dst = make([]byte, size)
	}
	block, err := s2.Decode(dst[:cap(dst)], stored[headerSize:])
	if err != nil || len(block) != size {
		return nil, fmt.Errorf("spilled to %s at byte %d: %w", f.path, ref.at, ErrCorrupt)
	}
	return block, nil
}

// checksum includes the offset, because an intact block at a wrong offset is not the right block.
func checksum(at int64, stored []byte) uint32 {
	var place [8]byte
	binary.LittleEndian.PutUint64(place[:], uint64(at))
	return crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, stored[4:])
}

// Close closes the file and removes it.
func (f *File) Close() error {
	err := f.storage.Close()
	if removal := os.Remove(f.path); removal != nil && !errors.Is(removal, os.ErrNotExist) {
		err = errors.Join(err, removal)
	}
	return err
}
