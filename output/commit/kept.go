package commit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
)

// A run may work in parts, and keep each finished part: if it fails, it leaves its staging folder, and the next run
// that gets the lock moves the parts to its own folder and continues. A part is finished once its record exists; its
// files are synced before the record is.

// keptDir is the folder in a staging folder for the records of parts, and for files that are not in the output.
const keptDir = "kept"

// recordSuffix ends the name of a record. It is not .json, so that readers of **/*.json in an output do not read it.
const recordSuffix = ".part"

// Part is a finished part of a run.
type Part struct {
	Name string `json:"name"`
	// Fingerprint identifies all that the part follows from: a run continues only with parts of its own fingerprint.
	Fingerprint string     `json:"fingerprint"`
	Files       []PartFile `json:"files"`
	// State is what the run needs to know about the part.
	State json.RawMessage `json:"state"`
	// Opaque means that files of the output have opaque names where they are staged.
	Opaque bool `json:"opaque"`
}

// Bytes returns the total size of the part's files.
func (p *Part) Bytes() (n int64) {
	for _, f := range p.Files {
		n += f.Bytes
	}
	return n
}

// PartFile is a file of a part: of the output, by its name there, or below Kept or Temporary.
type PartFile struct {
	In    In     `json:"in"`
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// In says where a file of a part is.
type In string

// Values of In.
const (
	InOutput    In = "output"
	InKept      In = "kept"
	InTemporary In = "temporary"
)

// Kept returns the folder for records of parts, and for files that one part leaves for others.
func (c *Commit) Kept() string { return storage.Join(c.staging, keptDir) }

// Parts returns the finished parts of this run, and those that it took over, by name.
func (c *Commit) Parts() map[string]Part { return c.parts }

// Keep syncs the files of a part, and then writes its record: from then on the part is finished, even if the run fails.
func (c *Commit) Keep(ctx context.Context, p Part) error {
	if err := c.lock.Prove(ctx); err != nil {
		return err
	}
	var paths []string
	folders := map[string]bool{}
	for _, f := range p.Files {
		path := c.pathOf(f)
		paths = append(paths, path)
		folders[storage.Dir(path)] = true
	}
	err := c.each(ctx, len(paths), func(i int) error {
		info, err := storage.Stat(ctx, paths[i])
		if err == nil && info.Size != p.Files[i].Bytes {
			err = fmt.Errorf("%s has %s bytes, but %s were written; something else changed it; run again", paths[i],
				records.Count(info.Size), records.Count(p.Files[i].Bytes))
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := c.syncing.Sync(ctx, append(paths, slices.Sorted(maps.Keys(folders))...)...); err != nil {
		return err
	}
	p.Opaque = c.Staged().Opaque
	record := c.record(p.Name)
	if err := storage.WriteShared(ctx, record, p); err != nil {
		return err
	}
	if err := c.syncing.Sync(ctx, append([]string{record, c.Kept()}, andAbove(c.staging)...)...); err != nil {
		return err
	}
	c.parts[p.Name] = p
	return nil
}

func (c *Commit) pathOf(f PartFile) string {
	switch f.In {
	case InOutput:
		return c.Staged().Path(f.Name)
	case InTemporary:
		return storage.Join(c.Temporary(), f.Name)
	default:
		return storage.Join(c.Kept(), f.Name)
	}
}

// Retain forgets the parts that fits rejects, and removes the files that were taken over and belong to none of the
// others. It returns the total size of the other parts' files.
func (c *Commit) Retain(ctx context.Context, fits func(Part) bool) (bytes int64, err error) {
	if len(c.former) == 0 {
		return 0, nil
	}
	keep := map[string]bool{}
	for name, p := range c.parts {
		if fits(p) {
			keep[c.record(name)] = true
			bytes += p.Bytes()
			c.mark(keep, p)
			continue
		}
		if err := c.Forget(ctx, name); err != nil {
			return 0, err
		}
	}
	return bytes, errors.Join(c.clear(ctx, c.Kept(), keep), c.clear(ctx, c.Staged().Dir, keep))
}

// record returns the path of the record of a part.
func (c *Commit) record(part string) string { return storage.Join(c.Kept(), part+recordSuffix) }

// Forget removes the record of a part, so that it is not finished. Its files are removed with the run's others.
func (c *Commit) Forget(ctx context.Context, part string) error {
	p := c.parts[part]
	if err := c.store.Remove(ctx, c.record(part), storage.If{}); err != nil {
		return err
	}
	delete(c.parts, part)
	for _, f := range p.Files {
		if f.In == InTemporary {
			if err := storage.RemoveAll(ctx, c.pathOf(f)); err != nil {
				return err
			}
		}
	}
	return nil
}

// mark adds the paths of a part's files.
func (c *Commit) mark(paths map[string]bool, p Part) {
	for _, f := range p.Files {
		paths[c.pathOf(f)] = true
	}
}

// clear removes the files of a folder of the run except those in keep.
func (c *Commit) clear(ctx context.Context, folder string, keep map[string]bool) error {
	there, err := list(ctx, folder)
	if err != nil {
		return err
	}
	for _, info := range there.files {
		if keep[info.Path] || storage.Marks(info.Path) {
			continue
		}
		if err := c.store.Remove(ctx, info.Path, storage.If{}); err != nil {
			return err
		}
	}
	return there.tidy(ctx)
}

// leaveParts keeps the parts of a failed run, and removes its other temporary files.
func (c *Commit) leaveParts(ctx context.Context) error {
	keep := map[string]bool{}
	var bytes int64
	for _, p := range c.parts {
		bytes += p.Bytes()
		c.mark(keep, p)
	}
	c.o.Warn("saved %d MB of the run's work in %s; run the same command to continue, or add --resume never to start "+
		"again without it", bytes/1e6, c.staging)
	return c.clear(ctx, c.Temporary(), keep)
}

// BeginParts makes the folder for parts, unless some were taken over.
func (c *Commit) BeginParts(ctx context.Context) error {
	if c.parts != nil {
		return nil
	}
	c.parts = map[string]Part{}
	return storage.BeginIn(ctx, c.staging, keptDir, c.o.Private)
}

// takeOverAll takes over the parts of former runs, and removes these runs.
func (c *Commit) takeOverAll(ctx context.Context) error {
	for _, l := range c.former {
		note, ours, err := c.readNote(ctx, l)
		if err != nil {
			return err
		}
		if ours {
			if l, err = c.fence(ctx, l); err != nil {
				return err
			}
			if err := errors.Join(c.BeginParts(ctx), c.takeOver(ctx, l, note.Temp)); err != nil {
				return err
			}
		}
		if err := c.discard(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// takeOver moves the parts of an earlier run here, each record after all its files.
func (c *Commit) takeOver(ctx context.Context, l leftover, temp string) error {
	from := &Commit{o: Options{Dir: c.o.Dir, Temp: temp}, staging: l.folder}
	if err := c.reopen(ctx, l); err != nil {
		return err
	}
	there, err := list(ctx, from.Kept())
	if err != nil {
		return err
	}
	for _, name := range there.names() {
		if !strings.HasSuffix(name, recordSuffix) {
			continue
		}
		data, _, ok, err := readSmall(ctx, storage.Join(from.Kept(), name), maxRecord)
		if err != nil {
			return err
		}
		var p Part
		if !ok || json.Unmarshal(data, &p) != nil || p.Name+recordSuffix != name || !p.sound() {
			continue
		}
		if _, done := c.parts[p.Name]; done {
			continue // moved by another former run that was taking over this one
		}
		from.swaps = !p.Opaque
		if p.Opaque != c.Staged().Opaque {
			continue // its files have names of the other kind
		}
		whole, err := c.moveFiles(ctx, from, p)
		if err != nil {
			return err
		}
		if !whole {
			continue
		}
		if err := c.Keep(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// reopen renames the folder of an earlier run's output on a disk back to what it was before that run was about to
// publish it.
func (c *Commit) reopen(ctx context.Context, l leftover) error {
	if !storage.IsLocal(l.folder) {
		return nil
	}
	from := readyDir
	out := storage.Join(l.folder, outDir)
	if mark, _, err := readSuccess(ctx, out); err != nil {
		return err
	} else if mark.Run == l.run { // else outDir has the old output
		from = outDir
	}
	err := c.store.Move(ctx, storage.Join(l.folder, from), storage.Join(l.folder, workDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// moveFiles moves the files of a part here, and reports whether it has all of them.
func (c *Commit) moveFiles(ctx context.Context, from *Commit, p Part) (whole bool, err error) {
	err = c.each(ctx, len(p.Files), func(i int) error {
		to := c.pathOf(p.Files[i])
		info, err := storage.Stat(ctx, to) // a killed run may have moved it
		if errors.Is(err, fs.ErrNotExist) {
			if err = c.carry(ctx, from.pathOf(p.Files[i]), to); err == nil {
				info, err = storage.Stat(ctx, to)
			}
		}
		if err == nil && info.Size != p.Files[i].Bytes {
			err = fs.ErrNotExist
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// sound reports whether a run could have given all names in a part.
func (p *Part) sound() bool {
	return p.Name != "" && !strings.Contains(p.Name, "/") && !slices.ContainsFunc(p.Files, func(f PartFile) bool {
		return !fs.ValidPath(f.Name) || f.Name == "." || !slices.Contains([]In{InOutput, InKept, InTemporary}, f.In)
	})
}
