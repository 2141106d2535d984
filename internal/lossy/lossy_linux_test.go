package lossy_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/neardup/neardup/internal/lossy"
)

// disk is a mounted System, with the operations of a test. It only uses system calls: package os would poll the files,
// and wait for this process with all its threads.
type disk struct {
	t      *testing.T
	folder string
}

func (d disk) at(name string) string { return path.Join(d.folder, name) }

func (d disk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d disk) wants(err, want error) {
	d.t.Helper()
	if !errors.Is(err, want) {
		d.t.Errorf("%v, want %v", err, want)
	}
}

func (d disk) open(name string, flags int) int {
	d.t.Helper()
	file, err := unix.Open(d.at(name), flags|unix.O_CLOEXEC, 0o666)
	d.must(err)
	return file
}

func (d disk) write(name, text string) {
	d.t.Helper()
	file := d.open(name, unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC)
	_, err := unix.Write(file, []byte(text))
	d.must(err)
	d.must(unix.Close(file))
}

func (d disk) read(file int) string {
	d.t.Helper()
	buf := make([]byte, 100)
	n, err := unix.Pread(file, buf, 0)
	d.must(err)
	return string(buf[:n])
}

func (d disk) sync(names ...string) {
	d.t.Helper()
	for _, name := range names {
		file := d.open(name, unix.O_RDONLY)
		d.must(unix.Fsync(file))
		d.must(unix.Close(file))
	}
}

func (d disk) mkdir(name string)      { d.t.Helper(); d.must(unix.Mkdir(d.at(name), 0o777)) }
func (d disk) remove(name string)     { d.t.Helper(); d.must(unix.Unlink(d.at(name))) }
func (d disk) rename(from, to string) { d.t.Helper(); d.must(unix.Rename(d.at(from), d.at(to))) }
func (d disk) flags(from, to string, flags uint) error {
	return unix.Renameat2(unix.AT_FDCWD, d.at(from), unix.AT_FDCWD, d.at(to), flags)
}

// texts returns a Tree as text; a folder is "/".
func texts(tree lossy.Tree) map[string]string {
	found := map[string]string{}
	for name, file := range tree {
		found[name] = "/"
		if !file.Mode.IsDir() {
			found[name] = string(file.Bytes)
		}
	}
	return found
}

type files = map[string]string

// TestLeft checks that a loss of power leaves what was synced.
func TestLeft(t *testing.T) {
	for _, c := range []struct {
		name        string
		do          func(d disk)
		synced, all files
	}{
		{"nothing synced", func(d disk) { d.write("a", "1") }, files{}, files{"a": ""}},
		{"file synced", func(d disk) { d.write("a", "1"); d.sync("a") }, files{}, files{"a": "1"}},
		{"folder synced", func(d disk) { d.write("a", "1"); d.sync(".") }, files{"a": ""}, files{"a": ""}},
		{"both synced, then written", func(d disk) {
			d.write("a", "1")
			d.sync("a", ".")
			d.write("a", "22")
		}, files{"a": "1"}, files{"a": "1"}},
		{"truncated and synced", func(d disk) {
			d.write("a", "123")
			d.must(unix.Truncate(d.at("a"), 1))
			d.sync("a", ".")
		}, files{"a": "1"}, files{"a": "1"}},
		{"renamed", func(d disk) {
			d.write("a", "1")
			d.sync("a", ".")
			d.rename("a", "b")
		}, files{"a": "1"}, files{"b": "1"}},
		{"renamed over another", func(d disk) {
			d.write("a", "1")
			d.write("b", "2")
			d.sync("a", "b", ".")
			d.rename("a", "b")
			d.sync(".")
		}, files{"b": "1"}, files{"b": "1"}},
		{"moved, target synced", func(d disk) {
			d.mkdir("d")
			d.write("a", "1")
			d.sync("a", ".")
			d.rename("a", "d/a")
			d.sync("d")
		}, files{"a": "1", "d": "/", "d/a": "1"}, files{"d": "/", "d/a": "1"}},
		{"moved, source synced", func(d disk) {
			d.mkdir("d")
			d.write("a", "1")
			d.sync("a", ".")
			d.rename("a", "d/a")
			d.sync(".")
		}, files{"d": "/"}, files{"d": "/", "d/a": "1"}},
		{"folders exchanged, one side synced", func(d disk) {
			d.mkdir("d")
			d.mkdir("d/new")
			d.mkdir("old")
			d.write("d/new/a", "1")
			d.write("old/a", "0")
			d.sync("d/new/a", "old/a", "d/new", "old", "d", ".")
			d.must(d.flags("d/new", "old", unix.RENAME_EXCHANGE))
			d.sync(".")
		}, files{"d": "/", "d/new": "/", "d/new/a": "1", "old": "/", "old/a": "1"},
			files{"d": "/", "d/new": "/", "d/new/a": "0", "old": "/", "old/a": "1"}},
		{"removed", func(d disk) {
			d.write("a", "1")
			d.mkdir("d")
			d.sync("a", ".")
			d.remove("a")
			d.must(unix.Rmdir(d.at("d")))
		}, files{"a": "1", "d": "/"}, files{}},
		{"linked", func(d disk) {
			d.write("a", "1")
			d.must(unix.Link(d.at("a"), d.at("b")))
			d.remove("a")
			d.sync("b", ".")
		}, files{"b": "1"}, files{"b": "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			system := lossy.New(lossy.Options{})
			c.do(disk{t, lossy.Mount(t, system, time.Minute)})
			for names, want := range map[lossy.Names]files{lossy.Synced: c.synced, lossy.All: c.all} {
				left := system.Left(names)
				if diff := cmp.Diff(want, texts(left)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", names, diff)
				}
				if again := lossy.New(lossy.Options{Holds: left}); !maps.EqualFunc(again.Left(lossy.Synced), left, same) {
					t.Errorf("%s: %v became %v", names, left, again.Left(lossy.Synced))
				}
			}
		})
	}
}

func same(a, b lossy.File) bool {
	return a.Mode == b.Mode && (a.Mode.IsDir() || a.Sum() == b.Sum())
}

// TestCalls checks that system calls behave as on a disk.
func TestCalls(t *testing.T) {
	var changes []string
	system := lossy.New(lossy.Options{Changed: func(operation string, _ func(lossy.Names) lossy.Tree) {
		changes = append(changes, operation)
	}})
	d := disk{t, lossy.Mount(t, system, time.Minute)}

	d.write("a", "1")
	file := d.open("a", unix.O_RDWR)
	d.remove("a")
	if got := d.read(file); got != "1" {
		t.Errorf("an open file without a name has %q", got)
	}
	d.must(unix.Close(file))

	d.mkdir("d")
	d.write("d/b", "2")
	d.write("c", "3")
	d.wants(unix.Rmdir(d.at("d")), unix.ENOTEMPTY)
	d.wants(d.flags("c", "d/b", unix.RENAME_NOREPLACE), fs.ErrExist)
	d.wants(unix.Link(d.at("c"), d.at("d/b")), fs.ErrExist)
	d.must(d.flags("c", "d/c", unix.RENAME_NOREPLACE))
	d.must(unix.Chmod(d.at("d/c"), 0o600))

	one, two := d.open("d/c", unix.O_RDWR), d.open("d/c", unix.O_RDWR)
	var stat unix.Stat_t
	d.must(unix.Fstat(one, &stat))
	if stat.Mode != unix.S_IFREG|0o600 || stat.Size != 1 || stat.Nlink != 1 {
		t.Errorf("mode %o, size %d, %d links", stat.Mode, stat.Size, stat.Nlink)
	}
	d.must(unix.Flock(one, unix.LOCK_EX|unix.LOCK_NB))
	d.wants(unix.Flock(two, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
	d.must(unix.Close(one))
	d.must(unix.Close(two))

	var space unix.Statfs_t
	d.must(unix.Statfs(d.folder, &space))
	if space.Bavail == 0 || space.Type != unix.FUSE_SUPER_MAGIC {
		t.Errorf("%+v", space)
	}

	for i := range 500 {
		d.write(fmt.Sprintf("d/%d", i), "")
	}
	if text, err := exec.Command("rm", "-r", d.at("d")).CombinedOutput(); err != nil {
		t.Errorf("rm: %v\n%s", err, text)
	}
	if left := system.Left(lossy.All); len(left) > 0 {
		t.Errorf("rm leaves %v", left)
	}
	if diff := cmp.Diff([]string{"create a", "remove a", "mkdir d", "create d/b", "create c", "rename c to d/c"}, changes[:6]); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// TestNoFlags checks the kernel's answer for a System without flags of renameat2.
func TestNoFlags(t *testing.T) {
	d := disk{t, lossy.Mount(t, lossy.New(lossy.Options{NoFlags: true}), time.Minute)}
	d.write("a", "1")
	d.write("b", "2")
	d.wants(d.flags("a", "b", unix.RENAME_EXCHANGE), unix.EINVAL)
	d.wants(d.flags("a", "c", unix.RENAME_NOREPLACE), unix.EINVAL)
	d.rename("a", "b")
}

// TestBusy: only empty folders can be exchanged.
func TestBusy(t *testing.T) {
	d := disk{t, lossy.Mount(t, lossy.New(lossy.Options{Busy: true}), time.Minute)}
	d.mkdir("a")
	d.mkdir("b")
	d.must(d.flags("a", "b", unix.RENAME_EXCHANGE))
	d.write("a/x", "1")
	d.wants(d.flags("a", "b", unix.RENAME_EXCHANGE), unix.EBUSY)
	d.wants(d.flags("b", "a", unix.RENAME_EXCHANGE), unix.EBUSY)
	d.rename("a", "c")
}

// TestPowerIsOff: a synced file keeps its time, and the clock advances meanwhile.
func TestPowerIsOff(t *testing.T) {
	modified := func(d disk, name string) time.Time {
		var stat unix.Stat_t
		d.must(unix.Lstat(d.at(name), &stat))
		return time.Unix(stat.Mtim.Unix())
	}
	before := lossy.New(lossy.Options{})
	d := disk{t, lossy.Mount(t, before, time.Minute)}
	d.write("a", "1")
	d.sync("a", ".")
	want := modified(d, "a")
	d = disk{t, lossy.Mount(t, lossy.New(lossy.Options{Holds: before.Left(lossy.Synced)}), time.Minute)}
	d.write("b", "2")
	if got := modified(d, "a"); !got.Equal(want) {
		t.Errorf("it is of %v, and was of %v", got, want)
	}
	if off := modified(d, "b").Sub(want); off < time.Hour {
		t.Errorf("the power was off for %v", off)
	}
}
