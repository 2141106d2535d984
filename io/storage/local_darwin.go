package storage

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// renameNew gives temp the name path; the error is fs.ErrExist if something has it.
func renameNew(temp, path string) error {
	err := unix.RenamexNp(temp, path, unix.RENAME_EXCL)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return linkNew(temp, path)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: temp, New: path, Err: err}
	}
	return nil
}

func renameExchange(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }

// onOwnDisk reports whether the file system of path is known as one of this machine's disks.
func onOwnDisk(path string) (bool, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return false, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return slices.Contains([]string{"apfs", "hfs"}, unix.ByteSliceToString(stat.Fstypename[:])), nil
}

// syncsWhole: no call of macOS syncs a file system and tells of errors.
func syncsWhole(*os.File) (Syncing, bool) { return nil, false }

// mountRoot reports whether the folder dir is where a file system is mounted.
func mountRoot(dir string) (bool, error) { return onOtherDevice(dir) }

// madeBy are the attributes that macOS gives each folder by who made it.
var madeBy = []string{"com.apple.provenance", "com.apple.macl", "com.apple.quarantine", "com.apple.rootless"}

// settable reports whether an extended attribute is a user's. Access lists are none on macOS, and are not copied.
func settable(name string) bool { return !slices.Contains(madeBy, name) }

// bootID differs between hosts, and between two starts of one.
func bootID() string {
	if id, err := unix.Sysctl("kern.bootsessionuuid"); err == nil {
		return id
	}
	host, _ := self()
	return host
}
