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
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
)

// memory and memoryKeeps are the stores registered for mem:// and mem-keep://.
var memory, memoryKeeps = &storagetest.Memory{}, &storagetest.Memory{NoConditionalRemove: true}

func init() {
	storage.Register("mem://", memory)
	storage.Register("mem-keep://", memoryKeeps)
}

// onStores runs a test on each kind of store, below a new folder.
func onStores(t *testing.T, test func(t *testing.T, folder string)) {
	t.Run("local", func(t *testing.T) { test(t, t.TempDir()) })
	t.Run("memory", func(t *testing.T) { test(t, "mem://bucket/"+rand.Text()) })
	t.Run("memory without conditional remove", func(t *testing.T) { test(t, "mem-keep://bucket/"+rand.Text()) })
}

// later makes the store of the lock at path, but not this process, see time pass.
func later(t *testing.T, path string, d time.Duration) {
	t.Helper()
	if storage.IsLocal(path) {
		past := time.Now().Add(-d)
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, m := range []*storagetest.Memory{memory, memoryKeeps} {
		m.Now = func() time.Time { return time.Now().Add(d) }
		t.Cleanup(func() { m.Now = nil })
	}
}

// lockText returns the path of a lock in folder with the content text.
func lockText(t *testing.T, folder, text string) string {
	t.Helper()
	path := storage.Join(folder, ".lock")
	if _, err := storage.WriteFile(t.Context(), path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		t.Fatal(err)
	}
	return path
}

// acquire takes a lock for the job mine.
func acquire(t *testing.T, path string) *storage.Lock {
	t.Helper()
	lock, _, err := storage.Acquire(t.Context(), path, "mine", storage.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func release(t *testing.T, lock *storage.Lock) {
	t.Helper()
	if err := lock.Release(t.Context(), false); err != nil {
		t.Error(err)
	}
}

// locked checks that the lock cannot be taken because it belongs to a job.
func locked(t *testing.T, path, job string) {
	t.Helper()
	lock, _, err := storage.Acquire(t.Context(), path, "other", storage.LockOptions{})
	var held *storage.LockedError
	if !errors.As(err, &held) || held.Path != path || held.Owner.Job != job {
		t.Errorf("error %v, want a LockedError of job %s", err, job)
	}
	if err == nil {
		release(t, lock)
	}
}

// fenced checks that an error says who has taken the lock of the job mine; "" means nobody.
func fenced(t *testing.T, what string, err error, by string) {
	t.Helper()
	var lost *storage.FencedError
	if !errors.As(err, &lost) || lost.Job != "mine" || (lost.By == nil) != (by == "") || lost.By != nil && lost.By.Job != by {
		t.Errorf("%s: error %v, want a FencedError by %q", what, err, by)
	}
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

const formerText = `{"host":"elsewhere","pid":7,"job":"former","since":"2026-01-02T03:04:05Z","nonce":"N"}`

// TestAcquire takes locks that were left behind: whoever did is reported as the previous holder, if the lock can still
// be read. On a disk, nobody holds these locks.
func TestAcquire(t *testing.T) {
	for name, text := range map[string]string{
		"whole": formerText, "torn": formerText[:30], "empty": "", "no JSON": "x", "without a nonce": `{"job":"former"}`,
		"longer than what is written": strings.Replace(formerText, "elsewhere", strings.Repeat("long ", 100), 1),
		"of this process":             strings.Replace(formerText, `"pid":7`, `"pid":`+strconv.Itoa(os.Getpid()), 1),
	} {
		for _, tt := range []struct {
			name  string
			age   time.Duration
			force bool
		}{
			{"young", 4 * time.Minute, false}, {"old", 6 * time.Minute, false}, {"forced", 0, true}, {"forced, old", time.Hour, true},
		} {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				onStores(t, func(t *testing.T, folder string) {
					path := lockText(t, folder, text)
					job := "former"
					if !strings.HasSuffix(text, "}") {
						job = "unknown"
					}
					later(t, path, tt.age)
					if tt.name == "young" && !storage.IsLocal(path) {
						locked(t, path, job)
						if got, err := storage.ReadFile(t.Context(), path); err != nil || string(got) != text {
							t.Errorf("the lock was changed to %q, %v", got, err)
						}
						nothingElseIn(t, folder, ".lock")
						return
					}
					lock, former, err := storage.Acquire(t.Context(), path, "mine", storage.LockOptions{Force: tt.force})
					if err != nil {
						t.Fatal(err)
					}
					if former == nil || former.Job != job {
						t.Errorf("former holder %+v, want job %s", former, job)
					}
					nothingElseIn(t, folder, ".lock")
					takenByMe(t, path)
					release(t, lock)
					isFree(t, path)
				})
			})
		}
	}
	t.Run("no lock", func(t *testing.T) {
		onStores(t, func(t *testing.T, folder string) {
			for _, force := range []bool{false, true} {
				path := storage.Join(folder, "new", ".lock")
				lock, former, err := storage.Acquire(t.Context(), path, "mine", storage.LockOptions{Force: force})
				if err != nil || former != nil {
					t.Fatalf("former holder %v, error %v", former, err)
				}
				takenByMe(t, path)
				if err := lock.Prove(t.Context()); err != nil {
					t.Error(err)
				}
				release(t, lock)
				isFree(t, path)
			}
		})
	})
}

func nothingElseIn(t *testing.T, folder string, want ...string) {
	t.Helper()
	if names, err := storage.Names(t.Context(), folder); err != nil || !slices.Equal(names, want) {
		t.Errorf("in %s there is %q, %v, want %q", folder, names, err, want)
	}
}

// takenByMe checks that this process has the lock, for the job mine.
func takenByMe(t *testing.T, path string) {
	t.Helper()
	host, _ := os.Hostname()
	h := holderOf(t, path)
	if h.Job != "mine" || h.PID != os.Getpid() || h.Host != host || time.Since(h.Since).Abs() > time.Minute {
		t.Errorf("the lock says %+v", h)
	}
	locked(t, path, "mine")
}

// isFree checks that a lock can be taken, and had no holder.
func isFree(t *testing.T, path string) {
	t.Helper()
	if _, err := storage.Stat(t.Context(), path); !errors.Is(err, fs.ErrNotExist) && !strings.HasPrefix(path, "mem-keep") {
		t.Errorf("after Release: %v", err)
	}
	lock, former, err := storage.Acquire(t.Context(), path, "mine", storage.LockOptions{})
	if err != nil || former != nil {
		t.Fatalf("after Release: former holder %+v, error %v", former, err)
	}
	release(t, lock)
}

// TestAgeIsTheStores checks that a local clock which is ahead of the store's, or behind, has no effect.
func TestAgeIsTheStores(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, time.Hour} {
		folder := "mem://bucket/" + rand.Text()
		later(t, folder, ahead)
		path := lockText(t, folder, formerText)
		locked(t, path, "former")
		later(t, path, ahead+expiry-time.Second)
		locked(t, path, "former")
		later(t, path, ahead+expiry+time.Second)
		release(t, acquire(t, path))
	}
}

// TestHeldIsHeld checks that, on a disk, neither its age nor what the file says by now frees the lock of a living
// process.
func TestHeldIsHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	lock := acquire(t, path)
	later(t, path, time.Hour)
	locked(t, path, "mine")
	if err := os.WriteFile(path, nil, 0); err != nil {
		t.Fatal(err)
	}
	locked(t, path, "unknown")
	if err := lock.Prove(t.Context()); err != nil { // the lock is held, so it may be written again
		t.Error(err)
	}
	takenByMe(t, path)
	release(t, lock)
}

// within is a store in which a removal may still take effect for some time after the lock was last proved.
type within struct {
	*storagetest.Memory
	storage.Late
}

func (within) Within() time.Duration { return time.Minute }

// TestRemovalEnds checks that a holder's removal has no effect once others may have the lock: some time after the last
// proof by the store's clock, however much time has passed here.
func TestRemovalEnds(t *testing.T) {
	proved := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	memory := &storagetest.Memory{Now: func() time.Time { return proved }}
	storage.Register("within://", within{Memory: memory})
	lock := acquire(t, "within://bucket/.lock")
	for range 2 {
		if got, want := lock.Removal("v"), (storage.If{Version: "v", Until: proved.Add(time.Minute)}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		proved = proved.Add(time.Hour)
		if err := lock.Prove(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	release(t, lock)
	lock = acquire(t, "mem://bucket/"+rand.Text())
	if got := lock.Removal("v"); got != (storage.If{Version: "v"}) {
		t.Errorf("%+v where nothing is late", got)
	}
	release(t, lock)
}

func TestLockedErrorSaysWhatToDo(t *testing.T) {
	err := &storage.LockedError{Path: "out/.lock", Owner: storage.Owner{
		Host: "lab", PID: 42, Job: "night", Since: time.Date(2026, 11, 21, 10, 13, 0, 0, time.UTC),
	}}
	const want = "out/.lock is held by job night (process 42 on lab, since 2026-11-21 10:13:00); wait with --wait-lock, or stop that job and use --force-unlock"
	if got := err.Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAcquireRace checks that of many processes that find one lock, stale or missing, one gets it and keeps it until it
// releases it.
func TestAcquireRace(t *testing.T) {
	for _, former := range []string{"stale", "none"} {
		t.Run(former, func(t *testing.T) {
			onStores(t, func(t *testing.T, folder string) {
				for round := range 50 {
					folder := storage.Join(folder, strconv.Itoa(round))
					path := storage.Join(folder, ".lock")
					if former == "stale" {
						lockText(t, folder, formerText)
						later(t, path, time.Duration(round+1)*time.Hour)
					}
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
					if err := winner.Release(t.Context(), false); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// TestHandOver checks that locks that are released while others wait for them are handed over, and never held by two at
// a time.
func TestHandOver(t *testing.T) { onStores(t, handOver) }

func handOver(t *testing.T, folder string) {
	path := storage.Join(folder, ".lock")
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
				if err := lock.Release(t.Context(), false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	racers.Wait()
}

// TestTakenOver checks that a holder that was thought dead finds out, and neither renews nor removes its successor's
// lock.
func TestTakenOver(t *testing.T) {
	onStores(t, takenOver)
	onMounts(t, takenOver)
}

func takenOver(t *testing.T, folder string) {
	path := storage.Join(folder, ".lock")
	for _, released := range []bool{false, true} {
		slept := acquire(t, path)
		successor, former, err := storage.Acquire(t.Context(), path, "successor", storage.LockOptions{Force: true})
		if err != nil || former == nil || former.Job != "mine" {
			t.Fatalf("former %v, error %v", former, err)
		}
		want := holderOf(t, path)
		if !released {
			fenced(t, "Prove", slept.Prove(t.Context()), "successor")
		}
		fenced(t, "Release", slept.Release(t.Context(), false), "successor")
		if got := holderOf(t, path); got != want {
			t.Errorf("the lock is now %+v, want %+v", got, want)
		}
		locked(t, path, "successor")
		if err := successor.Prove(t.Context()); err != nil {
			t.Error(err)
		}
		release(t, successor)
	}
	for _, whole := range []bool{false, true} { // the lock file, or its whole folder
		lock, gone := acquire(t, path), path
		if whole {
			gone = folder
		}
		if err := storage.RemoveAll(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		fenced(t, "Prove", lock.Prove(t.Context()), "")
		fenced(t, "Release", lock.Release(t.Context(), false), "")
		if there, err := storage.Exists(t.Context(), gone); there || err != nil {
			t.Errorf("%s was made anew, %v", gone, err)
		}
	}
}

// TestTouched checks that a touched lock still belongs to its holder, and that a copy in its place does not.
func TestTouched(t *testing.T) {
	onMounts(t, func(t *testing.T, folder string) {
		path := storage.Join(folder, ".lock")
		file := onDisk(path)
		lock := acquire(t, path)
		for range 2 {
			if err := os.Chtimes(file, time.Time{}, time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if err := lock.Prove(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		release(t, lock)
		nothingElseIn(t, folder)
	})
	path := filepath.Join(t.TempDir(), ".lock")
	lock := acquire(t, path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(path, text, 0o666)); err != nil {
		t.Fatal(err)
	}
	fenced(t, "a copy", lock.Prove(t.Context()), "")
	fenced(t, "a copy", lock.Release(t.Context(), false), "")
	if _, err := os.Stat(path); err != nil {
		t.Error("it was removed")
	}
}

// TestBeatIsWhole checks that whoever reads the lock while it is renewed sees a holder.
func TestBeatIsWhole(t *testing.T) { onStores(t, beatIsWhole) }

func beatIsWhole(t *testing.T, folder string) {
	path := storage.Join(folder, ".lock")
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
	if err := lock.Release(t.Context(), false); err != nil {
		t.Error(err)
	}
}

// TestLockMeetsItself covers a request that was sent twice: the second one is refused, although the lock was written as
// requested.
func TestLockMeetsItself(t *testing.T) {
	storage.Register("again://", sentAgain{&storagetest.Memory{}})
	path := "again://bucket/.lock"
	lock, former, err := storage.Acquire(t.Context(), path, "mine", storage.LockOptions{})
	if err != nil || former != nil {
		t.Fatalf("former %v, error %v", former, err)
	}
	if err := lock.Renew(); err != nil {
		t.Error(err)
	}
	if err := lock.Release(t.Context(), false); err != nil {
		t.Error(err)
	}
}

// sentAgain sends each request to create a file twice.
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

// TestLockIsNoFile checks that a link, which could be read but never replaced, and a pipe, which would block forever,
// are rejected by name.
func TestLockIsNoFile(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"a link that leads nowhere": func(path string) error { return os.Symlink("nowhere", path) },
		"a link to a file": func(path string) error {
			return errors.Join(os.WriteFile(path+"2", []byte(formerText), 0o600), os.Symlink(path+"2", path))
		},
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a device": func(path string) error {
			err := syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|3)
			if errors.Is(err, fs.ErrPermission) {
				t.Skip("only root makes devices")
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), ".lock")
			if err := plant(path); err != nil {
				t.Fatal(err)
			}
			for _, force := range []bool{false, true} {
				if _, _, err := storage.Acquire(t.Context(), path, "job", storage.LockOptions{Force: force}); err == nil || !strings.Contains(err.Error(), path+": not a regular file") {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}

// TestHeartbeat checks that a lock is rewritten where others may judge it by its age, and only there.
func TestHeartbeat(t *testing.T) {
	onMounts(t, func(t *testing.T, folder string) { heartbeats(t, folder, !storage.IsLocal(folder)) })
	onStores(t, func(t *testing.T, folder string) { heartbeats(t, folder, !storage.IsLocal(folder)) })
}

func heartbeats(t *testing.T, folder string, want bool) {
	synctest.Test(t, func(t *testing.T) {
		path := storage.Join(folder, ".lock")
		lock := acquire(t, path)
		versions := map[string]bool{}
		for range 20 {
			info, err := storage.Stat(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			versions[info.Version] = true
			locked(t, path, "mine")
			time.Sleep(31 * time.Second)
			synctest.Wait()
		}
		if got := len(versions); want && got != 20 || !want && got != 1 {
			t.Errorf("%d versions in 10 minutes", got)
		}
		release(t, lock)
	})
}

// TestBeatFindsOut checks that what a heartbeat learns is reported later, even if the lock is free by then.
func TestBeatFindsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := "mem://bucket/" + rand.Text() + "/.lock"
		lock := acquire(t, path)
		successor, _, err := storage.Acquire(t.Context(), path, "successor", storage.LockOptions{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		release(t, successor)
		fenced(t, "Prove", lock.Prove(t.Context()), "successor")
		fenced(t, "Release", lock.Release(t.Context(), false), "successor")
	})
}

// TestWait checks that a held lock is waited for, for as long as requested.
func TestWait(t *testing.T) {
	onStores(t, func(t *testing.T, folder string) {
		path := storage.Join(folder, ".lock")
		synctest.Test(t, func(t *testing.T) {
			first := acquire(t, path)
			told := 0
			options := storage.LockOptions{Wait: 10 * time.Second, Waiting: func(e *storage.LockedError) {
				if told++; e.Owner.Job != "mine" {
					t.Errorf("waiting for %v", e)
				}
			}}
			begun := time.Now()
			if _, _, err := storage.Acquire(t.Context(), path, "other", options); !errors.As(err, new(*storage.LockedError)) {
				t.Errorf("error %v, want a LockedError", err)
			}
			if took := time.Since(begun); took < 10*time.Second || took > 12*time.Second || told != 1 {
				t.Errorf("waited %v, told %d times", took, told)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			if _, _, err := storage.Acquire(ctx, path, "other", storage.LockOptions{Wait: time.Hour}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want context.DeadlineExceeded", err)
			}
			go func() {
				time.Sleep(5500 * time.Millisecond)
				release(t, first)
			}()
			begun = time.Now()
			second, _, err := storage.Acquire(t.Context(), path, "mine", options)
			if took := time.Since(begun); err != nil || took > 7*time.Second {
				t.Fatalf("after %v: %v", took, err)
			}
			release(t, second)
		})
	})
}

// TestDomains checks that a hold is trusted by the processes that it excludes. Others judge a lock by its age, and
// leave it alone if it is not rewritten.
func TestDomains(t *testing.T) {
	const local, here, elsewhere, nobody = "", "mount-a://", "mount-b://", "no-locks://"
	for _, tt := range []struct {
		holder, other string
		young, old    bool // whether other takes over once the holder is dead
	}{
		{local, local, true, true}, {here, here, true, true},
		{here, elsewhere, false, true}, {here, local, false, true}, {nobody, nobody, false, true}, {here, nobody, false, true},
		{local, here, false, false}, {local, nobody, false, false},
	} {
		for _, old := range []bool{false, true} {
			folder := t.TempDir()
			path := filepath.Join(folder, ".lock")
			lock := acquire(t, onMount(tt.holder, path))
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			release(t, lock)
			lockText(t, folder, string(text)) // the holder died
			want := tt.young
			if old {
				later(t, path, time.Hour)
				want = tt.old
			}
			lock, _, err = storage.Acquire(t.Context(), onMount(tt.other, path), "mine", storage.LockOptions{})
			if (err == nil) != want || err != nil && !errors.As(err, new(*storage.LockedError)) {
				t.Errorf("%q's lock, old %v: %q gets %v", tt.holder, old, tt.other, err)
			}
			if err == nil {
				if info, err := storage.Stat(t.Context(), path); err != nil {
					t.Error(err)
				} else if hold, err := holder(t).Hold(t.Context(), path, info.Version); (err == nil) != (tt.other == nobody) {
					t.Errorf("%q does not hold what it took over: %v", tt.other, err)
				} else if err == nil {
					hold.Close()
				}
				release(t, lock)
			}
		}
	}
}
