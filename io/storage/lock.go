package storage

import (
	"encoding/json"
	"errors"
	"fmt"
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
func Acquire(path, job string, force bool) (lock *Lock, former *Holder, err error) {
	host, _ := os.Hostname()
	lock = &Lock{path: path, holder: Holder{Host: host, PID: os.Getpid(), Job: job}, stop: make(chan struct{})}
	err = lock.create()
	if errors.Is(err, fs.ErrExist) {
		former, err = readHolder(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // released meanwhile
		case err != nil:
			return nil, nil, err
		case !force && !stale(*former, host):
			return nil, nil, &LockedError{Path: path, Holder: *former}
		}
		// Two may find the same stale lock: the name they move it to is one's alone.
		aside := fmt.Sprintf("%s.stale-%s", path, job)
		if err := os.Rename(path, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		os.Remove(aside)
		err = lock.create()
	}
	if err != nil {
		return nil, nil, err
	}
	lock.done.Go(lock.beat)
	return lock, former, nil
}

func (l *Lock) create() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(l.write(f), f.Close())
}

func (l *Lock) write(f *os.File) error {
	l.holder.Beat = time.Now().UTC().Truncate(time.Second)
	return json.NewEncoder(f).Encode(l.holder)
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
			if f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
				_ = l.write(f)
				f.Close()
			}
		}
	}
}

// Release drops the lock.
func (l *Lock) Release() error {
	close(l.stop)
	l.done.Wait()
	return os.Remove(l.path)
}

func readHolder(path string) (*Holder, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	holder := &Holder{}
	if json.Unmarshal(data, holder) != nil {
		// Being written this moment, or cut short by a crash: its age tells.
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		holder.Beat = info.ModTime()
	}
	return holder, nil
}

func stale(h Holder, host string) bool {
	if time.Since(h.Beat) > expiry {
		return true
	}
	return h.Host == host && h.PID > 0 && errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH)
}
