package storage_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
)

func init() {
	storage.Register("mem://", &storagetest.Memory{})
	storage.Register("mem-keep://", &storagetest.Memory{NoConditionalRemove: true})
}

// onStores runs a test on stores of each kind, below a new folder.
func onStores(t *testing.T, test func(t *testing.T, folder string)) {
	t.Run("local", func(t *testing.T) { test(t, t.TempDir()) })
	t.Run("memory", func(t *testing.T) { test(t, "mem://bucket/"+rand.Text()) })
	t.Run("memory without conditional remove", func(t *testing.T) { test(t, "mem-keep://bucket/"+rand.Text()) })
}

// lockFile returns the path of a lock that says what holder says, or none if that is nil.
func lockFile(t *testing.T, folder string, holder *storage.Owner) string {
	t.Helper()
	path := storage.Join(folder, ".lock")
	if holder != nil {
		if _, err := storage.WriteFile(t.Context(), path, func(w io.Writer) error { return json.NewEncoder(w).Encode(holder) }); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// thisHost is who this process would be.
func thisHost(t *testing.T) storage.Owner {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return storage.Owner{Host: host, PID: os.Getpid(), Job: "former", Since: time.Now().UTC().Truncate(time.Second)}
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

func holderOf(t *testing.T, path string) (h storage.Owner) {
	t.Helper()
	data, err := storage.ReadFile(t.Context(), path)
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
	old.Since = old.Since.Add(-6 * time.Minute)
	elsewhere.Host, elsewhere.PID = "elsewhere", dead.PID
	oldElsewhere := elsewhere
	oldElsewhere.Since = old.Since
	longName := old
	longName.Job = strings.Repeat("long ", 100)

	for name, tt := range map[string]struct {
		former *storage.Owner
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
			onStores(t, func(t *testing.T, folder string) {
				path := lockFile(t, folder, tt.former)
				lock, former, err := storage.Acquire(t.Context(), path, "mine", storage.LockOptions{Force: tt.force})
				if tt.held {
					var locked *storage.LockedError
					if !errors.As(err, &locked) || locked.Owner != *tt.former || locked.Path != path {
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
				if mine.Job != "mine" || mine.PID != here.PID || mine.Host != here.Host || time.Since(mine.Since) > time.Minute {
					t.Errorf("the lock says %+v", mine)
				}
				if _, _, err := storage.Acquire(t.Context(), path, "other", storage.LockOptions{}); err == nil {
					t.Error("taken by two")
				}
				if err := lock.Release(); err != nil {
					t.Error(err)
				}
				if _, err := storage.Stat(t.Context(), path); !errors.Is(err, fs.ErrNotExist) && !strings.HasPrefix(path, "mem-keep") {
					t.Errorf("after Release: %v", err)
				}
				again, former, err := storage.Acquire(t.Context(), path, "again", storage.LockOptions{})
				if err != nil || former != nil {
					t.Fatalf("after Release: former holder %+v, error %v", former, err)
				}
				if err := again.Release(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAcquireTorn: a lock file that a crash cut short is as old as it is.
func TestAcquireTorn(t *testing.T) {
	path := lockFile(t, t.TempDir(), nil)
	if err := os.WriteFile(path, []byte(`{"host":"h","pid":`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := storage.Acquire(t.Context(), path, "mine", storage.LockOptions{}); !errors.As(err, new(*storage.LockedError)) {
		t.Errorf("fresh: error %v, want a LockedError", err)
	}
	old := time.Now().Add(-6 * time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	lock, former, err := storage.Acquire(t.Context(), path, "mine", storage.LockOptions{})
	if err != nil || former == nil {
		t.Fatalf("old: former %v, error %v", former, err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

func TestLockedErrorSaysWhatToDo(t *testing.T) {
	err := &storage.LockedError{Path: "out/.lock", Owner: storage.Owner{
		Host: "lab", PID: 42, Job: "night", Since: time.Date(2026, 11, 21, 10, 13, 0, 0, time.UTC),
	}}
	const want = "out/.lock: held by job night (process 42 on lab, since 2026-11-21 10:13:00); wait for it with --wait-lock, or stop it and give --force-unlock"
	if got := err.Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAcquireRace: of many that find one lock, stale or none, one gets it; and the lock it gets
// is its own until it lets go.
func TestAcquireRace(t *testing.T) {
	stale := thisHost(t)
	stale.Since = stale.Since.Add(-time.Hour)
	for name, former := range map[string]*storage.Owner{"stale": &stale, "none": nil} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, folder string) {
				for round := range 50 {
					path := lockFile(t, storage.Join(folder, strconv.Itoa(round)), former)
					var racers sync.WaitGroup
					start := make(chan struct{})
					locks := make([]*storage.Lock, 8)
					for i := range locks {
						racers.Go(func() {
							<-start
							var err error
							locks[i], _, err = storage.Acquire(t.Context(), path, string(rune('a'+i)), storage.LockOptions{})
							if err != nil && !errors.As(err, new(*storage.LockedError)) {
								t.Error(err)
							}
						})
					}
					close(start)
					racers.Wait()
					var winner *storage.Lock
					name := ""
					for i, lock := range locks {
						if lock != nil && winner != nil {
							t.Fatal("two hold the lock")
						} else if lock != nil {
							winner, name = lock, string(rune('a'+i))
						}
					}
					if winner == nil {
						t.Fatal("nobody holds the lock")
					}
					if got := holderOf(t, path).Job; got != name {
						t.Errorf("the lock says %s, %s holds it", got, name)
					}
					if err := winner.Release(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// TestHandOver: locks that are let go while others wait for them go from hand to hand, never to
// two at a time.
func TestHandOver(t *testing.T) { onStores(t, handOver) }

func handOver(t *testing.T, folder string) {
	path := lockFile(t, folder, nil)
	var inside sync.Mutex
	var racers sync.WaitGroup
	for i := range 4 {
		racers.Go(func() {
			for got := 0; got < 50; {
				lock, _, err := storage.Acquire(t.Context(), path, string(rune('a'+i)), storage.LockOptions{})
				if errors.As(err, new(*storage.LockedError)) {
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

// TestTakenOver: a holder that was thought dead neither renews nor removes its successor's lock.
func TestTakenOver(t *testing.T) { onStores(t, takenOver) }

func takenOver(t *testing.T, folder string) {
	path := lockFile(t, folder, nil)
	slept, _, err := storage.Acquire(t.Context(), path, "slept", storage.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	successor, former, err := storage.Acquire(t.Context(), path, "successor", storage.LockOptions{Force: true})
	if err != nil || former == nil || former.Job != "slept" {
		t.Fatalf("former %v, error %v", former, err)
	}
	want := holderOf(t, path)
	if err := slept.Renew(); err == nil {
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
	removed, _, err := storage.Acquire(t.Context(), path, "removed", storage.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := storage.RemoveAll(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if err := removed.Renew(); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("heartbeat of a lock that is gone: error %v", err)
	}
	if err := removed.Release(); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("release of a lock that is gone: error %v", err)
	}
}

// TestBeatIsWhole: who looks at the lock while it is renewed sees a holder.
func TestBeatIsWhole(t *testing.T) { onStores(t, beatIsWhole) }

func beatIsWhole(t *testing.T, folder string) {
	path := lockFile(t, folder, nil)
	lock, _, err := storage.Acquire(t.Context(), path, "mine", storage.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 500 {
			if err := lock.Renew(); err != nil {
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

// TestLockMeetsItself: a request that was sent again is refused, though the lock is written as asked.
func TestLockMeetsItself(t *testing.T) {
	storage.Register("again://", sentAgain{&storagetest.Memory{}})
	path := lockFile(t, "again://bucket", nil)
	lock, former, err := storage.Acquire(t.Context(), path, "mine", storage.LockOptions{})
	if err != nil || former != nil {
		t.Fatalf("former %v, error %v", former, err)
	}
	if err := lock.Renew(); err != nil {
		t.Error(err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

// sentAgain sends each request to create twice.
type sentAgain struct{ storage.Store }

func (s sentAgain) Create(ctx context.Context, path string, cond storage.If, write func(io.Writer) error) (storage.Info, error) {
	var data bytes.Buffer
	if err := write(&data); err != nil {
		return storage.Info{}, err
	}
	again := func(w io.Writer) error {
		_, err := w.Write(data.Bytes())
		return err
	}
	if _, err := s.Store.Create(ctx, path, cond, again); err != nil {
		return storage.Info{}, err
	}
	return s.Store.Create(ctx, path, cond, again)
}

// TestLockOfEarlierVersions: they read what is written now, and what they wrote is read.
func TestLockOfEarlierVersions(t *testing.T) {
	path := lockFile(t, t.TempDir(), nil)
	if err := os.WriteFile(path, []byte(`{"host":"elsewhere","pid":7,"job":"old","heartbeat":"2026-01-02T03:04:05Z"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	lock, former, err := storage.Acquire(t.Context(), path, "mine", storage.LockOptions{})
	want := storage.Owner{Host: "elsewhere", PID: 7, Job: "old", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if err != nil || former == nil || *former != want {
		t.Fatalf("former %+v, error %v, want %+v", former, err, want)
	}
	if got, here := holderOf(t, path), thisHost(t); got.Host != here.Host || got.PID != here.PID || got.Job != "mine" || got.Since.IsZero() {
		t.Errorf("they would read %+v", got)
	}
	// They write in place, where a lock changes hands.
	if err := os.WriteFile(path, []byte(`{"host":"elsewhere","pid":7,"job":"old","heartbeat":"2026-01-02T03:04:05Z"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err == nil || !strings.Contains(err.Error(), "taken over") {
		t.Errorf("error %v, want one that says it was taken over", err)
	}
	// Between the file's making and its first line nobody holds it.
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	lock, former, err = storage.Acquire(t.Context(), path, "mine", storage.LockOptions{})
	if err != nil || former != nil {
		t.Fatalf("an empty lock: former %v, error %v", former, err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

// TestLockIsNoFile: a link, which might be read and never replaced, and a pipe, which would wait for
// ever, are refused by name.
func TestLockIsNoFile(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"a link that leads nowhere": func(path string) error { return os.Symlink("nowhere", path) },
		"a pipe":                    func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		path := filepath.Join(t.TempDir(), ".lock")
		if err := plant(path); err != nil {
			t.Fatal(err)
		}
		if _, _, err := storage.Acquire(t.Context(), path, "job", storage.LockOptions{Force: true}); err == nil || !strings.Contains(err.Error(), path+": not a regular file") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
