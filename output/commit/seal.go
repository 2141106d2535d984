package commit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// seal says that an output is completely staged, and how to move it to its place file by file. Any run that finds it
// carries it out.
type seal struct {
	Run         string       `json:"run"`
	Fingerprint string       `json:"fingerprint"`
	From        string       `json:"from"` // folder of the files below the staging folder
	Opaque      bool         `json:"opaque,omitempty"`
	Weak        bool         `json:"weak,omitempty"` // the store has no conditional DELETE
	Files       []sealedFile `json:"files"`          // the manifest first, the mark of success last
	Old         []oldFile    `json:"old"`            // all files that the new output replaces, by name

	folder string // the staging folder
}

type sealedFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"` // only of files in the manifest
}

// oldFile is a file of the output as it was when the run made the seal.
type oldFile struct {
	Name     string `json:"name"`
	Size     int64  `json:"bytes"`
	Modified int64  `json:"modified"` // in ns since 1970
	Version  string `json:"version"`
	SHA256   string `json:"sha256,omitempty"` // only of files in the old output's manifest
}

func asOld(name string, info storage.Info) oldFile {
	return oldFile{Name: name, Size: info.Size, Modified: info.Modified.UnixNano(), Version: info.Version}
}

// is reports whether a file is unchanged. On some file systems inodes, and so versions, change when they are mounted
// again.
func (o oldFile) is(info storage.Info) bool {
	return info.Version == o.Version || storage.IsLocal(info.Path) && info.Size == o.Size &&
		info.Modified.UnixNano() == o.Modified
}

func (s *seal) staged() output.Folder {
	return output.Folder{Dir: storage.Join(s.folder, s.From), Opaque: s.Opaque}
}

// success returns the mark of success; files returns all others.
func (s *seal) success() sealedFile { return s.Files[len(s.Files)-1] }

func (s *seal) files() []sealedFile { return s.Files[:len(s.Files)-1] }

func (s *seal) old(name string) (oldFile, bool) {
	i, ok := slices.BinarySearchFunc(s.Old, name, func(o oldFile, name string) int {
		return strings.Compare(o.Name, name)
	})
	if !ok {
		return oldFile{}, false
	}
	return s.Old[i], true
}

// readSeal returns the seal of a staging folder, or nil if it has no complete one.
func readSeal(ctx context.Context, folder string) (*seal, error) {
	path := storage.Join(folder, sealFile)
	data, err := storage.ReadFile(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &seal{folder: folder}
	if json.Unmarshal(data, s) != nil {
		return nil, nil // it was not synced, so no run has acted on it
	}
	if !s.sound() {
		return nil, fmt.Errorf("%s was not written by neardup; delete %s", path, folder)
	}
	return s, nil
}

// sound reports whether all names in a seal are valid for files of an output.
func (s *seal) sound() bool {
	bad := func(name string) bool {
		top, _, _ := strings.Cut(name, "/")
		return !fs.ValidPath(name) || name == "." || top == output.LockFile || top == belowDir
	}
	return len(s.Files) > 0 && s.success().Name == output.SuccessFile &&
		slices.Contains([]string{workDir, outDir, readyDir}, s.From) &&
		!slices.ContainsFunc(s.Files, func(f sealedFile) bool { return bad(f.Name) }) &&
		!slices.ContainsFunc(s.Old, func(f oldFile) bool { return bad(f.Name) })
}

// sealAndFill seals the staged files and moves them into the output.
func (c *Commit) sealAndFill(ctx context.Context, s *seal) error {
	now, err := look(ctx, c.o.Dir, c.stale...)
	if err != nil {
		return err
	}
	if err := now.differs(c.seen); err != nil {
		return err
	}
	for _, name := range now.names() {
		old := asOld(name, now.files[name])
		old.SHA256 = now.sums[name]
		s.Old = append(s.Old, old)
	}
	s.folder = c.staging
	path := storage.Join(c.staging, sealFile)
	_, err = c.store.Create(ctx, path, storage.If{Absent: true, Root: c.staging}, func(w io.Writer) error {
		return json.NewEncoder(w).Encode(s)
	})
	if err != nil {
		// The store may have created it nevertheless.
		made, readErr := readSeal(ctx, c.staging)
		c.sealed = made != nil || readErr != nil
		if made == nil || !errors.Is(err, storage.ErrPrecondition) { // the retry of a request that had succeeded
			return err
		}
	}
	c.sealed = true
	if err := c.syncing.Sync(ctx, append([]string{path}, andAbove(c.staging)...)...); err != nil {
		return err
	}
	published, err := c.fill(ctx, s, c.syncing)
	if err == nil && !published {
		c.sealed = false
		return fmt.Errorf("%s was finished by another run while this one was publishing; run again", c.o.Dir)
	}
	return err
}

// fill carries out a seal, from wherever it was interrupted. It returns false, and changes nothing, if staged files are
// missing, or if another output has been finished since.
func (c *Commit) fill(ctx context.Context, s *seal, syncing storage.Syncing) (published bool, err error) {
	switch mark, there, err := readSuccess(ctx, c.o.Dir); {
	case err != nil:
		return false, err
	case there && mark.Run == s.Run:
		return true, nil
	case there:
		if old, ok := s.old(output.SuccessFile); !ok || !old.is(mark.info) {
			return false, nil
		}
	}
	whole, err := c.whole(ctx, s)
	if err != nil || !whole {
		return false, err
	}
	if err := c.lock.Settle(ctx, func(d time.Duration) {
		c.o.Warn("waiting %v before publishing: requests from the job whose lock was taken over may still be under way", d)
	}); err != nil {
		return false, err
	}
	if err := c.lock.Prove(ctx); err != nil {
		return false, err
	}
	if old, ok := s.old(output.SuccessFile); ok {
		if err := c.removeOld(ctx, s, old); err != nil {
			return false, err
		}
		if err := syncing.Sync(ctx, c.o.Dir); err != nil {
			return false, err
		}
	}
	// An old file may have the name of a new folder. Without _SUCCESS there is no way back anyway.
	if err := c.removeReplaced(ctx, s); err != nil {
		return false, err
	}
	if err := c.each(ctx, len(s.files()), func(i int) error { return c.move(ctx, s, s.files()[i]) }); err != nil {
		return false, err
	}
	there, err := c.checkFilled(ctx, s)
	if err != nil {
		return false, err
	}
	if err := syncing.Sync(ctx, there.foldersUp()...); err != nil {
		return false, err
	}
	if err := c.lock.Prove(ctx); err != nil {
		return false, err
	}
	// All marks have the same size: only the run id in it tells whether it was moved before.
	if err := c.store.Move(ctx, s.staged().Path(output.SuccessFile),
		storage.Join(c.o.Dir, output.SuccessFile)); err != nil {
		mark, there, readErr := readSuccess(ctx, c.o.Dir)
		if readErr != nil || !there || mark.Run != s.Run {
			return false, errors.Join(c.lock.Prove(ctx), err)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			c.o.Warn("%v", err) // a store may have copied it but not deleted the source
		}
	}
	if err := syncing.Sync(ctx, c.o.Dir); err != nil {
		c.o.Warn(notSafe, err)
	}
	return true, nil
}

// whole reports whether each file of the seal is staged, or in its place.
func (c *Commit) whole(ctx context.Context, s *seal) (bool, error) {
	staged, err := list(ctx, s.staged().Dir)
	if err != nil {
		return false, err
	}
	there, err := list(ctx, c.o.Dir)
	if err != nil {
		return false, err
	}
	for _, f := range s.Files {
		if info, ok := staged.files[s.staged().Name(f.Name)]; ok && info.Size == f.Size {
			continue
		}
		if info, ok := there.files[f.Name]; !ok || !s.arrived(f, info) {
			return false, nil
		}
	}
	return true, nil
}

// arrived reports whether info describes the new file f in its place.
func (s *seal) arrived(f sealedFile, info storage.Info) bool {
	old, ok := s.old(f.Name)
	return info.Size == f.Size && (!ok || !old.is(info) || old.SHA256 != "" && old.SHA256 == f.SHA256)
}

// proofEvery is the number of files that are moved or removed between two proofs of the lock.
const proofEvery = 1000

// atOnce is the number of files that are moved or removed at once on a store, where each takes a request. A disk does
// not need that.
const atOnce = 16

// each calls do with 0 to n-1, several at once on a store, and proves the lock before each batch. It stops at the first
// error.
func (c *Commit) each(ctx context.Context, n int, do func(i int) error) error {
	limit := atOnce
	if storage.IsLocal(c.o.Dir) {
		limit = 1
	}
	var working sync.WaitGroup
	free, failed := make(chan bool, limit), make(chan error, limit+1)
	for i := range n {
		free <- true
		if len(failed) > 0 {
			break
		}
		if i%proofEvery == 0 {
			if err := c.lock.Prove(ctx); err != nil {
				failed <- err
				break
			}
		}
		working.Go(func() {
			if err := do(i); err != nil {
				failed <- err
			}
			<-free
		})
	}
	working.Wait()
	close(failed)
	return <-failed
}

// move moves a file to its place, unless that was done before.
func (c *Commit) move(ctx context.Context, s *seal, f sealedFile) error {
	to := storage.Join(c.o.Dir, f.Name)
	err := c.store.Move(ctx, s.staged().Path(f.Name), to)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	info, statErr := c.store.Stat(ctx, to)
	if statErr == nil && s.arrived(f, info) {
		return nil
	}
	return errors.Join(c.lock.Prove(ctx), fmt.Errorf("%s is missing from %s, where it was staged: %w",
		f.Name, s.folder, err))
}

// removeReplaced removes old files whose name no new file has.
func (c *Commit) removeReplaced(ctx context.Context, s *seal) error {
	keep := map[string]bool{}
	for _, f := range s.Files {
		keep[f.Name] = true
	}
	gone := slices.DeleteFunc(slices.Clone(s.Old), func(old oldFile) bool { return keep[old.Name] })
	if err := c.each(ctx, len(gone), func(i int) error { return c.removeOld(ctx, s, gone[i]) }); err != nil {
		return err
	}
	there, err := list(ctx, c.o.Dir)
	if err != nil {
		return err
	}
	return there.tidy(ctx)
}

// How often, and after what pause, to retry removing a file that another process has locked.
const (
	lockedTries = 100
	lockedPause = 10 * time.Millisecond
)

// removeOld removes a file of the old output, unless that was done before.
func (c *Commit) removeOld(ctx context.Context, s *seal, old oldFile) error {
	path := storage.Join(c.o.Dir, old.Name)
	for tries := 0; ; tries++ {
		info, err := c.store.Stat(ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !old.is(info) {
			return errors.Join(c.lock.Prove(ctx), changed(path))
		}
		cond := c.lock.Removal(info.Version)
		if s.Weak {
			cond.Version = "" // it was unchanged a moment ago
		}
		err = c.store.Remove(ctx, path, cond)
		if !errors.Is(err, storage.ErrPrecondition) {
			return err
		}
		// The file is unchanged, so a reader has locked it, or the run whose lock was taken over is removing it.
		if tries == lockedTries {
			return errors.Join(c.lock.Prove(ctx), &RefusedError{path + " is locked by another process; wait until that " +
				"process ends, or stop it, and run again"})
		}
		time.Sleep(lockedPause)
	}
}

func changed(path string) error {
	return &RefusedError{path + " changed just before it was to be replaced; move it and run again"}
}

// checkFilled returns an error unless the output folder has all new files except the mark of success, and no others.
func (c *Commit) checkFilled(ctx context.Context, s *seal) (*listing, error) {
	there, err := list(ctx, c.o.Dir)
	if err != nil {
		return nil, err
	}
	expected := map[string]int64{}
	for _, f := range s.files() {
		expected[f.Name] = f.Size
	}
	for _, name := range slices.Sorted(maps.Keys(there.files)) {
		size, ok := expected[name]
		switch {
		case !ok:
			return nil, &RefusedError{storage.Join(c.o.Dir, name) + " was not written by neardup; move it"}
		case there.files[name].Size != size:
			return nil, fmt.Errorf("%s has %s bytes, but %s were written; something else changed it; run again",
				storage.Join(c.o.Dir, name), records.Count(there.files[name].Size), records.Count(size))
		}
		delete(expected, name)
	}
	for name := range expected {
		return nil, fmt.Errorf("%s is missing from %s, where it was published; something else deleted it; run again",
			name, c.o.Dir)
	}
	return there, nil
}
