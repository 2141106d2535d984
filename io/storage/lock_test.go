package storage

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockFile returns the path of a lock that says what holder says, or none if that is nil.
func lockFile(t *testing.T, holder *Holder) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".lock")
	if holder != nil {
		data, err := json.Marshal(holder)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// thisHost is who this process would be.
func thisHost(t *testing.T) Holder {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return Holder{Host: host, PID: os.Getpid(), Job: "former", Beat: time.Now().UTC().Truncate(time.Second)}
}

// deadPID is the number of a process that has ended.
func deadPID(t *testing.T) int {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	return child.Process.Pid
}

func holderOf(t *testing.T, path string) (h Holder) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &h); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return h
}

func TestAcquire(t *testing.T) {
	here := thisHost(t)
	dead, old, elsewhere := here, here, here
	dead.PID = deadPID(t)
	old.Beat = old.Beat.Add(-6 * time.Minute)
	elsewhere.Host, elsewhere.PID = "elsewhere", dead.PID
	oldElsewhere := elsewhere
	oldElsewhere.Beat = old.Beat
	longName := old
	longName.Job = strings.Repeat("long ", 100)

	for name, tt := range map[string]struct {
		former *Holder
		force  bool
		held   bool
	}{
		"no lock":                        {},
		"held by this process":           {former: &here, held: true},
		"forced":                         {former: &here, force: true},
		"process dead":                   {former: &dead},
		"process dead, no longer beats":  {former: &old},
		"process of another host":        {former: &elsewhere, held: true},
		"another host no longer beats":   {former: &oldElsewhere},
		"longer than what is written":    {former: &longName},
		"forced though nobody has it":    {force: true},
		"forced on another host's grave": {former: &oldElsewhere, force: true},
	} {
		t.Run(name, func(t *testing.T) {
			path := lockFile(t, tt.former)
			lock, former, err := Acquire(t.Context(), path, "mine", tt.force)
			if tt.held {
				var locked *LockedError
				if !errors.As(err, &locked) || locked.Holder != *tt.former || locked.Path != path {
					t.Fatalf("error %v, want a LockedError of %+v", err, tt.former)
				}
				if got := holderOf(t, path); got != *tt.former {
					t.Errorf("the lock was changed to %+v", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if (former == nil) != (tt.former == nil) || former != nil && *former != *tt.former {
				t.Errorf("former holder %+v, want %+v", former, tt.former)
			}
			mine := holderOf(t, path)
			if mine.Job != "mine" || mine.PID != here.PID || mine.Host != here.Host || time.Since(mine.Beat) > time.Minute {
				t.Errorf("the lock says %+v", mine)
			}
			if _, _, err := Acquire(t.Context(), path, "other", false); err == nil {
				t.Error("taken by two")
			}
			if err := lock.Release(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("after Release: %v", err)
			}
		})
	}
}

// TestAcquireTorn: a lock file that a crash cut short is as old as it is.
func TestAcquireTorn(t *testing.T) {
	path := lockFile(t, nil)
	if err := os.WriteFile(path, []byte(`{"host":"h","pid":`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Acquire(t.Context(), path, "mine", false); !errors.As(err, new(*LockedError)) {
		t.Errorf("fresh: error %v, want a LockedError", err)
	}
	old := time.Now().Add(-6 * time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	lock, former, err := Acquire(t.Context(), path, "mine", false)
	if err != nil || former == nil {
		t.Fatalf("old: former %v, error %v", former, err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

func TestLockedErrorSaysWhatToDo(t *testing.T) {
	err := &LockedError{Path: "out/.lock", Holder: Holder{
		Host: "lab", PID: 42, Job: "night", Beat: time.Date(2026, 11, 21, 10, 13, 0, 0, time.UTC),
	}}
	const want = "out/.lock: held by job night (process 42 on lab, last heard of 2026-11-21 10:13:00); wait for it, or give --force-unlock if it is gone"
	if got := err.Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAcquireRace: of many that find one lock, stale or none, one gets it; and the lock it gets
// is its own until it lets go.
func TestAcquireRace(t *testing.T) {
	stale := thisHost(t)
	stale.Beat = stale.Beat.Add(-time.Hour)
	for name, former := range map[string]*Holder{"stale": &stale, "none": nil} {
		t.Run(name, func(t *testing.T) {
			for range 50 {
				path := lockFile(t, former)
				var racers sync.WaitGroup
				start := make(chan struct{})
				locks := make([]*Lock, 8)
				for i := range locks {
					racers.Go(func() {
						<-start
						var err error
						locks[i], _, err = Acquire(t.Context(), path, string(rune('a'+i)), false)
						if err != nil && !errors.As(err, new(*LockedError)) {
							t.Error(err)
						}
					})
				}
				close(start)
				racers.Wait()
				var winner *Lock
				for _, lock := range locks {
					if lock != nil && winner != nil {
						t.Fatal("two hold the lock")
					} else if lock != nil {
						winner = lock
					}
				}
				if winner == nil {
					t.Fatal("nobody holds the lock")
				}
				if got := holderOf(t, path).Job; got != winner.holder.Job {
					t.Errorf("the lock says %s, %s holds it", got, winner.holder.Job)
				}
				if err := winner.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestHandOver: locks that are let go while others wait for them go from hand to hand, never to
// two at a time.
func TestHandOver(t *testing.T) {
	path := lockFile(t, nil)
	var inside sync.Mutex
	var racers sync.WaitGroup
	for i := range 4 {
		racers.Go(func() {
			for got := 0; got < 50; {
				lock, _, err := Acquire(t.Context(), path, string(rune('a'+i)), false)
				if errors.As(err, new(*LockedError)) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				got++
				if !inside.TryLock() {
					t.Error("two hold the lock")
				} else {
					runtime.Gosched()
					inside.Unlock()
				}
				if err := lock.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	racers.Wait()
}

// TestReleasedWhileWaiting: who waited for a lock file that is then removed gets the one that is
// there now, not the one it had opened.
func TestReleasedWhileWaiting(t *testing.T) {
	path := lockFile(t, nil)
	held, err := exclusive(path, os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan *os.File)
	go func() {
		f, err := exclusive(path, os.O_CREATE)
		if err != nil {
			t.Error(err)
		}
		waited <- f
	}()
	time.Sleep(50 * time.Millisecond) // it has the file open by now, most likely
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("another"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	f := <-waited
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || string(got) != "another" {
		t.Errorf("got the lock file of %q, %v", got, err)
	}
}

// TestTakenOver: a holder that was thought dead neither renews nor removes its successor's lock.
func TestTakenOver(t *testing.T) {
	path := lockFile(t, nil)
	slept, _, err := Acquire(t.Context(), path, "slept", false)
	if err != nil {
		t.Fatal(err)
	}
	successor, former, err := Acquire(t.Context(), path, "successor", true)
	if err != nil || former == nil || former.Job != "slept" {
		t.Fatalf("former %v, error %v", former, err)
	}
	want := holderOf(t, path)
	if err := slept.own(slept.write); err == nil {
		t.Error("the heartbeat of the former holder went through")
	}
	if err := slept.Release(); err == nil || !strings.Contains(err.Error(), "taken over") {
		t.Errorf("release of the former holder: error %v", err)
	}
	if got := holderOf(t, path); got != want {
		t.Errorf("the lock is now %+v, want %+v", got, want)
	}
	if err := successor.Release(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock is still there: %v", err)
	}
	removed, _, err := Acquire(t.Context(), path, "removed", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := removed.Release(); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("release of a lock that is gone: error %v", err)
	}
}

// TestBeatIsWhole: who looks at the lock while it is renewed sees a holder.
func TestBeatIsWhole(t *testing.T) {
	path := lockFile(t, nil)
	lock, _, err := Acquire(t.Context(), path, "mine", false)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2000 {
			if err := lock.own(lock.write); err != nil {
				t.Error(err)
			}
		}
	}()
	for looking := true; looking; {
		select {
		case <-done:
			looking = false
		default:
			if got := holderOf(t, path); got.Job != "mine" {
				t.Errorf("the lock says %+v", got)
				looking = false
			}
		}
	}
	<-done
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}
