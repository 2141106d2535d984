// Package commit publishes the output of a run atomically, once it is complete. It implements the protocol of
// docs/commit.md on any storage.Store.
//
// A run has its own staging folder. It changes the output only by moving files out of that folder, and by removing
// files that are still as the run saw them. A run that takes over the lock removes the folder first; from then on the
// former run can do nothing.
package commit

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// NewRun returns a unique id for a run.
func NewRun() string {
	var random [4]byte
	rand.Read(random[:]) // never fails
	return time.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(random[:])
}

var runID = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}-[0-9a-f]{8}$`)

// Options says what a run commits, and how.
type Options struct {
	Dir       string // the output, absolute and without links: see storage.Resolve
	Run       string // an id from NewRun
	Overwrite bool   // replace a finished output
	// Weak also allows a store without conditional DELETE, where files are only checked just before they are removed.
	Weak bool
	// Temp is the run's folder for temporary files, a TempFolder; "" means one in the staging folder.
	Temp string
	// Private hides all unpublished files from other users, including workers that run as other users.
	Private bool
	// Continue takes over the finished parts of earlier runs, and keeps those of this run for the next if it fails.
	Continue bool
	Lock     storage.LockOptions
	// Warn is called for problems that do not harm the output.
	Warn func(format string, args ...any)
}

// RefusedError says why a folder may not be written.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// unfitError says which feature a store lacks.
type unfitError struct{ reason string }

func (e *unfitError) Error() string { return e.reason }

func (*unfitError) Unwrap() error { return errors.ErrUnsupported }

// Status returns the exit status.
func (*unfitError) Status() int { return 2 }

// Commit is a run's hold on an output.
type Commit struct {
	o       Options
	store   storage.Store
	lock    *storage.Lock
	syncing storage.Syncing
	made    []string // folders that did not exist before: the output, and those above it
	staging string
	swaps   bool // the staged folder is exchanged with the output; else its files move one by one
	removes bool // the store has conditional DELETE
	// movable is the maximum size of a file that can be moved; 0: any. See storage.UnlistedError.
	movable int64
	// seen is the output as it was when the run began; stale are seals that could not be carried out.
	seen  *survey
	stale []*seal
	// parts are the finished parts of this run and former ones.
	parts  map[string]Part
	former []leftover
	// recovered is the seal of an earlier run whose publishing this one completed.
	recovered *seal
	// sealed means that the staged files become the output, even if another run publishes them.
	sealed    bool
	committed bool
	// cut means that publishing was interrupted, and its requests may still take effect.
	cut bool
}

// How long an interrupted run may continue to publish, and take to end. A container has 30 s.
var (
	publishTime = 12 * time.Second
	endTime     = 24 * time.Second
)

// Ending returns the context in which a run cleans up even if it is interrupted. Call it when the run begins.
func Ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return storage.Outlive(ctx, endTime)
}

// Check returns a *RefusedError for a folder that may not be written. It changes nothing.
func Check(ctx context.Context, dir string, overwrite bool) error {
	before, seals, err := lookAround(ctx, dir)
	for err == nil && before.refuse(overwrite || seals > 0) != nil {
		if before.locked {
			return nil // the run that takes the lock checks again
		}
		var now *survey
		if now, seals, err = lookAround(ctx, dir); err == nil && now.differs(before) == nil {
			return now.refuse(overwrite || seals > 0)
		}
		before = now // the output was changing
	}
	return err
}

// lookAround surveys an output with the seals of all runs, and returns their number.
func lookAround(ctx context.Context, dir string) (s *survey, n int, err error) {
	left, err := leftovers(ctx, dir)
	if err != nil {
		return nil, 0, err
	}
	var seals []*seal
	for _, l := range left {
		seal, err := l.seal(ctx)
		if errors.Is(err, fs.ErrPermission) {
			continue // it belongs to another user
		}
		if err != nil {
			return nil, 0, err
		}
		if seal != nil {
			seals = append(seals, seal)
		}
	}
	s, err = look(ctx, dir, seals...)
	return s, len(seals), err
}

// Begin takes the output's lock, publishes or removes what earlier runs left, and makes the folders of this one. The
// error is a *RefusedError if the output may not be written, a *storage.LockedError if another run holds it, and
// errors.ErrUnsupported if its store lacks a feature that is needed.
func Begin(ctx context.Context, o Options) (*Commit, error) {
	ending, done := Ending(ctx)
	defer done()
	refused := Check(ctx, o.Dir, o.Overwrite)
	if refused != nil {
		if !littered(ctx, o.Dir) {
			return nil, refused
		}
		o.Continue = true // begin removes what killed runs left, except parts, and then refuses, too
	}
	store, err := storage.At(o.Dir)
	if err != nil {
		return nil, err
	}
	c := &Commit{o: o, store: store, made: missing(ctx, o.Dir)}
	lock, former, err := storage.Acquire(ctx, storage.Join(o.Dir, output.LockFile), o.Run, o.Lock)
	if err != nil {
		removeEmpty(c.made)
		if failed := (*fs.PathError)(nil); errors.As(err, &failed) && !storage.Advised(err) {
			err = fmt.Errorf("%w; choose another --output", err)
		}
		return nil, cmp.Or(refused, err)
	}
	c.lock = lock
	lock.Keep(o.Weak && !storage.IsLocal(o.Dir)) // until the probe knows more
	switch {
	case former == nil:
	case former.To != "" && o.Lock.Force:
		c.o.Warn("took over the lock of job %s, which continues as %s until it finds that its files are gone; cancel "+
			"that job", former.Job, former.To)
	case former.To != "":
		c.o.Warn("took over the lock of job %s, which continued as %s and has ended; its work is "+
			"discarded", former.Job, former.To)
	default:
		c.o.Warn("took over the lock of job %s (process %d on %s)", former.Job, former.PID, former.Host)
	}
	if err := c.begin(ctx); err != nil {
		return nil, c.Close(ending, err)
	}
	return c, nil
}

// littered reports whether an output is finished, has only neardup's files, and has folders that earlier runs left.
func littered(ctx context.Context, dir string) bool {
	left, err := leftovers(ctx, dir)
	if err != nil || len(left) == 0 {
		return false
	}
	s, err := look(ctx, dir)
	return err == nil && s.finished && s.stranger() == ""
}

func (c *Commit) begin(ctx context.Context) (err error) {
	if err := c.recover(ctx); err != nil {
		return err
	}
	if c.seen, err = look(ctx, c.o.Dir, c.stale...); err != nil {
		return err
	}
	// Another run may have finished meanwhile.
	if err := c.seen.refuse(c.o.Overwrite || c.recovered != nil); err != nil {
		return err
	}
	if err := c.stage(ctx); err != nil {
		return err
	}
	return c.takeOverAll(ctx)
}

// Recovered reports whether Begin finished publishing an earlier run with this fingerprint: then there is nothing to
// do. If it published a run with another fingerprint, the error is as that of Begin if this run may not replace its
// output, or cannot.
func (c *Commit) Recovered(fingerprint string) (bool, error) {
	if c.recovered == nil {
		return false, nil
	}
	if c.recovered.Fingerprint == fingerprint {
		c.committed = true
		return true, nil
	}
	return false, cmp.Or(c.seen.refuse(c.o.Overwrite), c.canReplace())
}

// Temporary returns the folder for the run's temporary files.
func (c *Commit) Temporary() string {
	if c.o.Temp != "" {
		return c.o.Temp
	}
	return storage.Join(c.staging, tempDir)
}

// Staged returns the folder where workers write the output.
func (c *Commit) Staged() output.Folder {
	return output.Folder{Dir: storage.Join(c.staging, workDir), Opaque: !c.swaps}
}

// Publish makes the staged files the output: those of the manifest, which must all exist, and the record of the run. A
// later run with the same fingerprint is the same run. Once Publish has returned nil, the output is this run's,
// whatever happens.
func (c *Commit) Publish(ctx context.Context, fingerprint string, m *records.Manifest, run *records.Run) error {
	files, err := c.finish(ctx, m, run)
	if err != nil {
		return err
	}
	if err := c.lock.Prove(ctx); err != nil {
		return err
	}
	// From here on it is all or nothing, so an interruption is delayed.
	asked := ctx
	ctx, done := storage.Outlive(asked, publishTime)
	defer done()
	defer context.AfterFunc(asked, func() {
		slog.Warn(fmt.Sprintf("interrupted while publishing the output; publishing continues for up to %v", publishTime))
	})()
	err = errors.ErrUnsupported
	ready := c.ready()
	if c.swaps {
		if err = c.swap(ctx); errors.Is(err, errors.ErrUnsupported) {
			// In outDir it would be taken for an old output, with foreign folders once its files have moved.
			ready = readyDir
			if err := c.store.Move(ctx, storage.Join(c.staging, outDir), storage.Join(c.staging, ready)); err != nil {
				return err
			}
		}
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = c.sealAndFill(ctx, &seal{Run: c.o.Run, Fingerprint: fingerprint, From: ready, Opaque: !c.swaps,
			Weak: !c.removes, Files: files})
	}
	c.committed = err == nil
	if !c.Pending() {
		return err
	}
	if c.cut = ctx.Err() != nil; c.cut {
		err = context.Cause(asked)
	}
	return &PendingError{err}
}

// PendingError says that publishing was interrupted: the output is not finished, and the next run continues publishing
// it.
type PendingError struct{ Err error }

func (e *PendingError) Error() string {
	return fmt.Sprintf("publishing was interrupted: %v; the new output is complete; run again to "+
		"finish publishing it", e.Err)
}

func (e *PendingError) Unwrap() error { return e.Err }

// Pending identifies the error without its type.
func (*PendingError) Pending() bool { return true }

// Pending reports whether the staged output is complete and only its publishing was interrupted: the next run completes
// that.
func (c *Commit) Pending() bool { return c.sealed && !c.committed }

// finish adds the manifest, run.json and the mark of success to the staged files, checks that all files exist, and
// syncs them. Of the files it returns, the manifest is the first and the mark of success the last.
func (c *Commit) finish(ctx context.Context, m *records.Manifest, run *records.Run) ([]sealedFile, error) {
	if err := c.lock.Prove(ctx); err != nil {
		return nil, err
	}
	staged := c.Staged()
	write := func(name string, v any) (sum string, err error) {
		return output.WriteJSON(ctx, staged.Dir, staged.Path(name), v)
	}
	sum, err := write(output.ManifestFile, m)
	if err != nil {
		return nil, err
	}
	if _, err := write(output.RunFile, run); err != nil {
		return nil, err
	}
	if _, err := write(output.SuccessFile, output.Success{Run: c.o.Run, Manifest: sum}); err != nil {
		return nil, err
	}
	// A late worker finds that the run has ended.
	if err := storage.End(ctx, staged.Dir); err != nil {
		return nil, err
	}
	if ready := storage.Join(c.staging, c.ready()); ready != staged.Dir {
		// And one that is writing now has the wrong path.
		if err := c.store.Move(ctx, staged.Dir, ready); err != nil {
			return nil, err
		}
		staged.Dir = ready
	}
	there, err := list(ctx, staged.Dir)
	if err != nil {
		return nil, err
	}
	if err := there.tidy(ctx); err != nil {
		return nil, err
	}
	files := []sealedFile{{Name: output.ManifestFile}}
	for _, f := range m.Files {
		files = append(files, sealedFile{Name: f.Path, Size: f.Bytes, SHA256: f.SHA256})
	}
	listed := slices.ContainsFunc(m.Files, func(f records.ManifestFile) bool { return f.Path == output.ReportFile })
	if _, ok := there.files[staged.Name(output.ReportFile)]; ok && !listed { // it may be missing
		files = append(files, sealedFile{Name: output.ReportFile})
	}
	files = append(files, sealedFile{Name: output.RunFile}, sealedFile{Name: output.SuccessFile})
	for i := range files {
		f := &files[i]
		info, ok := there.files[staged.Name(f.Name)]
		switch {
		case !ok:
			return nil, fmt.Errorf("%s is missing from %s, where it was written; something else deleted it; "+
				"run again", f.Name, staged.Dir)
		case f.SHA256 != "" && info.Size != f.Size:
			return nil, fmt.Errorf("%s has %s bytes in %s, but %s were written; something else changed it; run again",
				f.Name, records.Count(info.Size), staged.Dir, records.Count(f.Size))
		case c.movable > 0 && info.Size > c.movable:
			const text = "%s has %s bytes, but the limit for a copy is %s bytes in an object store that cannot list " +
				"unfinished uploads; choose another store, or split the input"
			return nil, &storage.UnlistedError{
				Err:   fmt.Errorf(text, f.Name, records.Count(info.Size), records.Count(c.movable)),
				Whole: c.movable,
			}
		}
		f.Size = info.Size
	}
	if len(there.files) > len(files) {
		return nil, fmt.Errorf("%s contains %s, but %s were written; run again when nothing else is writing there",
			staged.Dir, records.Plural(len(there.files), "file"), records.Count(int64(len(files))))
	}
	return files, c.syncing.Sync(ctx, there.paths()...)
}

// ready returns the name of the folder in the staging folder where the complete output is.
func (c *Commit) ready() string {
	switch {
	case c.swaps:
		return outDir
	case storage.IsLocal(c.o.Dir):
		return readyDir
	default:
		return workDir // a store has no rename
	}
}

// FailedFolder returns where the record of this run goes if it fails: the output, or a folder beside it if the output
// has a finished or half-published run.
func (c *Commit) FailedFolder() string {
	if c.seen.finished || c.sealed || !c.removes {
		return FailedDir(c.o.Dir)
	}
	return c.o.Dir
}

// Fail writes the record of a failed run, and the named staged files, to FailedFolder.
func (c *Commit) Fail(ctx context.Context, run *records.Run, names []string) error {
	if err := c.lock.Prove(ctx); err != nil {
		return err
	}
	folder := c.FailedFolder()
	s, err := look(ctx, folder, c.stale...)
	if err != nil {
		return err
	}
	if err := s.refuse(false); err != nil {
		return err
	}
	// At every moment, run.json lists all files there, so that the next run recognises them.
	if err := c.stageRecord(ctx, failingFile, run, append(s.names(), names...)); err != nil {
		return err
	}
	if err := c.stageRecord(ctx, failedFile, run, names); err != nil {
		return err
	}
	// A run that takes the lock from now on removes what is moved here.
	if err := c.lock.Prove(ctx); err != nil {
		return err
	}
	if err := c.moveRecord(ctx, failingFile, folder); err != nil {
		return err
	}
	if err := s.remove(ctx, output.RunFile, c.lock.Removal); err != nil {
		return err
	}
	staged := c.Staged()
	for _, name := range names {
		if err := c.carry(ctx, staged.Path(name), storage.Join(folder, name)); err != nil {
			return err
		}
	}
	return c.moveRecord(ctx, failedFile, folder)
}

// carry moves a file, or copies it if it cannot be moved, as to another file system.
func (c *Commit) carry(ctx context.Context, from, to string) error {
	err := c.store.Move(ctx, from, to)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r, err := c.store.Open(ctx, from)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Stat(ctx)
	if err != nil {
		return err
	}
	_, err = c.store.Create(ctx, to, storage.If{}, func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(r, 0, info.Size))
		return err
	})
	return err
}

// stageRecord stages the record of a failed run that leaves files.
func (c *Commit) stageRecord(ctx context.Context, name string, run *records.Run, files []string) error {
	run.Files = files
	staged := storage.Join(c.staging, name)
	if _, err := output.WriteJSON(ctx, c.staging, staged, run); err != nil {
		return err
	}
	return storage.Sync(ctx, staged)
}

// moveRecord moves a staged record to its place.
func (c *Commit) moveRecord(ctx context.Context, name, folder string) error {
	record := storage.Join(folder, output.RunFile)
	if err := c.carry(ctx, storage.Join(c.staging, name), record); err != nil {
		return err
	}
	return c.syncing.Sync(ctx, record, folder)
}

// FailedDir returns the folder beside the output dir for the record of a failed run.
func FailedDir(dir string) string { return dir + ".failed" }

// Close removes the staged files, unless the next run will publish them, releases the output, and returns the error of
// the run: err, or a *storage.FencedError if another run has taken over the output. Once the run has published, errors
// are only warnings.
func (c *Commit) Close(ctx context.Context, err error) error {
	fenced := (*storage.FencedError)(nil)
	if err != nil && errors.As(c.lock.Prove(ctx), &fenced) {
		err = fenced
	}
	switch left := c.close(ctx, fenced != nil); {
	case left != nil && c.committed:
		c.o.Warn("the output is complete, but cleaning up failed: %v", left)
	case left != nil && err != nil && ctx.Err() != nil:
		c.o.Warn("cleaning up took too long and is left to the next run")
	default:
		err = errors.Join(err, left)
	}
	return err
}

func (c *Commit) close(ctx context.Context, fenced bool) error {
	var errs []error
	if c.syncing != nil {
		errs = append(errs, c.syncing.Close())
	}
	switch {
	case c.staging == "", fenced && c.o.Continue: // the run that fenced it off takes over its parts, and removes it
	case c.o.Continue && len(c.parts) > 0 && !c.committed && !c.sealed:
		errs = append(errs, c.leaveParts(ctx))
	case c.Pending():
		// The next holder of the lock needs the staged files.
		errs = append(errs, storage.RemoveAll(ctx, c.Temporary()))
	default:
		errs = append(errs, c.discard(ctx, leftover{c.o.Run, c.staging}))
	}
	if c.committed {
		errs = append(errs, c.tidy(ctx))
	}
	// A run that finds a lock tidies up; without a lock nobody would.
	storage.RemoveEmpty(storage.Join(c.o.Dir, belowDir))
	// The caller already reports another run's lock.
	if err := c.lock.Release(ctx, c.cut); !errors.As(err, new(*storage.FencedError)) {
		errs = append(errs, err)
	}
	removeEmpty(c.made)
	return errors.Join(errs...)
}

// missing returns folder and those above it that do not exist, the deepest first. Stores have no folders.
func missing(ctx context.Context, folder string) (folders []string) {
	for storage.IsLocal(folder) {
		if _, err := storage.Names(ctx, folder); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		folders = append(folders, folder)
		folder = storage.Dir(folder)
	}
	return folders
}

// removeEmpty removes folders that a run has made, if they are empty, to restore the former state.
func removeEmpty(made []string) {
	for _, folder := range made {
		storage.RemoveEmpty(folder)
	}
}

// tidy removes what a finished output makes useless.
func (c *Commit) tidy(ctx context.Context) error {
	var errs []error
	for _, s := range c.stale {
		errs = append(errs, c.discard(ctx, leftover{s.Run, s.folder}))
	}
	failed, err := look(ctx, FailedDir(c.o.Dir))
	if err == nil && failed.record != nil && failed.refuse(false) == nil {
		err = failed.remove(ctx, "", c.lock.Removal)
		storage.RemoveEmpty(failed.dir)
	}
	return errors.Join(append(errs, err)...)
}

// stage makes the staging folder: beside the output if they can be exchanged, else below it.
func (c *Commit) stage(ctx context.Context) (err error) {
	if storage.IsLocal(c.o.Dir) {
		beside := stagingBeside(c.o.Dir, c.o.Run)
		fits := len(path.Base(beside)+storage.Removing) <= maxName
		c.swaps = fits && c.makeStaging(ctx, beside) == nil && storage.Exchangeable(ctx, c.o.Dir, beside) == nil
		if fits && !c.swaps { // also if only a part was made
			if err := errors.Join(ctx.Err(), storage.RemoveAll(ctx, beside)); err != nil {
				return err
			}
		}
	}
	if !c.swaps {
		if err := c.makeStaging(ctx, storage.Join(c.o.Dir, belowDir, c.o.Run)); err != nil {
			return err
		}
	}
	if err := c.probe(ctx); err != nil {
		return err
	}
	// Disks report a failed write only to those who opened the file system before it.
	if c.syncing, err = storage.NewSyncing(ctx, c.staging); err != nil {
		return err
	}
	work := storage.Join(c.staging, workDir)
	if err := storage.BeginIn(ctx, c.staging, workDir, false); err != nil {
		return err
	}
	if c.swaps {
		// Files get their group and access list when they are created.
		if err := storage.Inherit(ctx, work, c.o.Dir); err != nil {
			return err
		}
	}
	if c.o.Temp != "" {
		return c.makeTemp(ctx)
	}
	return storage.BeginIn(ctx, c.staging, tempDir, c.o.Private)
}

// TempError says why the run's folder for temporary files cannot be made.
type TempError struct{ Err error }

func (e *TempError) Error() string { return e.Err.Error() }

func (e *TempError) Unwrap() error { return e.Err }

// makeTemp makes the folder for temporary files outside the staging folder.
func (c *Commit) makeTemp(ctx context.Context) error {
	err := storage.Begin(ctx, c.o.Temp, c.o.Private)
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) { // then discard may not look for it either
		err = errors.Join(err, c.writeNote(ctx, note{Run: c.o.Run}))
	}
	return &TempError{err}
}

// maxName is the maximum length of a name on a disk.
const maxName = 255

// makeStaging makes the staging folder, with a note that names its run.
func (c *Commit) makeStaging(ctx context.Context, folder string) error {
	c.staging = folder
	if err := storage.Begin(ctx, folder, c.o.Private); err != nil {
		return err
	}
	return c.writeNote(ctx, note{c.o.Run, c.o.Temp})
}

func (c *Commit) writeNote(ctx context.Context, n note) error {
	path := storage.Join(c.staging, noteFile)
	if err := storage.WriteShared(ctx, path, n); err != nil {
		return err
	}
	return storage.Sync(ctx, path)
}

// probe tests whether a store respects conditions. A disk does.
func (c *Commit) probe(ctx context.Context) error {
	c.removes = storage.IsLocal(c.o.Dir)
	if c.removes {
		return nil
	}
	path := storage.Join(c.staging, "probe")
	first, err := c.create(ctx, path, storage.If{Absent: true})
	if errors.Is(err, errors.ErrUnsupported) {
		return c.ignoresConditions()
	}
	if err != nil {
		return err
	}
	if err := c.refuses(ctx, path, storage.If{Absent: true}); err != nil {
		return err
	}
	second, err := c.create(ctx, path, storage.If{Version: first.Version})
	if err != nil {
		return err
	}
	if err := c.refuses(ctx, path, storage.If{Version: first.Version}); err != nil {
		return err
	}
	err = c.store.Remove(ctx, path, storage.If{Version: first.Version})
	if c.removes = errors.Is(err, storage.ErrPrecondition); c.removes {
		// A repeated request may have been refused because the first one had removed the file.
		now, statErr := c.store.Stat(ctx, path)
		c.removes, err = statErr == nil && now.Version == second.Version, nil
		if statErr != nil && !errors.Is(statErr, fs.ErrNotExist) {
			return statErr
		}
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	c.lock.Keep(!c.removes)
	if c.recovered != nil {
		return nil // that may be all there is to do: see Recovered
	}
	return c.canReplace()
}

// canReplace returns an error if existing files cannot be replaced.
func (c *Commit) canReplace() error {
	if c.removes || c.o.Weak || len(c.seen.files) == 0 {
		return nil
	}
	const text = "%s: the object store does not support conditional DELETE, so existing output cannot be replaced; " +
		"choose an empty --output, or add --weak-overwrite if no other program writes there (docs/lake.md)"
	return &unfitError{fmt.Sprintf(text, c.o.Dir)}
}

// create writes a probe with a unique text. If the answer to a request is lost and its repetition is refused, the text
// shows that the first one succeeded.
func (c *Commit) create(ctx context.Context, path string, cond storage.If) (storage.Info, error) {
	text := rand.Text()
	info, err := c.store.Create(ctx, path, cond, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if errors.Is(err, storage.ErrPrecondition) {
		if data, now, _, readErr := readSmall(ctx, path, maxMark); readErr != nil || string(data) == text {
			return now, readErr
		}
	}
	return info, err
}

// refuses returns an error unless the store refuses to write a probe under a false condition.
func (c *Commit) refuses(ctx context.Context, path string, cond storage.If) error {
	switch _, err := c.create(ctx, path, cond); {
	case errors.Is(err, storage.ErrPrecondition):
		return nil
	case err == nil, errors.Is(err, errors.ErrUnsupported):
		return c.ignoresConditions()
	default: // an error that says nothing about conditions
		return err
	}
}

func (c *Commit) ignoresConditions() error {
	return &unfitError{c.o.Dir + ": the object store ignores conditional requests, so two runs could write at " +
		"once; choose another store"}
}

// andAbove returns folder and all those above it, some of which may be new too.
func andAbove(folder string) []string {
	folders := []string{folder}
	for storage.IsLocal(folder) && storage.Dir(folder) != folder {
		folder = storage.Dir(folder)
		folders = append(folders, folder)
	}
	return folders
}

// swap exchanges the staged folder with the output. The error is errors.ErrUnsupported if the file system cannot.
func (c *Commit) swap(ctx context.Context) error {
	out, parent := storage.Join(c.staging, outDir), storage.Dir(c.o.Dir)
	if err := c.lock.Twin(ctx, storage.Join(out, output.LockFile)); err != nil {
		return err
	}
	if err := c.syncing.Sync(ctx, append([]string{out}, andAbove(c.staging)...)...); err != nil {
		return err
	}
	now, err := look(ctx, c.o.Dir, c.stale...)
	if err != nil {
		return err
	}
	if err := now.differs(c.seen); err != nil {
		return err
	}
	if err := c.lock.Prove(ctx); err != nil {
		return err
	}
	if err := storage.Exchange(ctx, out, c.o.Dir); err != nil {
		return err
	}
	if err := errors.Join(c.lock.Exchanged(), c.syncing.Sync(ctx, parent, c.staging)); err != nil {
		c.o.Warn(notSafe, err)
	}
	return nil
}

// notSafe is the warning if a disk fails after the exchange.
const notSafe = "the output is complete, but might not survive a power failure: %v"
