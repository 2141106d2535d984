package storage

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Owner is the holder of a lock, as the lock file names it, for information only.
type Owner struct {
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Job   string    `json:"job"`
	Since time.Time `json:"since"`
	// To is the job that the lock was passed to, which continues elsewhere. Only its service knows if it has ended.
	To string `json:"to,omitempty"`
}

// LockedError says that an output is in use.
type LockedError struct {
	Path  string
	Owner Owner
}

func (e *LockedError) Error() string {
	if e.Owner.To != "" {
		const text = "%s is held by job %s, which continues as %s; wait for it with neardup finish %s, or cancel " +
			"it and use --force-unlock"
		return fmt.Sprintf(text, e.Path, e.Owner.Job, e.Owner.To, Dir(e.Path))
	}
	const text = "%s is held by job %s (process %d on %s, since %s); wait with --wait-lock, or stop that " +
		"job and use --force-unlock"
	return fmt.Sprintf(text, e.Path, e.Owner.Job, e.Owner.PID, e.Owner.Host, e.Owner.Since.Format(time.DateTime))
}

// FencedError says that a holder has lost its lock.
type FencedError struct {
	Path string
	Job  string // of the former holder
	By   *Owner // the new holder; nil: the lock was removed
}

func (e *FencedError) Error() string {
	if e.By == nil {
		const text = "%s: the lock of job %s was deleted while the job was running; run again when no other " +
			"job is using this output"
		return fmt.Sprintf(text, e.Path, e.Job)
	}
	return fmt.Sprintf("%s: the lock of job %s was taken over by job %s (process %d on %s); run again "+
		"once that job has ended",
		e.Path, e.Job, e.By.Job, e.By.PID, e.By.Host)
}

const (
	// If nothing else tells whether a holder is alive, it rewrites the lock every heartbeat. A lock not rewritten for
	// expiry is stale.
	heartbeat = 30 * time.Second
	expiry    = 5 * time.Minute
	// lookAgain is how often Acquire checks a lock that it waits for.
	lookAgain = time.Second
	// askAgain is how often it asks whether the job that a lock was passed to has ended.
	askAgain = 30 * time.Second
	// settle is how long a lock that is just being taken over is left alone, up to settleTries times.
	settle      = 10 * time.Millisecond
	settleTries = 100
)

// LockOptions say what to do about a lock that another process holds.
type LockOptions struct {
	// Force takes over the lock.
	Force bool
	// Wait is how long to wait for the lock.
	Wait time.Duration
	// Waiting, if not nil, is called once when Acquire starts to wait for the lock.
	Waiting func(*LockedError)
	// From is a job to which the lock was passed, and from which it is taken.
	From string
	// Ended reports whether a job to which the lock was passed has ended; nil: none has.
	Ended func(ctx context.Context, to string) (bool, error)
}

// Lock is a held lock.
type Lock struct {
	ctx    context.Context
	store  Store
	holder Holder // nil: only the lock's age tells whether its holder is alive
	domain string
	owner  Owner

	stop func() // ends the heartbeat
	done sync.WaitGroup

	// late says that requests of this holder may still take effect after it releases the lock.
	late bool
	kept bool // see Keep
	// settled is when requests of a former holder no longer take effect, by this machine's clock.
	settled time.Time

	mu     sync.Mutex
	file   *lockFile
	proved time.Time    // when the lock was last written, by the store's clock
	twin   *lockFile    // nil: none
	lost   *FencedError // nil: not known to be lost
}

// lockFile is a lock file as its holder knows it.
type lockFile struct {
	path    string
	version string
	nonce   string
	// tried is the nonce of the last request to write the file. Even if the request failed, the file may have it.
	tried string
	hold  Hold // nil: none
}

// close releases the file.
func (f *lockFile) close() error {
	if f.hold == nil {
		return nil
	}
	return f.hold.Close()
}

// lockText is the content of a lock file.
type lockText struct {
	Owner
	// Domain is the domain of the holder's Hold.
	Domain string `json:"domain,omitempty"`
	// Nonce differs in each text. It lets a holder recognise its own text if a repeated request is refused because the
	// first succeeded, and makes versions differ on stores where equal bytes have equal versions.
	Nonce string `json:"nonce"`
	// Released says that nobody holds the lock, on a store that cannot remove it.
	Released bool `json:"released,omitempty"`
	// Late says that the lock was released while requests of its holder might still take effect.
	Late bool `json:"late,omitempty"`
}

// lockState is the content of a lock file at a version; the zero lockState means that there is no file.
type lockState struct {
	lockText
	info Info
}

func (s *lockState) exists() bool { return s.info.Version != "" }

// Acquire takes the lock file path for job. If the lock's holder is dead, Acquire takes the lock over and returns the
// former holder. If the store is a Holder whose holds exclude the lock's holder, a lock that can be held is that of a
// dead process; otherwise one that was not rewritten for five minutes, by the store's clock. The error is a
// *LockedError if another process holds it. The lock lasts until Release, even after ctx is done.
func Acquire(ctx context.Context, path, job string, o LockOptions) (lock *Lock, former *Owner, err error) {
	store, err := At(path)
	if err != nil {
		return nil, nil, err
	}
	for begun, waiting := time.Now(), false; ; {
		lock, former, err = acquire(ctx, store, path, job, o)
		var locked *LockedError
		left := o.Wait - time.Since(begun)
		if !errors.As(err, &locked) || left <= 0 {
			return lock, former, err
		}
		if !waiting && o.Waiting != nil {
			o.Waiting(locked)
		}
		waiting = true
		interval := lookAgain
		if locked.Owner.To != "" {
			interval = askAgain
		}
		if err := pause(ctx, min(left, interval)); err != nil {
			return nil, nil, err
		}
	}
}

// pause returns after d, or with an error when ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func acquire(ctx context.Context, store Store, path, job string, o LockOptions) (lock *Lock, former *Owner, err error) {
	host, pid := self()
	lock = &Lock{
		ctx: context.WithoutCancel(ctx), store: store, file: &lockFile{path: path},
		owner: Owner{Host: host, PID: pid, Job: job, Since: time.Now().UTC().Truncate(time.Second)},
	}
	if holder, ok := store.(Holder); ok {
		lock.holder = holder
		if lock.domain, err = holder.Domain(ctx, path); err != nil {
			return nil, nil, err
		}
	}
	if err := regularLock(path); err != nil {
		return nil, nil, err
	}
	refused, settling, lost := "", 0, 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		now, err := readLock(ctx, store, path)
		if err != nil {
			return nil, nil, err
		}
		mine := lock.file.nonce != "" && now.Nonce == lock.file.nonce
		if now.exists() && now.info.Version == refused {
			// Another process holds it, or is just taking it over. A file that was just written here is taken over in an
			// instant, and then names its holder.
			if !mine || settling == settleTries {
				return nil, nil, &LockedError{Path: path, Owner: now.Owner}
			}
			settling++
			if err := pause(ctx, settle); err != nil {
				return nil, nil, err
			}
		}
		if now.exists() && !now.Released && !mine {
			former = &now.Owner
		}
		if err = lock.take(ctx, now, o); err == nil {
			if late, ok := store.(Late); ok && (former != nil && o.Force || now.Late) {
				lock.settled = time.Now().Add(late.Within())
			}
			lock.start()
			return lock, former, nil
		}
		// The holder of the lock may have tidied up, or exchanged, the folder in which this one was being written.
		if errors.Is(err, fs.ErrNotExist) && lost < settleTries {
			lost++
			continue
		}
		if !errors.Is(err, ErrPrecondition) {
			return nil, nil, err
		}
		refused = now.info.Version
		o.Force = o.Force && lock.file.nonce == "" // only once
	}
}

// regularLock refuses a lock file that is a folder, a link, a pipe or the like, which might be readable but never
// writable, or not even be possible to open. Objects of a store are always regular.
func regularLock(path string) error {
	if !IsLocal(path) {
		return nil
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file, so it cannot be a lock; remove it", path)
	}
	return nil // reading it reports other errors
}

// readLock returns the content of the lock file.
func readLock(ctx context.Context, store Store, path string) (state lockState, err error) {
	r, err := store.Open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return lockState{}, nil
	}
	if err != nil {
		return lockState{}, err
	}
	defer r.Close()
	if state.info, err = r.Stat(ctx); err != nil {
		return lockState{}, err
	}
	data, err := io.ReadAll(io.NewSectionReader(r, 0, state.info.Size))
	if err != nil {
		return lockState{}, err
	}
	if json.Unmarshal(data, &state.lockText) != nil { // cut short by a crash
		state.lockText = lockText{Owner: Owner{Job: "unknown", Host: "unknown", Since: state.info.Modified.UTC()}}
	}
	return state, nil
}

// take tries to make the lock file, which had the content now, this holder's. The error is ErrPrecondition if the file
// is held or has changed since, and a *LockedError if another holds the lock and is not known to be dead.
func (l *Lock) take(ctx context.Context, now lockState, o LockOptions) error {
	ifSame := If{Version: now.info.Version}
	switch {
	case o.Force:
		return l.create(ctx, l.file, If{})
	case !now.exists():
		return l.create(ctx, l.file, If{Absent: true})
	case now.Released:
		return l.create(ctx, l.file, ifSame)
	case now.To != "":
		ended := now.To == o.From
		if !ended && o.Ended != nil {
			var err error
			if ended, err = o.Ended(ctx, now.To); err != nil {
				return err
			}
		}
		if !ended {
			return &LockedError{Path: l.file.path, Owner: now.Owner}
		}
		return l.create(ctx, l.file, ifSame)
	case l.holder != nil && l.domain == now.Domain:
		hold, err := l.holder.Hold(ctx, l.file.path, ifSame.Version)
		if err == nil {
			return l.takeOver(ctx, hold)
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		l.holder = nil
	}
	stale, err := l.stale(ctx, now)
	if err != nil {
		return err
	}
	if !stale {
		return &LockedError{Path: l.file.path, Owner: now.Owner}
	}
	return l.create(ctx, l.file, ifSame)
}

func (l *Lock) takeOver(ctx context.Context, hold Hold) error {
	l.file.hold = hold
	err := l.write(ctx, l.file, If{}, false)
	if err != nil {
		hold.Close()
		l.file.hold = nil
	}
	return err
}

// stale reports whether a lock was not rewritten for so long, by the store's clock, that its holder must be dead.
func (l *Lock) stale(ctx context.Context, now lockState) (bool, error) {
	if l.domain != "" && now.Domain == "" && now.Nonce != "" {
		return false, nil // it is held where this process cannot see it, without being rewritten
	}
	folder := Dir(l.file.path)
	probe := Join(folder, beingWritten+rand.Text())
	info, err := l.store.Create(ctx, probe, If{Absent: true, Root: folder}, nothing)
	if err != nil {
		return false, err
	}
	return info.Modified.Sub(now.info.Modified) > expiry, l.store.Remove(l.ctx, probe, If{})
}

// create writes a lock file if cond holds, and holds it. The error is ErrPrecondition if another process was faster.
func (l *Lock) create(ctx context.Context, f *lockFile, cond If) error {
	if err := l.write(ctx, f, cond, false); err != nil || l.holder == nil {
		return err
	}
	hold, err := l.holder.Hold(l.ctx, f.path, f.version)
	if errors.Is(err, errors.ErrUnsupported) {
		l.holder = nil
		return nil
	}
	if err == nil {
		f.hold = hold
	}
	return err
}

// write writes that this job holds the lock, or that nobody does, by the file's hold or else if cond holds.
func (l *Lock) write(ctx context.Context, f *lockFile, cond If, released bool) error {
	f.tried = rand.Text()
	data, err := json.Marshal(lockText{Owner: l.owner, Domain: l.domain, Nonce: f.tried, Released: released,
		Late: released && l.late})
	if err != nil {
		return err
	}
	text := func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
	var info Info
	if f.hold != nil {
		info, err = f.hold.Replace(ctx, text)
	} else {
		info, err = l.store.Create(ctx, f.path, cond, text)
	}
	if errors.Is(err, ErrPrecondition) {
		now, readErr := readLock(ctx, l.store, f.path)
		if readErr != nil {
			return readErr
		}
		if now.Nonce == f.tried { // the write had succeeded, and its repetition was refused
			info, err = now.info, nil
		}
	}
	if err != nil {
		return err
	}
	f.nonce, f.version = f.tried, info.Version
	if f == l.file {
		l.proved = info.Modified
	}
	return nil
}

// start starts the heartbeat if others may judge the lock by its age.
func (l *Lock) start() {
	ctx, stop := context.WithCancel(l.ctx)
	l.stop = stop
	if l.beats() {
		l.done.Go(func() { l.beat(ctx) })
	}
}

// beats reports whether others may judge the lock by its age.
func (l *Lock) beats() bool { return l.holder == nil || l.domain != "" }

// beat keeps the lock fresh until ctx is done or the lock is lost. After a failed beat, it waits for the next one:
// Prove reports a loss before anything is done.
func (l *Lock) beat(ctx context.Context) {
	for pause(ctx, heartbeat) == nil {
		if err := l.Prove(ctx); errors.As(err, new(*FencedError)) {
			return
		}
	}
}

// Prove checks that the lock is still held at this moment. The error is a *FencedError if it is not.
func (l *Lock) Prove(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.beats() {
		info, err := l.store.Stat(ctx, l.file.path)
		if err == nil && info.Version == l.file.version && l.lost == nil {
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return l.own(ctx, func(cond If) error { return l.write(ctx, l.file, cond, false) })
}

// Removal returns the condition under which the holder removes an object with this version: no request has an effect
// once the lock may be another's.
func (l *Lock) Removal(version string) If {
	l.mu.Lock()
	defer l.mu.Unlock()
	cond := If{Version: version}
	if late, ok := l.store.(Late); ok && late.Within() > 0 {
		cond.Until = l.proved.Add(late.Within())
	}
	return cond
}

// Keep sets whether Release, instead of removing the lock file, writes that nobody holds the lock: a store that removes
// an object whatever the condition could remove another's lock.
func (l *Lock) Keep(kept bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = kept
}

// Settle waits until requests of a holder whose lock was taken by force no longer take effect, and calls waiting with
// the time that takes. A job that takes a lock by its age has already waited longer.
func (l *Lock) Settle(ctx context.Context, waiting func(time.Duration)) error {
	left := time.Until(l.settled)
	if left <= 0 {
		return ctx.Err()
	}
	waiting(left.Round(time.Second))
	return pause(ctx, left)
}

// Pass passes the lock to a job that continues elsewhere. The error is a *FencedError if the lock was lost before.
func (l *Lock) Pass(to string) error {
	l.stop()
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owner.To = to
	err := l.own(l.ctx, func(cond If) error { return l.write(l.ctx, l.file, cond, false) })
	return errors.Join(err, l.file.close())
}

// Release releases the lock. The error is a *FencedError if the lock was lost before; then Release leaves the file
// alone. late says that requests of the holder were abandoned and may still take effect: on a store that is Late, the
// file then says so, and the next holder waits in Settle.
func (l *Lock) Release(ctx context.Context, late bool) error {
	l.stop()
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.twin != nil {
		l.twin.close()
	}
	defer l.file.close()
	store, ok := l.store.(Late)
	l.late = late && ok && store.Within() > 0
	return l.own(ctx, func(cond If) error {
		if l.file.hold != nil {
			return l.file.hold.Remove(ctx)
		}
		if l.late || l.kept {
			return l.write(ctx, l.file, cond, true)
		}
		err := l.store.Remove(ctx, l.file.path, cond)
		if errors.Is(err, errors.ErrUnsupported) {
			err = l.write(ctx, l.file, cond, true)
		}
		return err
	})
}

// own calls do with the condition that the lock is still held, and repeats that until it is decided.
func (l *Lock) own(ctx context.Context, do func(If) error) error {
	path := l.file.path
	for l.lost == nil {
		refused := do(If{Version: l.file.version, Root: Dir(path)})
		if !errors.Is(refused, ErrPrecondition) && !errors.Is(refused, fs.ErrNotExist) {
			return refused
		}
		now, err := readLock(ctx, l.store, path)
		if err != nil {
			return err
		}
		ours := now.Nonce == l.file.nonce || now.Nonce == l.file.tried
		switch {
		case l.twin != nil && now.Nonce == l.twin.nonce:
			return nil // the folders were exchanged
		case now.exists() && !ours:
			l.lost = &FencedError{Path: path, Job: l.owner.Job, By: &now.Owner}
		// or what is there is a copy, which is not held
		case !now.exists() || l.file.hold != nil && errors.Is(refused, ErrPrecondition):
			l.lost = &FencedError{Path: path, Job: l.owner.Job}
		default:
			// Another process is deciding whether to take the lock over, or somebody touched the file.
			l.file.nonce, l.file.version = now.Nonce, now.info.Version
		}
	}
	return l.lost
}

// Twin makes a second lock file of the same job at path, in a folder that will be exchanged with the lock's folder. The
// error is ErrPrecondition if the file exists.
func (l *Lock) Twin(ctx context.Context, path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	twin := &lockFile{path: path}
	if err := l.create(ctx, twin, If{Absent: true, Root: Dir(path)}); err != nil {
		return err
	}
	if l.twin != nil {
		l.twin.close()
	}
	l.twin = twin
	return nil
}

// Exchanged says that the two folders were exchanged: the twin becomes the lock, and the former lock file, which now
// has the twin's path, is released.
func (l *Lock) Exchanged() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	former := l.file
	l.file, l.twin = l.twin, nil
	l.file.path = former.path
	if l.file.hold != nil {
		l.file.hold.Moved(former.path)
	}
	return former.close()
}
