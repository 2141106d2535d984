package index

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sort"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

const (
	// groupText is the approximate number of bytes of text per row group of documents.
	groupText = 8 << 20
	// shardKeys is the approximate number of keys of a band per file. Rewriting holds them in memory.
	shardKeys = 1 << 20
)

// leaves reports whether to leave out a row of a table. run is the number of the row's run among the runs of all
// segments.
type leaves func(table output.Part, run int, row *records.Stored) (bool, error)

// rewrite writes one segment that can replace several consecutive ones. Recover removes it unless it becomes part of
// the index. If a file is damaged, rewrite fails instead of copying it.
func (w *Writer) rewrite(ctx context.Context, of []Segment, name string, leave leaves) (Segment, error) {
	for i := range of {
		if err := w.checkFiles(ctx, &of[i], of[i].Files); err != nil {
			return Segment{}, err
		}
	}
	r := rewriting{from: w.Dir, name: name, folder: w.Folder(name), leave: leave}
	next, err := r.tables(ctx, of)
	if err != nil {
		return next, err
	}
	keys, err := r.keys(ctx, of, next.ShardBits)
	next.Files = append(next.Files, keys...)
	return next, err
}

// Copy writes the documents kept in an index to one segment, without keys, of an index that does not exist yet, at dir.
// It leaves out removed documents, because what they were compared with decided their removal.
func (x *Index) Copy(ctx context.Context, dir, name string) (Segment, error) {
	for i := range x.Segments {
		if err := x.checkFiles(ctx, &x.Segments[i], x.Segments[i].documentFiles()); err != nil {
			return Segment{}, err
		}
	}
	to := Index{Dir: dir}
	r := rewriting{from: x.Dir, name: name, folder: to.Folder(name)}
	r.leave = func(table output.Part, _ int, _ *records.Stored) (bool, error) { return table == output.Removed, nil }
	return r.tables(ctx, x.Segments)
}

// rewriting is the state of writing a segment.
type rewriting struct {
	from   string // folder of the index to read
	name   string // of the segment
	folder output.Folder
	leave  leaves
	rows   int64 // rows of documents written

	places [][]renumbered // by segment and its file of documents
}

// renumbered are the rows of a file of documents, with one and a half bits per row.
type renumbered struct {
	start, to int64    // number of the first row, and the new number of the first one that stays
	rows      int      // number of rows
	stay      []uint64 // one bit per row
	before    []uint32 // by word of stay, number of rows before it that stay
	left      uint32   // number of rows that stay
}

// add adds the next row.
func (r *renumbered) add(stays bool) {
	if r.rows%64 == 0 {
		r.stay, r.before = append(r.stay, 0), append(r.before, r.left)
	}
	if stays {
		r.stay[r.rows/64] |= 1 << (r.rows % 64)
		r.left++
	}
	r.rows++
}

// newRow returns the new number of a segment's row, or false if the row is left out.
func newRow(files []renumbered, row int64) (int64, bool) {
	after := sort.Search(len(files), func(k int) bool { return files[k].start > row })
	f := &files[after-1]
	word, bit := (row-f.start)/64, uint64(1)<<((row-f.start)%64)
	return f.to + int64(f.before[word]) + int64(bits.OnesCount64(f.stay[word]&(bit-1))), f.stay[word]&bit != 0
}

// tables writes the rows of both tables of all segments.
func (r *rewriting) tables(ctx context.Context, of []Segment) (Segment, error) {
	next := Segment{Name: r.name}
	for _, s := range of {
		next.Runs, next.ShardBits = append(next.Runs, s.Runs...), max(next.ShardBits, s.ShardBits)
	}
	for i := range of {
		r.places = append(r.places, make([]renumbered, len(of[i].documentFiles())))
	}
	if err := storage.Begin(ctx, r.folder.Dir, false); err != nil {
		return next, err
	}
	for _, table := range []output.Part{output.Kept, output.Removed} {
		file, rows, err := r.documents(ctx, table, of)
		if err != nil {
			return next, err
		}
		next.Files = append(next.Files, file)
		for i, n := range rows {
			if table == output.Kept {
				next.Runs[i].Kept = n
			} else {
				next.Runs[i].Removed = n
			}
		}
	}
	kept, removed := next.rows()
	for kept+removed > shardKeys<<next.ShardBits {
		next.ShardBits++
	}
	return next, nil
}

// documents writes the rows of a table of all segments, and returns the number of rows of each run.
func (r *rewriting) documents(
	ctx context.Context, table output.Part, of []Segment,
) (file records.ManifestFile, rows []int64, err error) {
	before := r.rows
	file, err = r.file(ctx, output.TableFile(table, 0, 1), func(w io.Writer) error {
		out := parquet.NewGenericWriter[records.Stored](w, append(output.WriterOptions(nil), Pages()...)...)
		text := 0
		for i := range of {
			first := len(rows)
			left := of[i].counts(table) // rows left of each run
			rows = append(rows, make([]int64, len(left))...)
			run, starts := 0, of[i].Starts()
			for number, f := range of[i].documentFiles() {
				if !isOf(table, of[i].Name, f.Path) {
					continue
				}
				places := &r.places[i][number]
				places.start, places.to = starts[number], r.rows
				for stored, err := range output.FileRows[records.Stored](ctx, storage.Join(r.from, f.Path)) {
					if err != nil {
						return err
					}
					for run < len(left) && left[run] == 0 {
						run++
					}
					if run == len(left) {
						return fmt.Errorf("%s: more rows than its runs have added; %s", f.Path, check)
					}
					left[run]--
					leave, err := r.leave(table, first+run, &stored)
					if err != nil {
						return err
					}
					places.add(!leave)
					if leave {
						continue
					}
					if _, err := out.Write([]records.Stored{stored}); err != nil {
						return err
					}
					r.rows++
					rows[first+run]++
					if text += len(stored.Text) + len(stored.Name); text >= groupText {
						text = 0
						if err := out.Flush(); err != nil {
							return err
						}
					}
				}
			}
		}
		return out.Close()
	})
	file.Rows = r.rows - before
	return file, rows, err
}

// counts returns how many rows of a table each run of the segment has.
func (s *Segment) counts(table output.Part) (rows []int64) {
	for i := range s.Runs {
		n := s.Runs[i].Kept
		if table == output.Removed {
			n = s.Runs[i].Removed
		}
		rows = append(rows, n)
	}
	return rows
}

// documentFiles returns the files with documents, in order: keys refer to their rows.
func (s *Segment) documentFiles() (files []records.ManifestFile) {
	for _, f := range s.Files {
		if f.Rows > 0 && !isKeys(s.Name, f.Path) {
			files = append(files, f)
		}
	}
	return files
}

// Starts returns the number of the first row of each file of documents: rows are numbered throughout a segment.
func (s *Segment) Starts() (starts []int64) {
	row := int64(0)
	for _, f := range s.documentFiles() {
		starts = append(starts, row)
		row += f.Rows
	}
	return starts
}

// isOf reports whether a file of a segment is of a table.
func isOf(table output.Part, segment, path string) bool {
	return storage.Dir(path) == FileOf(segment, string(table))
}

// keys writes the keys of all segments, except those of rows left out, to 1<<shardBits files per band.
func (r *rewriting) keys(ctx context.Context, of []Segment, shardBits int) (files []records.ManifestFile, err error) {
	bands := 0
	for _, s := range of {
		for _, f := range s.Files {
			if isKeys(s.Name, f.Path) {
				var band, shard int
				if _, err := fmt.Sscanf(f.Path, FileOf(s.Name, "keys/%d-%d.parquet"), &band, &shard); err != nil {
					return nil, fmt.Errorf("%s: the name is not that of a file of keys: %w", f.Path, err)
				}
				bands = max(bands, band+1)
			}
		}
	}
	lookup := (&Index{Dir: r.from, Generation: Generation{Segments: of}}).Lookup()
	var all []Key
	for band := range bands {
		for shard := range 1 << shardBits {
			all = all[:0]
			for i, s := range lookup.Segments {
				err := s.each(ctx, lookup.Dir, band, shard, shardBits, func(k Key) {
					if row, stays := newRow(r.places[i], k.Row); stays {
						all = append(all, Key{k.Key, row})
					}
				})
				if err != nil {
					return files, err
				}
			}
			if len(all) == 0 {
				continue
			}
			slices.SortFunc(all, func(a, b Key) int {
				return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Row, b.Row))
			})
			file, err := r.file(ctx, KeysFile(band, shard), func(w io.Writer) error {
				return WriteKeys(w, slices.Values(all), nil)
			})
			if err != nil {
				return files, err
			}
			file.Rows = int64(len(all))
			files = append(files, file)
		}
	}
	return files, nil
}

// each calls do with the keys of a shard of a band.
func (s *lookedUp) each(ctx context.Context, dir string, band, shard, shardBits int, do func(Key)) error {
	first, most := int64(shard)<<(KeyBits-shardBits), int64(shard+1)<<(KeyBits-shardBits)-1
	return s.files(dir, band, shard, shardBits, func(path string) error {
		within := func(least, greatest int64) bool { return least <= most && greatest >= first }
		return ReadKeys(ctx, path, within, func(k Key) {
			if k.Key >= first && k.Key <= most {
				do(k)
			}
		})
	})
}

// file writes a file of the segment.
func (r *rewriting) file(ctx context.Context, name string, write func(io.Writer) error) (records.ManifestFile, error) {
	file, err := r.folder.Write(ctx, name, true, write)
	file.Path = FileOf(r.name, name)
	return file, err
}
