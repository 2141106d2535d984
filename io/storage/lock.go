package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
)

// Holder is who holds a lock, as the lock file says.
type Holder struct {
	Host string    `json:"host"`
	PID  int       `json:"pid"`
	Job  string    `json:"job"`
	Beat time.Time `json:"heartbeat"`
}

// LockedError says that an output is in use.
type LockedError struct {
	Path   string
	Holder Holder
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("%s: held by job %s (process %d on %s, last heard of %s); wait for it, or give --force-unlock if it is gone",
		e.Path, e.Holder.Job, e.Holder.PID, e.Holder.Host, e.Holder.Beat.Format(time.DateTime))
}

// A lock's holder rewrites it every heartbeat; one not rewritten for expiry is stale.
const (
	heartbeat = 30 * time.Second
	expiry    = 5 * time.Minute
)

// Lock is a held lock.
type Lock struct {
	path   string
	holder Holder
	stop   chan struct{}
	done   sync.WaitGroup
}

// Acquire takes the lock file path for job, or returns a *LockedError. A lock whose process on
// this host is dead, or that had no heartbeat for five minutes, is stale and taken over, and so
// is any with force; the former holder is then returned too.
func Acquire(ctx context.Context, path, job string, force bool) (lock *Lock, former *Holder, err error) {
	host, _ := os.Hostname()
	f, err := exclusive(path, os.O_CREATE)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	former, err = readHolder(f)
	switch {
	case err != nil:
		return nil, nil, err
	case former != nil && !force && !stale(*former, host):
		return nil, nil, &LockedError{Path: path, Holder: *former}
	}
	lock = &Lock{path: path, holder: Holder{Host: host, PID: os.Getpid(), Job: job}, stop: make(chan struct{})}
	if err := lock.write(f); err != nil {
		return nil, nil, errors.Join(err, os.Remove(path))
	}
	lock.done.Go(lock.beat)
	return lock, former, nil
}

// exclusive opens the lock file for one process at a time, until it is closed: whoever reads it
// to decide and then writes or removes it, does so through here. So of two that find the same
// stale lock one takes it over and the other then reads who did. A file system without flock
// leaves a race of microseconds, which must do.
func exclusive(path string, flag int) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|flag, 0o666)
		if err != nil {
			return nil, err
		}
		for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), syscall.EINTR) {
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if there, err := os.Stat(path); err == nil && os.SameFile(mine, there) {
			return f, nil
		}
		f.Close() // released while we waited: what we have open is no longer the lock
	}
}

// write makes the lock file say who holds it. A heartbeat writes as many bytes as there were,
// at once, so that one who only looks never sees less than a holder.
func (l *Lock) write(f *os.File) error {
	l.holder.Beat = time.Now().UTC().Truncate(time.Second)
	data, err := json.Marshal(l.holder)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(data)))
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
			_ = l.own(l.write)
		}
	}
}

// Release drops the lock. It returns an error, and leaves the file alone, if another job took
// the lock over meanwhile: then both may have written to the output.
func (l *Lock) Release() error {
	close(l.stop)
	l.done.Wait()
	return l.own(func(*os.File) error { return os.Remove(l.path) })
}

// own calls do with the lock file, if the lock is still held.
func (l *Lock) own(do func(*os.File) error) error {
	f, err := exclusive(l.path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: the lock of job %s was removed while it ran; run again if another job wrote to the same output", l.path, l.holder.Job)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	holder, err := readHolder(f)
	if err != nil {
		return err
	}
	if holder == nil || holder.Job != l.holder.Job || holder.PID != l.holder.PID || holder.Host != l.holder.Host {
		return fmt.Errorf("%s: the lock of job %s was taken over while it ran; run again once no other job writes to the same output", l.path, l.holder.Job)
	}
	return do(f)
}

// readHolder returns who holds the lock, nil if nobody has written it yet.
func readHolder(f *os.File) (*Holder, error) {
	data, err := io.ReadAll(f)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	holder := &Holder{}
	if json.Unmarshal(data, holder) != nil {
		// Cut short by a crash: its age tells.
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		*holder = Holder{Job: "unknown", Host: "unknown", Beat: info.ModTime().UTC()}
	}
	return holder, nil
}

func stale(h Holder, host string) bool {
	if time.Since(h.Beat) > expiry {
		return true
	}
	return h.Host == host && h.PID > 0 && errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH)
}
