package storage

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// inode is not told by a listing; size and time must do.
func inode(fs.FileInfo) uint64 { return 0 }

// tryLock locks f until it is closed, unless another has: a byte far behind its end, as whoever
// locks a region here shuts out readers too.
func tryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// renameNew gives temp the name path; the error is fs.ErrExist if something has it.
func renameNew(temp, path string) error {
	from, err := windows.UTF16PtrFromString(temp)
	if err != nil {
		return err
	}
	to, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	return windows.MoveFileEx(from, to, 0)
}

// freeBytes returns what is free at path.
func freeBytes(path string) (free int64, err error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	var available uint64
	err = windows.GetDiskFreeSpaceEx(name, &available, nil, nil)
	return int64(available), err
}

// gone reports whether a process of this host has ended.
func gone(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_INVALID_PARAMETER)
	}
	defer windows.CloseHandle(h)
	const stillActive = 259
	var code uint32
	return windows.GetExitCodeProcess(h, &code) == nil && code != stillActive
}
