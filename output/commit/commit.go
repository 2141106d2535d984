// Package commit makes what a run has written the output: at once, and only when it is whole. It is the
// protocol of docs/commit.md, on any storage.Store.
//
// A run has a staging folder of its own. All it does to the output is to move something out of that
// folder, or to remove what is as the run saw it. Whoever takes its lock removes the folder first, and
// from then on the run can do nothing.
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

// NewRun returns an id for a run, which no other run has.
func NewRun() string {
	var random [4]byte
	rand.Read(random[:]) // never fails
	return time.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(random[:])
}

var runID = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}-[0-9a-f]{8}$`)

// Options say what a run is to commit.
type Options struct {
	Dir       string // the output, absolute and without links: see storage.Resolve
	Run       string // of NewRun
	Overwrite bool   // a finished output is replaced
	// Weak: also on a store without conditional DELETE, where what is removed is only looked at just before.
	Weak bool
	// Temp is the run's folder for temporary files, a TempFolder; "" is one in the staging folder.
	Temp string
	// Private keeps all that is not yet published from other users, also from workers that are other users.
	Private bool
	// Continue: parts that earlier runs have done are taken over, and those of this one stay for the next if it ends badly.
	Continue bool
	Lock     storage.LockOptions
	// Warn is told of what does the output no harm.
	Warn func(format string, args ...any)
}

// RefusedError says why a folder is not to be filled.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// unfitError says what a store lacks for what is asked.
type unfitError struct{ reason string }

func (e *unfitError) Error() string { return e.reason }

func (*unfitError) Unwrap() error { return errors.ErrUnsupported }

// Status is the exit status.
func (*unfitError) Status() int { return 2 }

// Commit is a run's hold on an output.
type Commit struct {
	o       Options
	store   storage.Store
	lock    *storage.Lock
	syncing storage.Syncing
	made    []string // folders that were not there before: the output, and those above it
	staging string
	swaps   bool // the staged folder takes the output's place; else its files move one by one
	removes bool // the store can remove on condition
	// movable is the size of what can be moved, 0: any. See storage.UnlistedError.
	movable int64
	// seen is the output as it was when the run began, stale are seals that could not be carried out.
	seen  *survey
	stale []*seal
	// parts are done, by this run or by former ones.
	parts  map[string]Part
	former []leftover
	// recovered is the seal of an earlier run whose publishing this one finished.
	recovered *seal
	// sealed: what is staged is the output, whoever publishes it.
	sealed    bool
	committed bool
	// cut: publishing was interrupted, and requests of it may still take effect.
	cut bool
}

// How long after an interruption a run may publish, and how long it may take to end. A container has 30 s.
var (
	publishTime = 12 * time.Second
	endTime     = 24 * time.Second
)

// Ending returns the context in which a run ends in good order, also if it is interrupted. Call it when the run begins.
func Ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return storage.Outlive(ctx, endTime)
}

// Check refuses a folder that is not to be filled. It changes nothing.
func Check(ctx context.Context, dir string, overwrite bool) error {
	before, seals, err := lookAround(ctx, dir)
	for err == nil && before.refuse(overwrite || seals > 0) != nil {
		if before.locked {
			return nil // who gets the lock looks again
		}
		var now *survey
		if now, seals, err = lookAround(ctx, dir); err == nil && now.differs(before) == nil {
			return now.refuse(overwrite || seals > 0)
		}
		before = now // it was changing
	}
	return err
}

// lookAround looks at an output with the seals of all runs that have left one.
func lookAround(ctx context.Context, dir string) (s *survey, n int, err error) {
	left, err := leftovers(ctx, dir)
	if err != nil {
		return nil, 0, err
	}
	var seals []*seal
	for _, l := range left {
		seal, err := l.seal(ctx)
		if errors.Is(err, fs.ErrPermission) {
			continue // another user's
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

// Begin takes the output's lock, finishes or removes what earlier runs left, and makes the folders of
// this one. The error is a *RefusedError if the output is not to be filled, a *storage.LockedError if
// another run holds it, and errors.ErrUnsupported if its store is not fit for what is asked.
func Begin(ctx context.Context, o Options) (*Commit, error) {
	ending, done := Ending(ctx)
	defer done()
	if err := Check(ctx, o.Dir, o.Overwrite); err != nil {
		return nil, err
	}
	store, err := storage.At(o.Dir)
	if err != nil {
		return nil, err
	}
	c := &Commit{o: o, store: store, made: missing(ctx, o.Dir)}
	lock, former, err := storage.Acquire(ctx, storage.Join(o.Dir, output.LockFile), o.Run, o.Lock)
	if err != nil {
		removeEmpty(c.made)
		return nil, err
	}
	c.lock = lock
	lock.Keep(o.Weak && !storage.IsLocal(o.Dir)) // until the probe tells more
	switch {
	case former == nil:
	case former.To != "" && o.Lock.Force:
		c.o.Warn("took over the lock of job %s, which continues as %s until it finds that its files are gone; cancel it", former.Job, former.To)
	case former.To != "":
		c.o.Warn("took over the lock of job %s, which continued as %s until it ended; its work is discarded", former.Job, former.To)
	default:
		c.o.Warn("took over the lock of job %s (process %d on %s)", former.Job, former.PID, former.Host)
	}
	if err := c.begin(ctx); err != nil {
		return nil, c.Close(ending, err)
	}
	return c, nil
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

// Recovered reports whether an earlier run of this fingerprint was killed while it published, and is
// finished now: then there is nothing to do. The error is as that of Begin if a run of another one is, and
// this run is not to replace it, or cannot.
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

// Temporary is the folder for the run's temporary files.
func (c *Commit) Temporary() string {
	if c.o.Temp != "" {
		return c.o.Temp
	}
	return storage.Join(c.staging, tempDir)
}

// Staged is where workers write the output.
func (c *Commit) Staged() output.Folder {
	return output.Folder{Dir: storage.Join(c.staging, workDir), Opaque: !c.swaps}
}

// Publish makes the staged files the output: those of the manifest, which must all be there, and the
// record of the run. The fingerprint tells what a later run must be asked to be the same. Once nil is
// returned the output is this run's, whatever happens.
func (c *Commit) Publish(ctx context.Context, fingerprint string, m *records.Manifest, run *records.Run) error {
	files, err := c.finish(ctx, m, run)
	if err != nil {
		return err
	}
	if err := c.lock.Prove(ctx); err != nil {
		return err
	}
	// From here on it is all or nothing: an interruption is not heeded at once.
	asked := ctx
	ctx, done := storage.Outlive(asked, publishTime)
	defer done()
	defer context.AfterFunc(asked, func() {
		slog.Warn(fmt.Sprintf("interrupted while the output is being published; publishing continues for up to %v", publishTime))
	})()
	err = errors.ErrUnsupported
	ready := c.ready()
	if c.swaps {
		if err = c.swap(ctx); errors.Is(err, errors.ErrUnsupported) {
			// In outDir it would be taken for a former output, with strange folders once its files have moved.
			ready = readyDir
			if err := c.store.Move(ctx, storage.Join(c.staging, outDir), storage.Join(c.staging, ready)); err != nil {
				return err
			}
		}
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = c.sealAndFill(ctx, &seal{Run: c.o.Run, Fingerprint: fingerprint, From: ready, Opaque: !c.swaps, Weak: !c.removes, Files: files})
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

// PendingError says that publishing was interrupted. Nothing is finished in the output, and the next run goes on.
type PendingError struct{ Err error }

func (e *PendingError) Error() string {
	return fmt.Sprintf("publishing was interrupted: %v; the new output is complete; run again to finish publishing it", e.Err)
}

func (e *PendingError) Unwrap() error { return e.Err }

// Pending tells the error from others by what it leaves.
func (*PendingError) Pending() bool { return true }

// Pending reports whether the staged output is complete and only its publishing was interrupted: the next run
// finishes that.
func (c *Commit) Pending() bool { return c.sealed && !c.committed }

// finish completes the staged files by those that say what they are, looks whether all are there, and
// syncs them. The manifest is the first of those it returns, and the mark of success the last.
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
	// A worker that is late finds that the run has ended.
	if err := storage.End(ctx, staged.Dir); err != nil {
		return nil, err
	}
	if ready := storage.Join(c.staging, c.ready()); ready != staged.Dir {
		// And one that writes at this moment has the wrong path.
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
	if _, ok := there.files[staged.Name(output.ReportFile)]; ok && !listed { // which is not promised, and may be missing
		files = append(files, sealedFile{Name: output.ReportFile})
	}
	files = append(files, sealedFile{Name: output.RunFile}, sealedFile{Name: output.SuccessFile})
	for i := range files {
		f := &files[i]
		info, ok := there.files[staged.Name(f.Name)]
		switch {
		case !ok:
			return nil, fmt.Errorf("%s is missing from %s, where it was written; something else deleted it. Run again", f.Name, staged.Dir)
		case f.SHA256 != "" && info.Size != f.Size:
			return nil, fmt.Errorf("%s has %d bytes in %s, but %d were written; something else changed it. Run again", f.Name, info.Size, staged.Dir, f.Size)
		case c.movable > 0 && info.Size > c.movable:
			const text = "%s has %d bytes, but the object store cannot list unfinished uploads and so copies at most %d; choose another store, or split the input"
			return nil, &storage.UnlistedError{Err: fmt.Errorf(text, f.Name, info.Size, c.movable), Whole: c.movable}
		}
		f.Size = info.Size
	}
	if len(there.files) > len(files) {
		return nil, fmt.Errorf("%s contains %d files, but %d were written; run again when nothing else is writing there", staged.Dir, len(there.files), len(files))
	}
	return files, c.syncing.Sync(ctx, there.paths()...)
}

// ready is the name of the folder in the staging folder where the output is when all is written.
func (c *Commit) ready() string {
	switch {
	case c.swaps:
		return outDir
	case storage.IsLocal(c.o.Dir):
		return readyDir
	default:
		return workDir // a store would copy
	}
}

// FailedFolder is where the record of this run goes if it fails: the output, if none is finished or half published
// there, or else a folder beside it.
func (c *Commit) FailedFolder() string {
	if c.seen.finished || c.sealed || !c.removes {
		return FailedDir(c.o.Dir)
	}
	return c.o.Dir
}

// Fail writes the record of a run that failed, and the named files that it has staged, to FailedFolder.
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
	// The names of all that is there are in run.json at every moment, so that the next run knows them.
	if err := c.stageRecord(ctx, failingFile, run, append(s.names(), names...)); err != nil {
		return err
	}
	if err := c.stageRecord(ctx, failedFile, run, names); err != nil {
		return err
	}
	// Whoever takes the lock from now on removes what is moved here.
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

// carry moves a file, or copies it if it cannot be moved, such as to another file system.
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

// stageRecord writes the record of a run that leaves files.
func (c *Commit) stageRecord(ctx context.Context, name string, run *records.Run, files []string) error {
	run.Files = files
	staged := storage.Join(c.staging, name)
	if _, err := output.WriteJSON(ctx, c.staging, staged, run); err != nil {
		return err
	}
	return storage.Sync(ctx, staged)
}

// moveRecord moves it to its place.
func (c *Commit) moveRecord(ctx context.Context, name, folder string) error {
	record := storage.Join(folder, output.RunFile)
	if err := c.carry(ctx, storage.Join(c.staging, name), record); err != nil {
		return err
	}
	return c.syncing.Sync(ctx, record, folder)
}

// FailedDir is the folder beside the output dir for the record of a run that failed.
func FailedDir(dir string) string { return dir + ".failed" }

// Close removes what the run has staged, unless the next is to publish it, lets the output go, and returns what the run
// ended with: err, or a *storage.FencedError if that is because the output is another run's by now. Once the run has
// published, nothing that goes wrong is more than a warning.
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
	case c.staging == "", fenced && c.o.Continue: // who has fenced it off takes its parts over, and removes it
	case c.o.Continue && len(c.parts) > 0 && !c.committed && !c.sealed:
		errs = append(errs, c.leaveParts(ctx))
	case c.Pending():
		// Whoever has the lock next needs what is staged.
		errs = append(errs, storage.RemoveAll(ctx, c.Temporary()))
	default:
		errs = append(errs, c.discard(ctx, leftover{c.o.Run, c.staging}))
	}
	if c.committed {
		errs = append(errs, c.tidy(ctx))
	}
	// Who finds a lock tidies up; without one nobody would.
	storage.RemoveEmpty(storage.Join(c.o.Dir, belowDir))
	// Another's lock has been told of.
	if err := c.lock.Release(ctx, c.cut); !errors.As(err, new(*storage.FencedError)) {
		errs = append(errs, err)
	}
	removeEmpty(c.made)
	return errors.Join(errs...)
}

// missing are a folder and those above it that are not there, the deepest first. Stores have none.
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

// removeEmpty removes folders that a run has made, as far as nothing is in them: all is then as it was.
func removeEmpty(made []string) {
	for _, folder := range made {
		storage.RemoveEmpty(folder)
	}
}

// tidy removes what a finished output makes pointless.
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

// stage makes the staging folder: beside the output if it can take its place from there, else below it.
func (c *Commit) stage(ctx context.Context) (err error) {
	if storage.IsLocal(c.o.Dir) {
		beside := stagingBeside(c.o.Dir, c.o.Run)
		made := len(path.Base(beside)+storage.Removing) <= maxName && c.makeStaging(ctx, beside) == nil
		c.swaps = made && storage.Exchangeable(ctx, c.o.Dir, beside) == nil
		if made && !c.swaps {
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
	// Errors of the disk are told to those who were there before what it lost was written.
	if c.syncing, err = storage.NewSyncing(ctx, c.staging); err != nil {
		return err
	}
	work := storage.Join(c.staging, workDir)
	if err := storage.BeginIn(ctx, c.staging, workDir, false); err != nil {
		return err
	}
	if c.swaps {
		// Files are given their group and access list when they are made.
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

// makeTemp makes the folder for temporary files that is not in the staging folder.
func (c *Commit) makeTemp(ctx context.Context) error {
	err := storage.Begin(ctx, c.o.Temp, c.o.Private)
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) { // and who may not make it may not look for it when the run is removed
		err = errors.Join(err, c.writeNote(ctx, note{Run: c.o.Run}))
	}
	return &TempError{err}
}

// maxName is how long a name can be on a disk.
const maxName = 255

// makeStaging makes the staging folder, with a note of whose it is.
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

// probe asks a store whether it heeds conditions. A disk does.
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
		// One that was sent again may have been refused for what it had removed itself.
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
		return nil // which may be all that is asked: see Recovered
	}
	return c.canReplace()
}

// canReplace returns an error if what is there cannot be replaced.
func (c *Commit) canReplace() error {
	if c.removes || c.o.Weak || len(c.seen.files) == 0 {
		return nil
	}
	const text = "%s: the object store does not support conditional DELETE, so existing output cannot be replaced; " +
		"choose an empty --output, or add --weak-overwrite if no other program writes there (docs/lake.md)"
	return &unfitError{fmt.Sprintf(text, c.o.Dir)}
}

// create writes a probe of a text of its own. A request that was sent again, as its answer was lost, may meet its own success: the
// text tells.
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

// refuses returns an error unless the store refuses to write a probe on a condition that does not hold.
func (c *Commit) refuses(ctx context.Context, path string, cond storage.If) error {
	switch _, err := c.create(ctx, path, cond); {
	case errors.Is(err, storage.ErrPrecondition):
		return nil
	case err == nil, errors.Is(err, errors.ErrUnsupported):
		return c.ignoresConditions()
	default: // which says nothing of conditions
		return err
	}
}

func (c *Commit) ignoresConditions() error {
	return &unfitError{c.o.Dir + ": the object store ignores conditional requests, so two runs could write at once; choose another store"}
}

// andAbove are a folder and all above it, some of which may be as new as it is.
func andAbove(folder string) []string {
	folders := []string{folder}
	for storage.IsLocal(folder) && storage.Dir(folder) != folder {
		folder = storage.Dir(folder)
		folders = append(folders, folder)
	}
	return folders
}

// swap lets the staged folder take the output's place. The error is errors.ErrUnsupported if it cannot.
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

// notSafe warns that a disk failed at the last moment.
const notSafe = "the output is complete, but might not survive a power failure: %v"
