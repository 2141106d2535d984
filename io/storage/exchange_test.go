package storage_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/neardup/neardup/io/storage"
)

// plantFolders makes the folder dir, which contains old, and beside, which contains new in out, and changes to their
// parent.
func plantFolders(t *testing.T) {
	t.Helper()
	plant(t, "dir/old", "beside/out/new")
	if err := storage.Exchangeable(t.Context(), "dir", "beside"); errors.Is(err, syscall.EINVAL) {
		t.Skip("this file system cannot:", err)
	} else if err != nil {
		t.Fatal(err)
	}
}

func TestExchange(t *testing.T) {
	me, mine := os.Getuid(), os.Getgid()
	exchangeAs(t, me, mine)
	if me == 0 { // only root may give a folder away
		exchangeAs(t, me, 7)
		exchangeAs(t, 3, mine)
	}
}

func exchangeAs(t *testing.T, uid, gid int) {
	t.Helper()
	plantFolders(t)
	if err := errors.Join(os.Chown("dir", uid, gid), os.Chmod("dir", 0o750|fs.ModeSetgid)); err != nil {
		t.Fatal(err)
	}
	want, err := os.Stat("dir")
	if err != nil {
		t.Fatal(err)
	}
	if err := storage.Exchangeable(t.Context(), "dir", "beside"); err != nil {
		t.Fatal(err)
	}
	nothingElse(t, "beside", "out") // no probe is left
	if err := storage.Exchange(t.Context(), "beside/out", "dir"); err != nil {
		t.Fatal(err)
	}
	nothingElse(t, "dir", "new")
	nothingElse(t, "beside/out", "old")
	got, err := os.Stat("dir")
	if err != nil {
		t.Fatal(err)
	}
	if os.SameFile(got, want) || got.Mode() != want.Mode() {
		t.Errorf("mode %v, want %v", got.Mode(), want.Mode())
	}
	if g, w := got.Sys().(*syscall.Stat_t), want.Sys().(*syscall.Stat_t); g.Uid != w.Uid || g.Gid != w.Gid {
		t.Errorf("owner %d:%d, want %d:%d", g.Uid, g.Gid, w.Uid, w.Gid)
	}
}

// setXattr sets an extended attribute, or skips the test if it is not supported.
func setXattr(t *testing.T, path, name, value string) {
	t.Helper()
	if err := unix.Setxattr(path, name, []byte(value), 0); err != nil {
		t.Skip(name, err)
	}
}

func xattr(path, name string) string {
	buf := make([]byte, 1000)
	n, err := unix.Getxattr(path, name, buf)
	if err != nil {
		return err.Error()
	}
	return string(buf[:n])
}

func TestExchangeKeepsAttributes(t *testing.T) {
	plantFolders(t)
	setXattr(t, "dir", "user.note", "of the folder")
	setXattr(t, "dir", "user.empty", "")
	setXattr(t, "beside/out", "user.note", "mine")
	setXattr(t, "beside/out", "user.mine", "mine")
	if err := errors.Join(storage.Exchangeable(t.Context(), "dir", "beside"), storage.Exchange(t.Context(), "beside/out", "dir")); err != nil {
		t.Fatal(err)
	}
	if note, empty := xattr("dir", "user.note"), xattr("dir", "user.empty"); note != "of the folder" || empty != "" {
		t.Errorf("user.note is %q, user.empty %q", note, empty)
	}
	if got := xattr("dir", "user.mine"); got == "mine" {
		t.Error("it kept an attribute that the folder does not have")
	}
}

// TestNotExchangeable checks that a reason is given in plain words, and that nothing has changed.
func TestNotExchangeable(t *testing.T) {
	plantFolders(t)
	link(t, "dir", "link")
	for name, want := range map[string]string{"link": "link is not a folder", "dir/old": "dir/old is not a folder"} {
		for what, err := range map[string]error{
			"Exchangeable": storage.Exchangeable(t.Context(), name, "beside"),
			"Exchange":     storage.Exchange(t.Context(), "beside/out", name),
		} {
			if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want ErrUnsupported, %s", what, err, want)
			}
		}
	}
	for what, err := range map[string]error{
		"Exchangeable":     storage.Exchangeable(t.Context(), "missing", "beside"),
		"Exchangeable by":  storage.Exchangeable(t.Context(), "dir", "missing"),
		"Exchange":         storage.Exchange(t.Context(), "beside/out", "missing"),
		"Exchange without": storage.Exchange(t.Context(), "missing", "dir"),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v, want fs.ErrNotExist", what, err)
		}
	}
	if err := storage.Exchange(t.Context(), "dir/below", "dir"); err == nil {
		t.Error("a folder and one below it")
	}
	nothingElse(t, "dir", "old")
	nothingElse(t, "beside", "out")
	for _, path := range []string{"mem://b/dir", "nowhere://b/dir"} {
		if err := storage.Exchange(t.Context(), path, path+"2"); err == nil || strings.HasPrefix(path, "mem") && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: error %v", path, err)
		}
		if err := storage.Exchangeable(t.Context(), path, filepath.Dir(path)); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}
