package storage_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/io/storage"
)

// contender is a variable that makes this program a process that tries to take the lock it names.
const contender = "NEARDUP_TEST_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(contender); path != "" {
		contend(path)
	}
	os.Exit(m.Run())
}

// contend tries to take the lock until it has it, says so, and keeps it until standard input ends.
func contend(path string) {
	told := false
	for {
		_, _, err := storage.Acquire(context.Background(), path, "contender", storage.LockOptions{})
		if err == nil {
			fmt.Println("has it")
			io.Copy(io.Discard, os.Stdin)
			os.Exit(0) // without Release
		}
		if !errors.As(err, new(*storage.LockedError)) {
			fmt.Println(err)
			os.Exit(1)
		}
		if !told {
			told = true
			fmt.Println("tries")
		}
	}
}

// process is another process that takes a lock.
type process struct {
	*exec.Cmd
	lines *bufio.Scanner
	stdin io.Closer
}

func startContender(t *testing.T, path string, attr *syscall.SysProcAttr) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env, cmd.SysProcAttr, cmd.Stderr = append(os.Environ(), contender+"="+path), attr, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		if attr != nil && errors.Is(err, fs.ErrPermission) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &process{cmd, bufio.NewScanner(out), in}
}

// says waits for the process to say something.
func (p *process) says(t *testing.T, want string) {
	t.Helper()
	if !p.lines.Scan() || p.lines.Text() != want {
		t.Fatalf("the other process says %q, %v; want %q", p.lines.Text(), p.lines.Err(), want)
	}
}

// kill ends the process as the kernel does when memory runs out.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
}

// TestHolderOfAnotherProcess checks that a process holds a lock as long as it lives, even when stopped, and not a
// moment longer.
func TestHolderOfAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	other := startContender(t, path, nil)
	other.says(t, "has it")
	locked(t, path, "contender")
	if err := other.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	later(t, path, time.Hour)
	locked(t, path, "contender")
	refuses(t, path)
	other.kill(t)
	lock, former, err := storage.Acquire(t.Context(), path, "mine", storage.LockOptions{})
	if err != nil || former == nil || former.Job != "contender" || former.PID != other.Process.Pid {
		t.Fatalf("former %+v, error %v", former, err)
	}
	release(t, lock)
}

// refuses checks that conditional requests fail, and do so without waiting.
func refuses(t *testing.T, path string) {
	t.Helper()
	store, err := storage.At(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := store.Stat(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	cond := storage.If{Version: info.Version}
	_, holdErr := holder(t).Hold(t.Context(), path, info.Version)
	for what, err := range map[string]error{
		"Create": errOf(store.Create(t.Context(), path, cond, nothing)), "Remove": store.Remove(t.Context(), path, cond), "Hold": holdErr,
	} {
		if !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("%s: error %v, want ErrPrecondition", what, err)
		}
	}
	if now, err := store.Stat(t.Context(), path); err != nil || now.Version != info.Version {
		t.Errorf("now %+v, was %+v, %v", now, info, err)
	}
}

func plantHold(t *testing.T) (path string, hold storage.Hold, info storage.Info) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x")
	info, err := storage.WriteFile(t.Context(), path, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if hold, err = holder(t).Hold(t.Context(), path, info.Version); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hold.Close() })
	return path, hold, info
}

func TestHold(t *testing.T) {
	path, hold, info := plantHold(t)
	refuses(t, path)
	next, err := hold.Replace(t.Context(), func(w io.Writer) error { _, err := io.WriteString(w, "next"); return err })
	if err != nil || next.Version == info.Version || next.Path != path {
		t.Fatalf("%+v after %+v, %v", next, info, err)
	}
	if there, err := storage.Stat(t.Context(), path); err != nil || there.Version != next.Version {
		t.Errorf("there is %+v, written was %+v, %v", there, next, err)
	}
	refuses(t, path)
	if _, err := hold.Replace(t.Context(), func(io.Writer) error { return errors.New("oops") }); err == nil {
		t.Error("no error")
	}
	refuses(t, path)
	if err := hold.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	nothingElse(t, filepath.Dir(path))
	for _, path := range []string{path, filepath.Join(path, "below", "nothing")} {
		if _, err := holder(t).Hold(t.Context(), path, next.Version); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("removed: error %v, want ErrPrecondition", err)
		}
	}
}

// TestHoldOfAnotherVersion also tries to hold what is not a file.
func TestHoldOfAnotherVersion(t *testing.T) {
	path, hold, info := plantHold(t)
	if err := hold.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := holder(t).Hold(t.Context(), path, info.Version+"0"); !errors.Is(err, storage.ErrPrecondition) {
		t.Errorf("error %v, want ErrPrecondition", err)
	}
	again, err := holder(t).Hold(t.Context(), path, info.Version)
	if err != nil {
		t.Fatal("after another version and Close:", err)
	}
	again.Close()
	if err := errors.Join(os.Symlink(path, path+"link"), syscall.Mkfifo(path+"pipe", 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path + "link", path + "pipe", filepath.Dir(path)} {
		if hold, err := holder(t).Hold(t.Context(), name, info.Version); err == nil {
			hold.Close()
			t.Errorf("%s is held", name)
		}
	}
}

// TestHoldLosesItsPath checks that a file which has taken the path of a held one is neither replaced nor removed.
func TestHoldLosesItsPath(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"replaced":       func(path string) error { return errOf(storage.WriteFile(t.Context(), path, nothing)) },
		"removed":        os.Remove,
		"folder removed": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		t.Run(name, func(t *testing.T) {
			path, hold, _ := plantHold(t)
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			before, _ := storage.Stat(t.Context(), path)
			if _, err := hold.Replace(t.Context(), nothing); !errors.Is(err, storage.ErrPrecondition) {
				t.Errorf("Replace: error %v, want ErrPrecondition", err)
			}
			if err := hold.Remove(t.Context()); !errors.Is(err, storage.ErrPrecondition) {
				t.Errorf("Remove: error %v, want ErrPrecondition", err)
			}
			if after, _ := storage.Stat(t.Context(), path); after != before {
				t.Errorf("now %+v, was %+v", after, before)
			}
			if name == "folder removed" {
				if _, err := os.Stat(filepath.Dir(path)); err == nil {
					t.Error("the folder was made anew")
				}
			}
		})
	}
}

// TestReplaceLocksFirst checks that a file that cannot be locked does not get the name.
func TestReplaceLocksFirst(t *testing.T) {
	path, hold, info := plantHold(t)
	_, err := hold.Replace(t.Context(), func(io.Writer) error {
		next, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".neardup-*"))
		if err != nil || len(next) != 1 {
			t.Fatalf("being written: %q, %v", next, err)
		}
		f, err := os.Open(next[0])
		if err != nil {
			return err
		}
		t.Cleanup(func() { f.Close() })
		return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	})
	if !errors.Is(err, storage.ErrPrecondition) {
		t.Errorf("error %v, want ErrPrecondition", err)
	}
	if now, err := storage.Stat(t.Context(), path); err != nil || now.Version != info.Version {
		t.Errorf("now %+v, was %+v, %v", now, info, err)
	}
	refuses(t, path)
}

// TestReplaceLeavesNoGap checks that nobody can take a held file while it is replaced again and again.
func TestReplaceLeavesNoGap(t *testing.T) {
	path, hold, _ := plantHold(t)
	var done atomic.Bool
	tries := make(chan int)
	for range 2 {
		go func() {
			n := 0
			for ; !done.Load(); n++ {
				info, err := storage.Stat(context.Background(), path)
				if err != nil {
					continue
				}
				if stolen, err := holder(t).Hold(context.Background(), path, info.Version); err == nil {
					t.Error("two hold it")
					stolen.Close()
					break
				}
			}
			tries <- n
		}()
	}
	for range 1000 {
		if _, err := hold.Replace(t.Context(), nothing); err != nil {
			t.Error(err)
			break
		}
	}
	done.Store(true)
	if n := <-tries + <-tries; n < 100 {
		t.Errorf("only %d tries", n)
	}
}

// TestTwin exchanges the folder of the lock with another one, and checks that this process holds the lock at every
// moment.
func TestTwin(t *testing.T) {
	root := t.TempDir()
	dir, staged := filepath.Join(root, "dir"), filepath.Join(root, "staged")
	path, twin := filepath.Join(dir, ".lock"), filepath.Join(staged, ".lock")
	lock := acquire(t, path)
	other := startContender(t, path, nil)
	other.says(t, "tries")
	prove := func(when string) {
		t.Helper()
		if err := lock.Prove(t.Context()); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		if h := holderOf(t, path); h.Job != "mine" {
			t.Errorf("%s: the lock says %+v", when, h)
		}
		locked(t, path, "mine")
	}
	for range 20 {
		if err := os.Mkdir(staged, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := lock.Twin(t.Context(), twin); err != nil {
			t.Fatal(err)
		}
		if err := lock.Twin(t.Context(), twin); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("a second twin: error %v, want ErrPrecondition", err)
		}
		prove("with a twin")
		refuses(t, twin)
		if err := storage.Exchange(t.Context(), staged, dir); err != nil {
			t.Fatal(err)
		}
		prove("exchanged")
		refuses(t, twin) // this is the former lock
		if err := lock.Exchanged(); err != nil {
			t.Error(err)
		}
		prove("exchanged, and told so")
		refuses(t, path)
		former, err := storage.Stat(t.Context(), twin)
		if err != nil {
			t.Fatal(err)
		}
		if hold, err := holder(t).Hold(t.Context(), twin, former.Version); err != nil {
			t.Errorf("the former lock is held: %v", err)
		} else {
			hold.Close()
		}
		if err := os.RemoveAll(staged); err != nil {
			t.Fatal(err)
		}
	}
	release(t, lock)
	other.says(t, "has it")
	nothingElse(t, dir, ".lock")
}

// TestTwinWithoutExchange checks that, without an exchange, the twin is released with the lock, and stays where it is.
func TestTwinWithoutExchange(t *testing.T) {
	folder := t.TempDir()
	path, twin := filepath.Join(folder, ".lock"), filepath.Join(folder, "staged", ".lock")
	lock := acquire(t, path)
	if err := lock.Twin(t.Context(), twin); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its folder is missing: error %v", err)
	}
	if err := os.Mkdir(filepath.Dir(twin), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := lock.Twin(t.Context(), twin); err != nil {
		t.Fatal(err)
	}
	if h := holderOf(t, twin); h.Job != "mine" {
		t.Errorf("the twin says %+v", h)
	}
	release(t, lock)
	isFree(t, path)
	info, err := storage.Stat(t.Context(), twin)
	if err != nil {
		t.Fatal(err)
	}
	hold, err := holder(t).Hold(t.Context(), twin, info.Version)
	if err != nil {
		t.Fatal(err)
	}
	hold.Close()
}

// TestTakenOverAtOnce checks what happens if another process takes over a new lock before it is held, as it may look
// like one whose holder is dead.
func TestTakenOverAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		job string // the job that it claims; "" releases the lock again
		who string // who has the lock, "" if this process
	}{
		"taken over": {"thief", "thief"}, "let go": {"", ""}, "stopped": {"stopped", "mine"},
	} {
		for _, force := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", force ", force), func(t *testing.T) { takenOverAtOnce(t, tt.job, tt.who, force) })
		}
	}
}

func takenOverAtOnce(t *testing.T, job, who string, force bool) {
	local, err := storage.At("/")
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	var thief storage.Hold
	storage.Register("thief://", mounted{local, "thief://", "", func(path string) {
		info, err := storage.Stat(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		switch tries++; {
		case tries == 1:
			if thief, err = holder(t).Hold(t.Context(), path, info.Version); err != nil {
				t.Fatal(err)
			}
		case tries == 4 && job == "thief":
			text := func(w io.Writer) error { _, err := io.WriteString(w, `{"job":"thief","nonce":"T"}`); return err }
			if _, err := thief.Replace(t.Context(), text); err != nil {
				t.Error(err)
			}
		case tries == 4 && job == "":
			thief.Close()
		}
	}})
	path := onMount("thief://", filepath.Join(t.TempDir(), ".lock"))
	lock, former, err := storage.Acquire(t.Context(), path, "mine", storage.LockOptions{Force: force})
	defer thief.Close()
	var held *storage.LockedError
	switch {
	case who == "" && (err != nil || former != nil):
		t.Errorf("former %v, error %v", former, err)
	case who != "" && (!errors.As(err, &held) || held.Owner.Job != who):
		t.Errorf("error %v, want a LockedError of %s", err, who)
	}
	if err == nil {
		release(t, lock)
	}
}

// TestDomain checks that the domain of a folder that does not exist yet is that of its parent.
func TestDomain(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{filepath.Join(folder, "x"), filepath.Join(folder, "no", "folder", "x")} {
		if domain, err := holder(t).Domain(t.Context(), path); err != nil || domain != "" {
			t.Errorf("%s: %q, %v", path, domain, err)
		}
	}
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip(err)
	}
	one, err := holder(t).Domain(t.Context(), "/proc/x")
	two, err2 := holder(t).Domain(t.Context(), "/proc/sys/x")
	three, err3 := holder(t).Domain(t.Context(), "/sys/x")
	if id, _, ok := strings.Cut(one, "/"); err != nil || err2 != nil || err3 != nil || !ok || len(id) < 10 || one != two || one == three {
		t.Errorf("%q, %v, %q, %v, %q, %v", one, err, two, err2, three, err3)
	}
}
