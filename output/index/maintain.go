package index

import (
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// Dropped describes what Drop removed: what the run added, and the number of documents of other runs that had been
// removed in favour of one that it kept.
type Dropped struct {
	Added
	Fallen int64
}

// Drop removes what a run added, and the documents of later runs that were removed in favour of one that it kept, as if
// the index had never had either.
func (w *Writer) Drop(ctx context.Context, run string) (d Dropped, err error) {
	i, n := -1, -1
	for k, s := range w.Segments {
		if at := slices.IndexFunc(s.Runs, func(a Added) bool { return a.Run == run }); at >= 0 {
			i, n = k, at
		}
	}
	if i < 0 {
		return d, &output.StatusError{Exit: 2, Reason: fmt.Sprintf("%s has no run %s; neardup show %s lists its runs",
			w.Dir, run, w.Dir)}
	}
	d.Added = w.Segments[i].Runs[n]
	gone := map[place]bool{}
	leave := func(s *Segment) leaves {
		return func(table output.Part, added int, stored *records.Stored) (bool, error) {
			name, err := nameOf(stored.Name)
			if err != nil {
				return false, err
			}
			switch {
			case s == &w.Segments[i] && added == n:
				if table == output.Kept {
					gone[name.place] = true
				}
				return true, nil
			case name.Fell != nil && gone[*name.Fell]:
				d.Fallen++
				return true, nil
			}
			return false, nil
		}
	}
	all, made := slices.Clone(w.Segments[:i]), []Segment(nil)
	for k := i; k < len(w.Segments); k++ {
		s := &w.Segments[k]
		touched := k == i
		if !touched {
			if touched, err = w.fallen(ctx, s, gone); err != nil {
				return d, err
			}
		}
		if !touched {
			all = append(all, *s)
			continue
		}
		next, err := w.rewrite(ctx, []Segment{*s}, fmt.Sprintf("%s-%d", w.run, k), leave(s))
		if err != nil {
			return d, err
		}
		if k == i {
			next.Runs = slices.Delete(next.Runs, n, n+1)
		}
		if len(next.Runs) > 0 {
			all, made = append(all, next), append(made, next)
		}
	}
	return d, w.change(ctx, all, made...)
}

// place identifies a document. It has the id because later runs may read other files with the same path.
type place struct {
	ID       string `json:"id"`
	Source   string `json:"source"`
	Position int64  `json:"position"`
}

// nameOf parses the name of a row.
func nameOf(row string) (name struct {
	place
	Fell *place `json:"fell"`
}, err error) {
	if err := json.Unmarshal([]byte(row), &name); err != nil {
		return name, fmt.Errorf("the name of a document is %.100q: %w", row, err)
	}
	return name, nil
}

// fallen reports whether a segment has documents that were removed in favour of a document in to.
func (w *Writer) fallen(ctx context.Context, s *Segment, to map[place]bool) (bool, error) {
	for _, f := range s.documentFiles() {
		if !isOf(output.Removed, s.Name, f.Path) {
			continue
		}
		for row, err := range output.FileRows[struct {
			Name string `parquet:"name"`
		}](ctx, storage.Join(w.Dir, f.Path)) {
			if err != nil {
				return false, err
			}
			name, err := nameOf(row.Name)
			if err != nil {
				return false, err
			}
			if name.Fell != nil && to[*name.Fell] {
				return true, nil
			}
		}
	}
	return false, nil
}

const (
	// keptGenerations is the number of latest generations that stay regardless of their age.
	keptGenerations = 3
	// tier is the minimum number of segments of about the same size to merge. Each document is rewritten log(N) times,
	// with this base.
	tier = 8
)

// Pruned counts what Prune merged and removed.
type Pruned struct {
	Merged, Generations, Segments int
}

// Prune merges consecutive segments of about the same size, removes generations older than age, except the latest, and
// removes the segments that no remaining generation has.
func (w *Writer) Prune(ctx context.Context, age time.Duration) (p Pruned, err error) {
	none := func(output.Part, int, *records.Stored) (bool, error) { return false, nil }
	for first, end := w.alike(); end > first; first, end = w.alike() {
		next, err := w.rewrite(ctx, w.Segments[first:end], fmt.Sprintf("%s-%d", w.run, p.Merged), none)
		if err != nil {
			return p, err
		}
		p.Merged += end - first
		if err := w.change(ctx, slices.Concat(w.Segments[:first], []Segment{next}, w.Segments[end:]), next); err != nil {
			return p, err
		}
	}
	files, err := storage.NamesIn(ctx, storage.Join(w.Dir, generations))
	if err != nil {
		return p, err
	}
	needed := map[string]bool{}
	for _, name := range files {
		if storage.BeingWritten(name) { // when its writer was killed
			continue
		}
		var g Generation
		path := storage.Join(w.Dir, generations, name)
		data, err := storage.ReadFile(ctx, path)
		if err != nil {
			return p, err
		}
		if err := json.Unmarshal(data, &g); err != nil {
			return p, fmt.Errorf("%s: %w", path, err)
		}
		if g.Number > w.Number || g.Number <= w.Number-keptGenerations && time.Since(g.Made) > age {
			if err := storage.RemoveAll(ctx, path); err != nil {
				return p, err
			}
			p.Generations++
			continue
		}
		for _, s := range g.Segments {
			needed[s.Name] = true
		}
	}
	all, err := storage.NamesIn(ctx, storage.Join(w.Dir, segments))
	for _, name := range all {
		if needed[name] {
			continue
		}
		if err := storage.RemoveAll(ctx, w.Folder(name).Dir); err != nil {
			return p, err
		}
		p.Segments++
	}
	return p, err
}

// alike returns the range of consecutive segments to merge, if any: at least tier of them, whose numbers of documents
// have the same order of magnitude to the base tier.
func (w *Writer) alike() (first, end int) {
	power := func(s *Segment) int {
		kept, removed := s.rows()
		return (bits.Len64(uint64(kept+removed)) + bits.Len(tier) - 2) / (bits.Len(tier) - 1)
	}
	for first = 0; first < len(w.Segments); first = end {
		for end = first + 1; end < len(w.Segments) && power(&w.Segments[end]) == power(&w.Segments[first]); end++ {
		}
		if end-first >= tier {
			return first, end
		}
	}
	return 0, 0
}
