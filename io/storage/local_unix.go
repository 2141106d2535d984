//go:build linux || darwin

package storage

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}

// tryLock locks f until it is closed, unless another has. On a file system without locks it does
// so too, which leaves a race of microseconds.
func tryLock(f *os.File) (bool, error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		default:
			return true, nil
		}
	}
}

// linkNew gives temp the name path, which nothing has.
func linkNew(temp, path string) error {
	if err := os.Link(temp, path); err != nil {
		return err
	}
	return os.Remove(temp)
}

// freeBytes returns what is free at path, or what os.Stat's error would be.
func freeBytes(path string) (int64, error) {
	var stat syscall.Statfs_t
	err := syscall.Statfs(path, &stat)
	return int64(stat.Bavail) * int64(stat.Bsize), err
}

// gone reports whether a process of this host has ended.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
