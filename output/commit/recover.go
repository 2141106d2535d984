package commit

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
)

// belowDir is the folder in an output for the staging folders of runs whose files move one by one.
const belowDir = ".neardup"

// stagingBeside returns the staging folder of a run that exchanges it with the output folder.
func stagingBeside(dir, run string) string {
	return storage.Join(storage.Dir(dir), besidePrefix(dir)+run)
}

func besidePrefix(dir string) string { return "." + path.Base(dir) + ".neardup-" }

// Names in a staging folder.
const (
	noteFile = "run"    // a note
	workDir  = "w"      // where workers write
	outDir   = "out"    // the new output to be exchanged, and then the old one
	readyDir = "ready"  // the new output to be moved file by file
	goneDir  = "gone"   // an old outDir in which every file is neardup's
	tempDir  = "tmp"    // temporary files, unless they are elsewhere
	sealFile = "sealed" // a seal
	// failedFile is the record of a failed run until it is moved to its place; failingFile takes that place before, while
	// files are moved.
	failedFile  = "failed"
	failingFile = "failing"
)

// note says which run a staging folder belongs to, and where the run's temporary files are, if elsewhere.
type note struct {
	Run  string `json:"run"`
	Temp string `json:"temp,omitempty"`
}

// tempPrefix begins the name of a run's folder for temporary files outside its staging folder.
const tempPrefix = "neardup-"

// TempFolder returns the path below parent of a run's folder for temporary files.
func TempFolder(parent, run string) string { return storage.Join(parent, tempPrefix+run) }

// leftover is the staging folder of a run that may have been killed.
type leftover struct{ run, folder string }

func (l leftover) removing() bool { return strings.HasSuffix(l.folder, storage.Removing) }

// seal returns the seal in a staging folder, or nil if there is none to carry out.
func (l leftover) seal(ctx context.Context) (*seal, error) {
	if l.removing() {
		return nil, nil
	}
	return readSeal(ctx, l.folder)
}

// runOf returns the run in the name of a folder; ok is false if there is none.
func runOf(name string) (run string, ok bool) {
	run = strings.TrimSuffix(name, storage.Removing)
	return run, runID.MatchString(run)
}

// Sealed reports whether a run has sealed an output for dir that is not completely published yet.
func Sealed(ctx context.Context, dir, run string) (bool, error) {
	left, err := leftovers(ctx, dir)
	if err != nil {
		return false, err
	}
	for _, l := range left {
		if l.run != run {
			continue
		}
		if sealed, err := l.seal(ctx); err != nil || sealed != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// leftovers returns the staging folders beside and below an output.
func leftovers(ctx context.Context, dir string) (left []leftover, err error) {
	if storage.IsLocal(dir) {
		if _, err := storage.Stat(ctx, dir); err == nil {
			return nil, &RefusedError{dir + " is not a folder; choose another --output"}
		}
		parent := storage.Dir(dir)
		names, err := storage.NamesIn(ctx, parent)
		if err != nil && !errors.Is(err, fs.ErrPermission) { // without permission nothing can be staged there
			return nil, err
		}
		for _, name := range names {
			rest, beside := strings.CutPrefix(name, besidePrefix(dir))
			if run, ok := runOf(rest); beside && ok {
				left = append(left, leftover{run, storage.Join(parent, name)})
			}
		}
	}
	below := storage.Join(dir, belowDir)
	names, err := storage.NamesIn(ctx, below)
	for _, name := range names {
		if run, ok := runOf(name); ok {
			left = append(left, leftover{run, storage.Join(below, name)})
		}
	}
	return left, err
}

// recover publishes the output of a run that was killed after it had sealed it, and removes all other staging folders.
// A former holder of the lock that still runs finds its folder gone.
func (c *Commit) recover(ctx context.Context) (err error) {
	left, err := leftovers(ctx, c.o.Dir)
	if err != nil {
		return err
	}
	// A run that takes the lock from now on has a staging folder that is not among these.
	if err := c.lock.Prove(ctx); err != nil {
		return err
	}
	mark, _, err := readSuccess(ctx, c.o.Dir)
	if err != nil {
		return err
	}
	defer func() {
		if late, ok := c.store.(storage.Late); ok && err == nil {
			err = late.Abort(ctx, c.o.Dir) // the sources of these uploads are gone
			if unlisted := (*storage.UnlistedError)(nil); errors.As(err, &unlisted) {
				c.movable, err = unlisted.Whole, nil
				if len(left) > 0 {
					c.o.Warn("the object store cannot list unfinished uploads; those of a killed run stay there until you remove them")
				}
			}
		}
	}()
	for _, l := range left {
		if !storage.SameOwner(l.folder, storage.Join(c.o.Dir, output.LockFile)) {
			c.o.Warn("%s belongs to another user and was kept; its owner can run the same command again to finish "+
				"or remove it", l.folder)
			continue
		}
		seal, err := l.seal(ctx)
		if err != nil {
			return err
		}
		if seal != nil {
			c.lock.Keep(seal.Weak) // until the probe knows more
			published, err := c.finishSealed(ctx, seal)
			if err != nil {
				return err
			}
			if !published {
				c.stale = append(c.stale, seal)
				continue
			}
			c.o.Warn("finished publishing the output of run %s, which was interrupted", seal.Run)
			c.recovered = seal
		}
		if c.o.Continue && seal == nil && l.run != mark.Run { // the output has the parts of mark.Run
			if names, err := storage.NamesIn(ctx, storage.Join(l.folder, keptDir)); err != nil {
				return err
			} else if len(names) > 0 {
				c.former = append(c.former, l)
				continue
			}
		}
		if err := c.discard(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// finishSealed carries out the seal of an earlier run.
func (c *Commit) finishSealed(ctx context.Context, s *seal) (published bool, err error) {
	syncing, err := storage.NewSyncing(ctx, c.o.Dir)
	if err != nil {
		return false, err
	}
	published, err = c.fill(ctx, s, syncing)
	return published, errors.Join(err, syncing.Close())
}

// discard removes a staging folder and the run's temporary files. It keeps files of others in an old output there.
func (c *Commit) discard(ctx context.Context, l leftover) error {
	note, ours, err := c.readNote(ctx, l)
	if err != nil {
		return err
	}
	if !ours {
		c.o.Warn("%s does not say which run it belongs to and was kept; delete it if none of your runs needs it", l.folder)
		return nil
	}
	if l, err = c.fence(ctx, l); err != nil {
		return err
	}
	if note.Temp != "" {
		if err := errors.Join(storage.RemoveAll(ctx, note.Temp),
			storage.RemoveAll(ctx, note.Temp+storage.Removing)); err != nil {
			return err
		}
	}
	old, err := look(ctx, storage.Join(l.folder, outDir), c.stale...)
	if err != nil {
		return err
	}
	if foreign := old.stranger(); foreign != "" {
		c.o.Warn("%s was not written by neardup and was kept; move it where you want it", storage.Join(old.dir, foreign))
		return errors.Join(old.remove(ctx, "", c.lock.Removal), storage.RemoveAll(ctx, storage.Join(l.folder, workDir)),
			storage.RemoveAll(ctx, storage.Join(l.folder, tempDir)))
	}
	// If only some of its files were removed, the rest could not be told from files of others.
	err = c.store.Move(ctx, old.dir, storage.Join(l.folder, goneDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// First remove the seal, which another run would carry out.
	if err := c.store.Remove(ctx, storage.Join(l.folder, sealFile), storage.If{}); err != nil {
		return err
	}
	return storage.RemoveAll(ctx, l.folder)
}

// fence renames the staging folder of another run on a disk, so that the run can do nothing more, not even exchange it
// meanwhile. On a store that run has lost the lock, and finds its files gone.
func (c *Commit) fence(ctx context.Context, l leftover) (leftover, error) {
	if !storage.IsLocal(l.folder) || l.removing() {
		return l, nil
	}
	err := c.store.Move(ctx, l.folder, l.folder+storage.Removing)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l, err
	}
	l.folder += storage.Removing
	return l, nil
}

// readNote returns the note in a staging folder. Without a note, the folder is a run's if it has no content, or is
// being removed.
func (c *Commit) readNote(ctx context.Context, l leftover) (n note, ours bool, err error) {
	data, _, ok, err := readSmall(ctx, storage.Join(l.folder, noteFile), maxMark)
	if err != nil {
		return note{}, false, err
	}
	if ok && json.Unmarshal(data, &n) == nil {
		if path.Base(n.Temp) != tempPrefix+l.run {
			n.Temp = "" // not the temporary folder of this run
		}
		return n, n.Run == l.run, nil
	}
	// The folder was being made or removed, or the note did not survive a loss of power.
	if _, below := storage.Rel(storage.Join(c.o.Dir, belowDir), l.folder); below || l.removing() {
		return note{}, true, nil
	}
	there, err := list(ctx, l.folder)
	if err != nil {
		return note{}, false, err
	}
	for _, info := range there.files {
		if info.Size > 0 {
			return note{}, false, nil
		}
	}
	return note{}, len(there.files) <= 2 && len(there.folders) == 0, nil // a mark, and an empty note
}
