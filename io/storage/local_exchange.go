package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exchangeable checks whether the folder dir can be exchanged with one in the folder beside, which is the caller's own.
// If not, the error is errors.ErrUnsupported, with the reason.
func Exchangeable(ctx context.Context, dir, beside string) error {
	if err := hasFolders(ctx, dir); err != nil {
		return err
	}
	info, err := lstatFolder(dir)
	if err != nil {
		return err
	}
	mount, err := mountRoot(dir)
	if err != nil {
		return err
	}
	if mount {
		return noExchange("%s is a mount point", dir)
	}
	// A shell would then be in a folder without a name.
	if here, err := os.Getwd(); err == nil {
		if _, in := Rel(dir, here); in {
			return noExchange("%s is the working folder, or above it", dir)
		}
	}
	// The next run must be able to find there what a killed run leaves.
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return noExchange("%w", err)
	}
	parent.Close()
	there, err := lstatFolder(beside)
	if err != nil {
		return err
	}
	if device(info) != device(there) {
		return noExchange("%s and %s are on two file systems", dir, beside)
	}
	return tryExchange(dir, beside)
}

// hasFolders returns an error if path is not on a disk: stores have no folders to exchange.
func hasFolders(ctx context.Context, path string) error {
	if !IsLocal(path) {
		return noExchange("%s: the store has no folders to exchange", path)
	}
	return ctx.Err()
}

// tryExchange exchanges two new folders in beside, one of which has the attributes of dir.
func tryExchange(dir, beside string) error {
	var probes [2]string
	var infos [2]fs.FileInfo
	for i := range probes {
		probe, err := os.MkdirTemp(beside, beingWritten)
		if err != nil {
			return err
		}
		defer os.Remove(probe)
		if infos[i], err = os.Lstat(probe); err != nil {
			return err
		}
		probes[i] = probe
	}
	if err := copyAttributes(dir, probes[0]); err != nil {
		return err
	}
	if err := exchange(probes[0], probes[1]); err != nil {
		return err
	}
	if now, err := os.Lstat(probes[0]); err != nil || !os.SameFile(now, infos[1]) {
		return errors.Join(err, noExchange("two folders in %s were not exchanged", beside))
	}
	return nil
}

// Inherit gives folder the group and default access list of the folder from, so that files made in folder later are as
// accessible as those made in from.
func Inherit(ctx context.Context, folder, from string) error {
	if err := hasFolders(ctx, folder); err != nil {
		return err
	}
	want, err := os.Lstat(from)
	if err != nil {
		return err
	}
	got, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	if gid := want.Sys().(*syscall.Stat_t).Gid; gid != got.Sys().(*syscall.Stat_t).Gid {
		if err := os.Lchown(folder, -1, int(gid)); err != nil {
			return err
		}
	}
	if err := os.Chmod(folder, got.Mode().Perm()|want.Mode()&fs.ModeSetgid); err != nil {
		return err
	}
	const list = "system.posix_acl_default"
	values, err := xattrs(from)
	if value, ok := values[list]; ok && err == nil {
		err = unix.Lsetxattr(folder, list, value, 0)
	}
	return err
}

// Exchange exchanges the paths of the folders new and old in one step, and gives new the mode, group, access list and
// attributes that old had. The error is errors.ErrUnsupported if that cannot be done, and fs.ErrNotExist if a folder is
// missing; then nothing has changed but new's attributes.
func Exchange(ctx context.Context, new, old string) error {
	if err := hasFolders(ctx, old); err != nil {
		return err
	}
	// The kernel would exchange the link itself.
	for _, dir := range []string{new, old} {
		if _, err := lstatFolder(dir); err != nil {
			return err
		}
	}
	if err := copyAttributes(old, new); err != nil {
		return err
	}
	return exchange(new, old)
}

// exchange exchanges the folders at two paths.
func exchange(a, b string) error {
	err := renameExchange(a, b)
	if err == nil {
		return nil
	}
	for _, cannot := range []error{unix.EXDEV, unix.EBUSY, unix.EPERM, unix.EACCES,
		unix.EINVAL, unix.ENOSYS, unix.ENOTSUP} {
		if errors.Is(err, cannot) {
			return noExchange("%s and %s: %w", a, b, err)
		}
	}
	return fmt.Errorf("exchanging %s and %s: %w", a, b, err)
}

func lstatFolder(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = noExchange("%s is not a folder", path)
	}
	return info, err
}

func noExchange(format string, args ...any) error {
	return unsupported(fmt.Errorf(format, args...))
}

// copyAttributes gives the folder to the owner, group, mode, access list and other attributes of the folder from. The
// error is errors.ErrUnsupported if the user may not do so.
func copyAttributes(from, to string) error {
	if err := copyAll(from, to); err != nil {
		return noExchange("a folder cannot get the attributes of %s: %w", from, err)
	}
	return nil
}

func copyAll(from, to string) error {
	want, err := os.Lstat(from)
	if err != nil {
		return err
	}
	got, err := os.Lstat(to)
	if err != nil {
		return err
	}
	w, g := want.Sys().(*syscall.Stat_t), got.Sys().(*syscall.Stat_t)
	if w.Uid != g.Uid || w.Gid != g.Gid {
		if err := os.Lchown(to, int(w.Uid), int(w.Gid)); err != nil {
			return err
		}
	}
	if err := copyXattrs(from, to); err != nil {
		return err
	}
	// After the owner and the access list, which change the mode.
	if err := os.Chmod(to, want.Mode()); err != nil {
		return err
	}
	if got, err = os.Lstat(to); err == nil && got.Mode() != want.Mode() {
		err = fmt.Errorf("mode %v, not %v", got.Mode(), want.Mode()) // a set-group-ID of a group that is not the user's
	}
	return err
}

// copyXattrs gives the folder to the extended attributes of from, except those that only the kernel sets.
func copyXattrs(from, to string) error {
	want, err := xattrs(from)
	if err != nil {
		return err
	}
	got, err := xattrs(to)
	if err != nil {
		return err
	}
	for name, value := range want {
		if has, ok := got[name]; ok && bytes.Equal(has, value) {
			continue
		}
		if err := unix.Lsetxattr(to, name, value, 0); err != nil {
			return &fs.PathError{Op: "setxattr " + name, Path: to, Err: err}
		}
	}
	for name := range got { // such as an access list inherited from its parent folder
		if _, ok := want[name]; ok || strings.HasPrefix(name, "security.") {
			continue
		}
		if err := unix.Lremovexattr(to, name); err != nil {
			return &fs.PathError{Op: "removexattr " + name, Path: to, Err: err}
		}
	}
	return nil
}

// xattrs returns the extended attributes of path that a user may set. A file system may have none.
func xattrs(path string) (map[string][]byte, error) {
	list, err := sized(func(buf []byte) (int, error) { return unix.Llistxattr(path, buf) })
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, &fs.PathError{Op: "listxattr", Path: path, Err: err}
	}
	values := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if !settable(name) {
			continue
		}
		value, err := sized(func(buf []byte) (int, error) { return unix.Lgetxattr(path, name, buf) })
		if err != nil {
			return nil, &fs.PathError{Op: "getxattr " + name, Path: path, Err: err}
		}
		values[name] = value
	}
	return values, nil
}

// sized returns what get writes to a buffer; without a buffer, get returns the size it needs.
func sized(get func([]byte) (int, error)) ([]byte, error) {
	for {
		n, err := get(nil)
		if err != nil || n == 0 {
			return nil, err
		}
		buf := make([]byte, n)
		if n, err = get(buf); errors.Is(err, unix.ERANGE) {
			continue // it has grown
		}
		return buf[:max(n, 0)], err
	}
}

// onOtherDevice reports whether path is on another device than its parent folder.
func onOtherDevice(path string) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	parent, err := os.Stat(filepath.Join(path, ".."))
	if err != nil {
		return false, err
	}
	return device(info) != device(parent), nil
}
