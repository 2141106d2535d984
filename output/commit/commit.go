// Package commit makes what a run has written the output: at once, and only when it is whole. It is the
// protocol of docs/decisions/0012-commit.md, on any storage.Store.
//
// A run has a staging folder of its own. All it does to the output is to move something out of that
// folder, or to remove what is as the run saw it. Whoever takes its lock removes the folder first, and
// from then on the run can do nothing.
package commit

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
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
	// Temp is the run's folder for temporary files, a TempFolder; "" is one in the staging folder.
	Temp string
	// Private keeps all that is not yet published from other users, also from workers that are other users.
	Private bool
	Lock    storage.LockOptions
	// Warn is told of what does the output no harm.
	Warn func(format string, args ...any)
}

// RefusedError says why a folder is not to be filled.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Commit is a run's hold on an output.
type Commit struct {
	Options
	store   storage.Store
	lock    *storage.Lock
	syncing storage.Syncing
	staging string
	swaps   bool // the staged folder takes the output's place; else its files move one by one
	removes bool // the store can remove on condition
	// seen is the output as it was when the run began, stale are seals that could not be carried out.
	seen  *survey
	stale []*seal
	// recovered is the seal of an earlier run whose publishing this one finished.
	recovered *seal
	// sealed: if this run does not finish its publishing, the next does.
	sealed    bool
	committed bool
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
	if err := Check(ctx, o.Dir, o.Overwrite); err != nil {
		return nil, err
	}
	store, err := storage.At(o.Dir)
	if err != nil {
		return nil, err
	}
	c := &Commit{Options: o, store: store}
	lock, former, err := storage.Acquire(ctx, storage.Join(o.Dir, output.LockFile), o.Run, o.Lock)
	if err != nil {
		return nil, err
	}
	c.lock = lock
	if former != nil {
		c.Warn("took over the lock of job %s (process %d on %s)", former.Job, former.PID, former.Host)
	}
	if err := c.begin(ctx); err != nil {
		return nil, c.Close(context.WithoutCancel(ctx), err)
	}
	return c, nil
}

func (c *Commit) begin(ctx context.Context) (err error) {
	if err := c.recover(ctx); err != nil {
		return err
	}
	if c.seen, err = look(ctx, c.Dir, c.stale...); err != nil {
		return err
	}
	// Another run may have finished meanwhile.
	if err := c.seen.refuse(c.Overwrite || c.recovered != nil); err != nil {
		return err
	}
	return c.stage(ctx)
}

// Recovered reports whether an earlier run of this fingerprint was killed while it published, and is
// finished now: then there is nothing to do. The error is a *RefusedError if a run of another one is, and
// this run is not to replace it.
func (c *Commit) Recovered(fingerprint string) (bool, error) {
	if c.recovered == nil {
		return false, nil
	}
	if c.recovered.Fingerprint == fingerprint {
		c.committed = true
		return true, nil
	}
	return false, c.seen.refuse(c.Overwrite)
}

// Temporary is the folder for the run's temporary files.
func (c *Commit) Temporary() string {
	if c.Temp != "" {
		return c.Temp
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
	// From here on it is all or nothing.
	ctx = context.WithoutCancel(ctx)
	s := &seal{Run: c.Run, Fingerprint: fingerprint, From: workDir, Opaque: !c.swaps, Files: files}
	err = errors.ErrUnsupported
	if c.swaps {
		s.From = outDir
		err = c.swap(ctx, files)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = c.sealAndFill(ctx, s)
	}
	c.committed = err == nil
	return err
}

// finish completes the staged files by those that say what they are, looks whether all are there, and
// syncs them. The manifest is the first of those it returns, and the mark of success the last.
func (c *Commit) finish(ctx context.Context, m *records.Manifest, run *records.Run) ([]sealedFile, error) {
	staged := c.Staged()
	sum, err := output.WriteJSON(ctx, staged.Path(output.ManifestFile), m)
	if err != nil {
		return nil, err
	}
	if _, err := output.WriteJSON(ctx, staged.Path(output.RunFile), run); err != nil {
		return nil, err
	}
	if _, err := output.WriteJSON(ctx, staged.Path(output.SuccessFile), output.Success{Run: c.Run, Manifest: sum}); err != nil {
		return nil, err
	}
	// A worker that is late finds that the run has ended.
	if err := storage.End(ctx, staged.Dir); err != nil {
		return nil, err
	}
	there, err := list(ctx, staged.Dir)
	if err != nil {
		return nil, err
	}
	var files []sealedFile
	take := func(name string, size int64) error {
		info, ok := there.files[staged.Name(name)]
		switch {
		case !ok:
			return fmt.Errorf("%s is gone from %s, where it was written; run again once nothing removes files there", name, staged.Dir)
		case size >= 0 && info.Size != size:
			return fmt.Errorf("%s has %d bytes in %s, where %d were written; run again once nothing else writes there", name, info.Size, staged.Dir, size)
		}
		files = append(files, sealedFile{Name: name, Size: info.Size})
		return nil
	}
	all := append([]records.ManifestFile{{Path: output.ManifestFile, Bytes: -1}}, m.Files...)
	for _, f := range append(all, records.ManifestFile{Path: output.RunFile, Bytes: -1}, records.ManifestFile{Path: output.SuccessFile, Bytes: -1}) {
		if err := take(f.Path, f.Bytes); err != nil {
			return nil, err
		}
	}
	if len(there.files) > len(files) {
		return nil, fmt.Errorf("%s holds %d files, where %d were written; run again once nothing else writes there", staged.Dir, len(there.files), len(files))
	}
	return files, c.syncing.Sync(ctx, there.paths()...)
}

// FailedFolder is where the record of this run goes if it fails: the output, if none is finished or half published
// there, or else a folder beside it.
func (c *Commit) FailedFolder() string {
	if c.seen.finished || c.sealed || !c.removes {
		return FailedDir(c.Dir)
	}
	return c.Dir
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
	if err := c.moveRecord(ctx, folder, run, append(s.names(), names...)); err != nil {
		return err
	}
	if err := s.remove(ctx, output.RunFile); err != nil {
		return err
	}
	staged := c.Staged()
	for _, name := range names {
		if err := c.store.Move(ctx, staged.Path(name), storage.Join(folder, name)); err != nil {
			return err
		}
	}
	return c.moveRecord(ctx, folder, run, names)
}

// moveRecord writes the record of a run that left files, and moves it to its place, as only who has the lock can.
func (c *Commit) moveRecord(ctx context.Context, folder string, run *records.Run, files []string) error {
	run.Files = files
	staged := storage.Join(c.staging, failedFile)
	if _, err := output.WriteJSON(ctx, staged, run); err != nil {
		return err
	}
	return c.store.Move(ctx, staged, storage.Join(folder, output.RunFile))
}

// FailedDir is the folder beside the output dir for the record of a run that failed.
func FailedDir(dir string) string { return dir + ".failed" }

// Close removes what the run has staged, unless the next is to publish it, lets the output go, and returns what the run
// ended with: err, or a *storage.FencedError if that is because the output is another run's by now. Once the run has
// published, nothing that goes wrong is more than a warning.
func (c *Commit) Close(ctx context.Context, err error) error {
	if fenced := (*storage.FencedError)(nil); err != nil && errors.As(c.lock.Prove(ctx), &fenced) {
		err = fenced
	}
	if left := c.close(ctx); left != nil && c.committed {
		c.Warn("the output is whole, but not all could be tidied up: %v", left)
	} else {
		err = errors.Join(err, left)
	}
	return err
}

func (c *Commit) close(ctx context.Context) error {
	var errs []error
	if c.syncing != nil {
		errs = append(errs, c.syncing.Close())
	}
	if c.staging != "" && (c.committed || !c.sealed) {
		errs = append(errs, c.discard(ctx, leftover{c.Run, c.staging}))
	}
	if c.committed {
		errs = append(errs, c.tidy(ctx))
	}
	// Another's lock has been told of.
	if err := c.lock.Release(); !errors.As(err, new(*storage.FencedError)) {
		errs = append(errs, err)
	}
	storage.RemoveEmpty(ctx, storage.Join(c.Dir, belowDir))
	if c.seen == nil || len(c.seen.files) == 0 {
		storage.RemoveEmpty(ctx, c.Dir) // it is then as it was
	}
	return errors.Join(errs...)
}

// tidy removes what a finished output makes pointless.
func (c *Commit) tidy(ctx context.Context) error {
	var errs []error
	for _, s := range c.stale {
		errs = append(errs, c.discard(ctx, leftover{s.Run, s.folder}))
	}
	failed, err := look(ctx, FailedDir(c.Dir))
	if err == nil && failed.record != nil && failed.refuse(false) == nil {
		err = failed.remove(ctx, "")
		storage.RemoveEmpty(ctx, failed.dir)
	}
	return errors.Join(append(errs, err)...)
}

// stage makes the staging folder: beside the output if it can take its place from there, else below it.
func (c *Commit) stage(ctx context.Context) (err error) {
	if storage.IsLocal(c.Dir) {
		beside := stagingBeside(c.Dir, c.Run)
		c.swaps = c.makeStaging(ctx, beside) == nil && storage.Exchangeable(ctx, c.Dir, beside) == nil
		if !c.swaps {
			if err := errors.Join(ctx.Err(), storage.RemoveAll(ctx, beside)); err != nil {
				return err
			}
		}
	}
	if !c.swaps {
		if err := c.makeStaging(ctx, storage.Join(c.Dir, belowDir, c.Run)); err != nil {
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
	if err := storage.Begin(ctx, storage.Join(c.staging, workDir), false); err != nil {
		return err
	}
	return storage.Begin(ctx, c.Temporary(), c.Private)
}

// makeStaging makes the staging folder, with a note of whose it is.
func (c *Commit) makeStaging(ctx context.Context, folder string) error {
	c.staging = folder
	if err := storage.Begin(ctx, folder, c.Private); err != nil {
		return err
	}
	return storage.WriteShared(ctx, storage.Join(folder, noteFile), note{c.Run, c.Temp})
}

// probe asks a store whether it heeds conditions. A disk does.
func (c *Commit) probe(ctx context.Context) error {
	c.removes = storage.IsLocal(c.Dir)
	if c.removes {
		return nil
	}
	path := storage.Join(c.staging, "probe")
	empty := func(io.Writer) error { return nil }
	first, err := c.store.Create(ctx, path, storage.If{Absent: true}, empty)
	if err != nil {
		return err
	}
	if _, err = c.store.Create(ctx, path, storage.If{Absent: true}, empty); !errors.Is(err, storage.ErrPrecondition) {
		return errors.Join(err, fmt.Errorf("%s: its store ignores conditions, so that two runs could write at once; give an output elsewhere: %w", c.Dir, errors.ErrUnsupported))
	}
	if _, err = c.store.Create(ctx, path, storage.If{Version: first.Version}, func(w io.Writer) error {
		_, err := io.WriteString(w, "second")
		return err
	}); err != nil {
		return err
	}
	err = c.store.Remove(ctx, path, storage.If{Version: first.Version})
	c.removes = errors.Is(err, storage.ErrPrecondition)
	if !c.removes && err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if !c.removes && len(c.seen.files) > 0 {
		return fmt.Errorf("%s: its store does not remove objects on condition, so that nothing there can be replaced; give an empty --output: %w", c.Dir, errors.ErrUnsupported)
	}
	return nil
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

// swap lets the staged folder take the output's place. The error is errors.ErrUnsupported if it cannot; it is then
// in outDir.
func (c *Commit) swap(ctx context.Context, files []sealedFile) error {
	out, parent := storage.Join(c.staging, outDir), storage.Dir(c.Dir)
	// Who still writes by the old path, writes nothing.
	if err := c.store.Move(ctx, storage.Join(c.staging, workDir), out); err != nil {
		return err
	}
	staged, err := list(ctx, out)
	if err != nil {
		return err
	}
	if len(staged.files) != len(files) {
		return fmt.Errorf("%s holds %d files, where %d were written; run again once nothing else writes there", out, len(staged.files), len(files))
	}
	if err := staged.tidy(ctx); err != nil {
		return err
	}
	if err := c.lock.Twin(ctx, storage.Join(out, output.LockFile)); err != nil {
		return err
	}
	if err := c.syncing.Sync(ctx, append([]string{out}, andAbove(c.staging)...)...); err != nil {
		return err
	}
	now, err := look(ctx, c.Dir, c.stale...)
	if err != nil {
		return err
	}
	if err := now.differs(c.seen); err != nil {
		return err
	}
	if err := c.lock.Prove(ctx); err != nil {
		return err
	}
	if err := storage.Exchange(ctx, out, c.Dir); err != nil {
		return err
	}
	if err := errors.Join(c.lock.Exchanged(), c.syncing.Sync(ctx, parent, c.staging)); err != nil {
		c.Warn("the output is whole, but may not survive a loss of power: %v", err)
	}
	return nil
}
