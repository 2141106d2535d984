package shuffle

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"github.com/neardup/neardup/runners/local/internal/spill"
)

// Store holds values by key. Once all writers are parked, it is read by partition or by key, concurrently.
type Store struct {
	mem     *Memory
	dir     *spill.Dir
	indexed bool // can be read by key

	mu      sync.Mutex
	parked  []*run // runs to which nobody is writing
	spilled []*segments
	files   []*spill.File
	unused  []*spill.File // files that nobody is writing to
	records int64
	bytes   int64
	closed  bool
	evicted sync.WaitGroup // runs that others are writing to disk
}

// segments is a run on disk: sorted blocks for each partition.
type segments struct {
	file   *spill.File
	blocks [Partitions][]spill.Ref
	firsts [Partitions][][]byte // first key of each block, if the store is indexed
	counts [Partitions]int
	bytes  [Partitions]int64
}

// NewStore returns an empty store. An indexed store can be read by key.
func NewStore(m *Memory, dir *spill.Dir, indexed bool) *Store {
	return &Store{mem: m, dir: dir, indexed: indexed}
}

// Writer adds records to a store. It must be used by one goroutine only.
type Writer struct {
	store *Store
	run   *run
	fresh int64 // records not yet charged

	records, bytes int64
}

// Writer returns a writer, which continues a parked run if there is one.
func (s *Store) Writer() *Writer {
	w := &Writer{store: s}
	s.mu.Lock()
	for i, r := range s.parked {
		if !r.busy {
			s.parked = slices.Delete(s.parked, i, i+1)
			s.mem.unregister(idleRun{s, r})
			w.run = r
			break
		}
	}
	s.mu.Unlock()
	if w.run == nil {
		w.run = &run{}
	}
	s.mem.writers.Add(1)
	return w
}

// Append adds a record, whose key is the concatenation of two parts.
func (w *Writer) Append(keyFirst, keySecond, value []byte) error {
	return w.add(keyFirst, keySecond, value, nil)
}

// Keep adds a record like Append. If the value is large, it keeps the value itself instead of a copy: nobody may write
// to it afterwards.
func (w *Writer) Keep(key, value []byte) error {
	if len(value) < largeValue || cap(value) > len(value)+len(value)/4 { // otherwise unused capacity would be kept, too
		return w.add(nil, key, value, nil)
	}
	return w.add(nil, key, make([]byte, keptSize), value)
}

// add adds a record. If kept is not nil, value is the room for its number.
func (w *Writer) add(keyFirst, keySecond, value, kept []byte) error {
	keySize := len(keyFirst) + len(keySecond)
	need := 1 + uvarintSize(keySize) + keySize + uvarintSize(len(value)) + len(value)
	if err := w.reserve(need, cap(kept)); err != nil {
		return err
	}
	last := len(w.run.chunks) - 1
	c := w.run.chunks[last]
	start := len(c)
	c = appendUvarint(append(c, 0), keySize)
	c = append(c, keyFirst...)
	c = append(c, keySecond...)
	p := partitionOf(c[len(c)-keySize:])
	c[start] = byte(p)
	if kept != nil {
		c[start] |= isKept
		binary.LittleEndian.PutUint32(value, uint32(len(w.run.kept)))
		w.run.kept = append(w.run.kept, kept)
	}
	c = appendUvarint(c, len(value))
	w.run.chunks[last] = append(c, value...)
	size := int64(need + len(kept))
	w.run.counts[p]++
	w.run.bytes[p] += size
	w.fresh++
	w.records++
	w.bytes += size
	return nil
}

// fits reports whether the run's last chunk has room for need bytes.
func (w *Writer) fits(need int) bool {
	last := len(w.run.chunks) - 1
	return last >= 0 && cap(w.run.chunks[last])-len(w.run.chunks[last]) >= need
}

// reserve makes room for need bytes in the run's last chunk, and charges kept bytes to the budget, after a spill if the
// budget requires one.
func (w *Writer) reserve(need, kept int) error {
	if kept == 0 && w.fits(need) {
		return nil
	}
	m := w.store.mem
	w.settle()
	n, chunk := int64(kept), int64(max(need, m.chunk))
	fits := w.fits(need)
	if !fits {
		n += chunk
	}
	if m.charge(n) {
		if err := m.relieve(w); err != nil {
			m.release(n)
			return err
		}
	}
	if !w.fits(need) {
		if fits { // until the run was spilled
			m.charge(chunk)
			n += chunk
		}
		w.run.chunks = append(w.run.chunks, m.get(need))
	}
	w.run.size += n
	return nil
}

// settle charges for the entries that sorting the run will take.
func (w *Writer) settle() {
	w.store.mem.charge(w.fresh * entrySize)
	w.run.size += w.fresh * entrySize
	w.fresh = 0
}

// spill writes the run to disk and begins another.
func (w *Writer) spill() error {
	w.settle()
	r := w.run
	if r.empty() {
		return nil
	}
	w.run = &run{}
	return w.store.spill(r)
}

// Park leaves the run to the store: another writer may continue it, or it may go to disk.
func (w *Writer) Park() {
	s := w.store
	s.mem.writers.Add(-1)
	w.settle()
	s.mu.Lock()
	s.records += w.records
	s.bytes += w.bytes
	if !w.run.empty() {
		s.parked = append(s.parked, w.run)
		s.mem.register(idleRun{s, w.run}) // before another writer can take it
	}
	s.mu.Unlock()
}

// idleRun lets the budget spill a run to which nobody is writing.
type idleRun struct {
	store *Store
	run   *run
}

func (i idleRun) held() int64 { return i.run.size }

func (i idleRun) evict() error {
	s, r := i.store, i.run
	s.mu.Lock()
	there := !s.closed && !r.busy && slices.Contains(s.parked, r)
	if there {
		r.busy = true
		s.evicted.Add(1)
	}
	s.mu.Unlock()
	if !there {
		return nil
	}
	defer s.evicted.Done()
	return s.spill(r)
}

// spill writes a run to disk and replaces it with the result.
func (s *Store) spill(r *run) error {
	return s.mem.spilling(r.size, func() error {
		on, err := s.write(r)
		s.mu.Lock()
		defer s.mu.Unlock()
		r.busy = false
		if err != nil {
			return err
		}
		s.spilled = append(s.spilled, on)
		s.drop(r)
		return nil
	})
}

// drop removes a run from the store. Its memory is freed when the last reader has left.
func (s *Store) drop(r *run) {
	s.parked = slices.DeleteFunc(s.parked, func(o *run) bool { return o == r })
	r.gone = true
	s.reclaim(r)
}

func (s *Store) reclaim(r *run) {
	if r.gone && r.readers == 0 && r.chunks != nil {
		s.mem.release(r.size)
		s.mem.recycle(r.chunks)
		r.chunks, r.kept = nil, nil
	}
}

// write sorts a run and writes it to disk.
func (s *Store) write(r *run) (*segments, error) {
	file, err := s.borrow()
	if err != nil {
		return nil, err
	}
	on := &segments{file: file, counts: r.counts, bytes: r.bytes}
	w := blockWriter{file: file, indexed: s.indexed}
	var room []byte
	for p := range Partitions {
		for _, e := range r.part(p) {
			if err := w.append(r.encoded(e, &room)); err != nil {
				return nil, err
			}
		}
		if on.blocks[p], on.firsts[p], err = w.finish(); err != nil {
			return nil, err
		}
	}
	return on, s.giveBack(file)
}

// borrow returns a file that nobody is writing to.
func (s *Store) borrow() (*spill.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.unused) - 1; last >= 0 {
		f := s.unused[last]
		s.unused = s.unused[:last]
		return f, nil
	}
	f, err := s.dir.Create()
	if err != nil {
		return nil, err
	}
	s.files = append(s.files, f)
	return f, nil
}

// giveBack makes the written data readable and the file available.
func (s *Store) giveBack(f *spill.File) error {
	if err := f.Flush(); err != nil {
		return err
	}
	s.mu.Lock()
	s.unused = append(s.unused, f)
	s.mu.Unlock()
	return nil
}

// Totals returns the number of records written, and their bytes.
func (s *Store) Totals() (records, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records, s.bytes
}

// Bytes returns the size of a partition.
func (s *Store) Bytes(partition int) (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.parked {
		n += r.bytes[partition]
	}
	for _, on := range s.spilled {
		n += on.bytes[partition]
	}
	return n
}

// Close frees all memory and removes the files. All reading must have ended.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.evicted.Wait()
	s.mu.Lock()
	runs := slices.Clone(s.parked)
	for _, r := range runs {
		s.drop(r)
	}
	files := s.files
	s.files, s.unused, s.spilled = nil, nil, nil
	s.mu.Unlock()
	for _, r := range runs {
		s.mem.unregister(idleRun{s, r})
	}
	var err error
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}
