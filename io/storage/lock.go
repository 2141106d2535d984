package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"
)

// Owner is who holds a lock, as the lock file says.
type Owner struct {
	Host string    `json:"host"`
	PID  int       `json:"pid"`
	Job  string    `json:"job"`
	Beat time.Time `json:"heartbeat"`
}

// LockedError says that an output is in use.
type LockedError struct {
	Path   string
	Owner Owner
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("%s: held by job %s (process %d on %s, last heard of %s); wait for it, or give --force-unlock if it is gone",
		e.Path, e.Owner.Job, e.Owner.PID, e.Owner.Host, e.Owner.Beat.Format(time.DateTime))
}

// A lock's holder rewrites it every heartbeat; one not rewritten for expiry is stale.
const (
	heartbeat = 30 * time.Second
	expiry    = 5 * time.Minute
)

// Lock is a held lock.
type Lock struct {
	ctx    context.Context
	store  Store
	path   string
	holder Owner
	last   lockState // as this holder wrote it
	stop   chan struct{}
	done   sync.WaitGroup
}

// lockText is what a lock file says.
type lockText struct {
	Owner
	// Nonce differs in each text. So a text that came back is known, where a request was sent again
	// and met its own success, and where equal bytes have equal versions.
	Nonce string `json:"nonce,omitempty"`
	// Released: nobody holds the lock, of a store that cannot remove it.
	Released bool `json:"released,omitempty"`
}

// lockState is what a lock file said at a version; the zero lockState is that there is none.
type lockState struct {
	lockText
	version string
	empty   bool
}

func (s lockState) held() bool { return s.version != "" && !s.empty && !s.Released }

// Acquire takes the lock file path for job, or returns a *LockedError. A lock whose process on
// this host is dead, or that had no heartbeat for five minutes, is stale and taken over, and so
// is any with force; the former holder is then returned too. The lock lasts until Release, also
// when ctx is done.
func Acquire(ctx context.Context, path, job string, force bool) (lock *Lock, former *Owner, err error) {
	store, err := At(path)
	if err != nil {
		return nil, nil, err
	}
	host, pid := self()
	lock = &Lock{
		ctx: context.WithoutCancel(ctx), store: store, path: path,
		holder: Owner{Host: host, PID: pid, Job: job}, stop: make(chan struct{}),
	}
	if err := regularLock(ctx, store, path); err != nil {
		return nil, nil, err
	}
	var before lockState
	for {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		now, err := readLock(ctx, store, path)
		if err != nil {
			return nil, nil, err
		}
		// A lock that another is taking over at this moment is as good as held.
		busy := before.version != "" && now.version == before.version
		if now.held() && (busy || !stale(now.Owner, host)) && !force {
			return nil, nil, &LockedError{Path: path, Owner: now.Owner}
		}
		cond := If{Version: now.version}
		switch {
		case now.version == "":
			cond = If{Absent: true}
		case force:
			cond = If{}
		}
		err = lock.write(ctx, cond, false)
		if errors.Is(err, ErrPrecondition) {
			before = now
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if now.held() {
			former = &now.Owner
		}
		lock.done.Go(lock.beat)
		return lock, former, nil
	}
}

// regularLock refuses a lock file that is a link, a pipe or the like: it could be read and never written,
// or not even be opened.
func regularLock(ctx context.Context, store Store, path string) error {
	for info, err := range store.List(ctx, Dir(path), func(string) bool { return false }) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.Path == path && info.Type != 0 {
			return fmt.Errorf("%s: not a regular file, so it is no lock; remove it", path)
		}
	}
	return nil
}

// readLock returns what the lock file says.
func readLock(ctx context.Context, store Store, path string) (lockState, error) {
	r, err := store.Open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return lockState{}, nil
	}
	if err != nil {
		return lockState{}, err
	}
	defer r.Close()
	info, err := r.Stat(ctx)
	if err != nil {
		return lockState{}, err
	}
	data, err := io.ReadAll(io.NewSectionReader(r, 0, info.Size))
	if err != nil {
		return lockState{}, err
	}
	state := lockState{version: info.Version, empty: len(data) == 0}
	if !state.empty && json.Unmarshal(data, &state.lockText) != nil {
		// Cut short by a crash: its age tells.
		state.lockText = lockText{Owner: Owner{Job: "unknown", Host: "unknown", Beat: info.Modified.UTC()}}
	}
	return state, nil
}

// write makes the lock file say that this is its holder, or that nobody is, if cond holds.
func (l *Lock) write(ctx context.Context, cond If, released bool) error {
	l.holder.Beat = time.Now().UTC().Truncate(time.Second)
	text := lockText{Owner: l.holder, Nonce: rand.Text(), Released: released}
	data, err := json.Marshal(text)
	if err != nil {
		return err
	}
	info, err := l.store.Create(ctx, l.path, cond, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	})
	if errors.Is(err, ErrPrecondition) {
		now, readErr := readLock(ctx, l.store, l.path)
		if readErr != nil {
			return readErr
		}
		if now.Nonce == text.Nonce { // it had been written before it was refused
			l.last = now
			return nil
		}
	}
	if err != nil {
		return err
	}
	l.last = lockState{lockText: text, version: info.Version}
	return nil
}

// beat keeps the lock fresh until Release. A beat that fails is left to the next: the lock is a
// guard against mistakes, and the job's own writes will tell of a dead disk.
func (l *Lock) beat() {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			_ = l.renew()
		}
	}
}

func (l *Lock) renew() error {
	return l.own(func(cond If) error { return l.write(l.ctx, cond, false) })
}

// Release drops the lock. It returns an error, and leaves the file alone, if another job took
// the lock over meanwhile: then both may have written to the output.
func (l *Lock) Release() error {
	close(l.stop)
	l.done.Wait()
	return l.own(func(cond If) error {
		err := l.store.Remove(l.ctx, l.path, cond)
		if errors.Is(err, errors.ErrUnsupported) {
			err = l.write(l.ctx, cond, true)
		}
		return err
	})
}

// own calls do with the condition that the lock is still held, until that is decided.
func (l *Lock) own(do func(If) error) error {
	for {
		err := do(If{Version: l.last.version})
		if !errors.Is(err, ErrPrecondition) {
			return err
		}
		now, err := readLock(l.ctx, l.store, l.path)
		switch {
		case err != nil:
			return err
		case now.version == "":
			return fmt.Errorf("%s: the lock of job %s was removed while it ran; run again if another job wrote to the same output", l.path, l.holder.Job)
		case now.Nonce != l.last.Nonce:
			return fmt.Errorf("%s: the lock of job %s was taken over while it ran; run again once no other job writes to the same output", l.path, l.holder.Job)
		}
		// Another is deciding whether to take it over, or someone touched the file.
		l.last = now
	}
}

func stale(h Owner, host string) bool {
	return time.Since(h.Beat) > expiry || h.Host == host && h.PID > 0 && gone(h.PID)
}
