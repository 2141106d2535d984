//go:build linux || darwin

package storage

import (
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

func device(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Dev)
	}
	return 0
}

// linkNew renames temp to path, which must not exist.
func linkNew(temp, path string) error {
	if err := os.Link(temp, path); err != nil {
		return err
	}
	return os.Remove(temp)
}

// freeBytes returns the free bytes at path, or the error that os.Stat would return.
func freeBytes(path string) (int64, error) {
	var stat syscall.Statfs_t
	err := syscall.Statfs(path, &stat)
	return int64(stat.Bavail) * int64(stat.Bsize), err
}

func sameOwner(a, b string) bool {
	first, err := os.Lstat(a)
	second, err2 := os.Lstat(b)
	return err == nil && err2 == nil && first.Sys().(*syscall.Stat_t).Uid == second.Sys().(*syscall.Stat_t).Uid
}
