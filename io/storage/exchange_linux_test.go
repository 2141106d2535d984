package storage_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/neardup/neardup/io/storage"
)

// mount mounts source at target for the duration of the test.
func mount(t *testing.T, source, target, kind string, flags uintptr) {
	t.Helper()
	if err := unix.Mount(source, target, kind, flags, ""); err != nil {
		t.Skip("mounting:", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(target, unix.MNT_DETACH) })
}

// notExchanged checks that neither folder changes, and the reason given.
func notExchanged(t *testing.T, dir, beside, want string) {
	t.Helper()
	if err := storage.Exchangeable(t.Context(), dir, beside); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), want) {
		t.Errorf("Exchangeable: error %v, want ErrUnsupported, %s", err, want)
	}
	if err := storage.Exchange(t.Context(), filepath.Join(beside, "out"), dir); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Exchange: error %v, want ErrUnsupported", err)
	}
	nothingElse(t, beside, "out")
	nothingElse(t, filepath.Join(beside, "out"), "new")
}

func TestMountPointIsNotExchanged(t *testing.T) {
	for name, kind := range map[string]string{"another file system": "tmpfs", "the same": ""} {
		t.Run(name, func(t *testing.T) {
			plantFolders(t)
			if kind == "" {
				if err := os.Mkdir("source", 0o777); err != nil {
					t.Fatal(err)
				}
				mount(t, "source", "dir", "", unix.MS_BIND)
			} else {
				mount(t, "tmpfs", "dir", kind, 0)
			}
			notExchanged(t, "dir", "beside", "dir is a mount point")
		})
	}
}

func TestFileSystemsAreNotExchanged(t *testing.T) {
	plantFolders(t)
	if err := os.MkdirAll("other/dir", 0o777); err != nil {
		t.Fatal(err)
	}
	mount(t, "tmpfs", "other", "tmpfs", 0)
	if err := os.Mkdir("other/dir", 0o777); err != nil {
		t.Fatal(err)
	}
	notExchanged(t, "other/dir", "beside", "two file systems")
}

// accessList returns an access list that gives group 7 the permissions perm.
func accessList(perm uint16) string {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 7, 1<<32 - 1}, {4, 5, 1<<32 - 1}, {8, perm, 7}, {16, 7, 1<<32 - 1}, {32, 0, 1<<32 - 1}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	return string(list)
}

// TestExchangeKeepsAccessLists checks that access lists are kept, and also their absence where new folders would get
// one.
func TestExchangeKeepsAccessLists(t *testing.T) {
	const access, inherited = "system.posix_acl_access", "system.posix_acl_default"
	for name, has := range map[string]bool{"a list": true, "none": false} {
		t.Run(name, func(t *testing.T) {
			plantFolders(t)
			setXattr(t, "beside", inherited, accessList(2))
			if err := os.Mkdir("beside/new", 0o777); err != nil {
				t.Fatal(err)
			}
			if xattr("beside/new", access) == xattr("dir", access) {
				t.Fatal("it inherits nothing")
			}
			if has {
				setXattr(t, "dir", access, accessList(7))
				setXattr(t, "dir", inherited, accessList(5))
			}
			wantAccess, wantInherited := xattr("dir", access), xattr("dir", inherited)
			mode, err := os.Stat("dir")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(storage.Exchangeable(t.Context(), "dir", "beside"), storage.Exchange(t.Context(), "beside/new", "dir")); err != nil {
				t.Fatal(err)
			}
			if got := xattr("dir", access); got != wantAccess {
				t.Errorf("access list %q, want %q", got, wantAccess)
			}
			if got := xattr("dir", inherited); got != wantInherited {
				t.Errorf("default list %q, want %q", got, wantInherited)
			}
			if got, err := os.Stat("dir"); err != nil || got.Mode() != mode.Mode() {
				t.Errorf("mode %v, want %v", got.Mode(), mode.Mode())
			}
		})
	}
}

// TestOverlaysAttributes checks that the attributes of overlayfs do not count as a user's, and stay where they are.
func TestOverlaysAttributes(t *testing.T) {
	plantFolders(t)
	setXattr(t, "dir", "trusted.overlay.opaque", "y")
	if err := errors.Join(storage.Exchangeable(t.Context(), "dir", "beside"), storage.Exchange(t.Context(), "beside/out", "dir")); err != nil {
		t.Fatal(err)
	}
	if got := xattr("dir", "trusted.overlay.opaque"); got == "y" {
		t.Error("it was copied")
	}
}
