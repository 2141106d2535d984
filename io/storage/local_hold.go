package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Hold keeps a flock on the inode that has the path. The kernel releases it when the process ends.
func (local) Hold(ctx context.Context, path, version string) (Hold, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, _, err := lockVersion(path, version)
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, fmt.Errorf("holding %s: %w", path, err)
	}
	return &localHold{path, f}, nil
}

// Domain returns "" for file systems on disks of this machine, whose locks exclude all processes, even in other
// containers. Locks of other file systems, such as FUSE's, may exclude only processes within one mount of one host.
func (local) Domain(ctx context.Context, path string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	for folder := filepath.Dir(path); ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if errors.Is(err, fs.ErrNotExist) && folder != filepath.Dir(folder) {
			continue // it will be made on its parent's file system
		}
		if err != nil {
			return "", err
		}
		onDisk, err := onOwnDisk(folder)
		if err != nil || onDisk {
			return "", err
		}
		return fmt.Sprintf("%s/%x", bootID(), device(info)), nil
	}
}

// lockVersion opens path and locks it if it has the version and nobody else has locked it; otherwise the error is
// ErrPrecondition. On a file system without locks the error is errors.ErrUnsupported, and the file is open.
func lockVersion(path, version string) (f *os.File, info fs.FileInfo, err error) {
	f, err = openFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, ErrPrecondition
	}
	if err != nil {
		return nil, nil, err
	}
	if info, ok := current(f, path, version); !ok || !info.Mode().IsRegular() {
		return f, nil, ErrPrecondition
	}
	err = flock(f)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return f, nil, err
	}
	// It may have lost its name before it was locked.
	info, ok := current(f, path, version)
	if !ok {
		return f, nil, ErrPrecondition
	}
	return f, info, err
}

// openFile opens path without waiting, whatever it is. NFS locks only files open for writing; a disk also locks files
// that belong to others.
func openFile(path string) (*os.File, error) {
	const flags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := os.OpenFile(path, os.O_RDWR|flags, 0)
	if errors.Is(err, fs.ErrPermission) {
		f, err = os.OpenFile(path, os.O_RDONLY|flags, 0)
	}
	return f, err
}

// flock locks f until it is closed. The error is ErrPrecondition if another process has locked it, and
// errors.ErrUnsupported if the file system has no locks.
func flock(f *os.File) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrPrecondition
		default:
			return unsupported(err)
		}
	}
}

// unsupported wraps err as an errors.ErrUnsupported.
func unsupported(err error) error { return fmt.Errorf("%w: %w", errors.ErrUnsupported, err) }

// current reports whether f is the file at path and has the version.
func current(f *os.File, path, version string) (info fs.FileInfo, ok bool) {
	info, ok = named(f, path)
	return info, ok && infoOf(path, info).Version == version
}

// named reports whether f is the file at path.
func named(f *os.File, path string) (info fs.FileInfo, ok bool) {
	info, err := f.Stat()
	if err != nil {
		return nil, false
	}
	there, err := os.Lstat(path)
	return info, err == nil && os.SameFile(info, there)
}

// localHold is a locked file.
type localHold struct {
	path string
	file *os.File
}

// Replace locks the new file before renaming it, so that nobody else can ever lock it.
func (h *localHold) Replace(ctx context.Context, write func(io.Writer) error) (Info, error) {
	var next *os.File
	info, err := place(ctx, h.path, filepath.Dir(h.path), write, func(temp string) (info Info, err error) {
		if next, err = openFile(temp); err != nil {
			return Info{}, err
		}
		if err := flock(next); err != nil {
			return Info{}, err
		}
		old, ok := named(h.file, h.path)
		if !ok {
			return Info{}, ErrPrecondition
		}
		return rename(temp, h.path, old, os.Rename)
	})
	if err != nil {
		if next != nil {
			next.Close()
		}
		if _, ok := named(h.file, h.path); !ok && errors.Is(err, fs.ErrNotExist) { // its folder has lost its path
			err = ErrPrecondition
		}
		return Info{}, err
	}
	h.file.Close()
	h.file = next
	return info, nil
}

func (h *localHold) Remove(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, ok := named(h.file, h.path); !ok {
		return ErrPrecondition
	}
	return errors.Join(os.Remove(h.path), h.Close())
}

func (h *localHold) Close() error { return h.file.Close() }

func (h *localHold) Moved(path string) { h.path = path }
