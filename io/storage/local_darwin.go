package storage

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// renameNew renames temp to path; the error is fs.ErrExist if path exists.
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

// onOwnDisk reports whether the file system of path is known to be on a disk of this machine.
func onOwnDisk(path string) (bool, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return false, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return slices.Contains([]string{"apfs", "hfs"}, unix.ByteSliceToString(stat.Fstypename[:])), nil
}

// syncsWhole returns false: no call of macOS syncs a file system and reports errors.
func syncsWhole(*os.File) (Syncing, bool) { return nil, false }

// mountRoot reports whether a file system is mounted at the folder dir.
func mountRoot(dir string) (bool, error) { return onOtherDevice(dir) }

// madeBy are the attributes that macOS gives to each folder depending on its maker.
var madeBy = []string{"com.apple.provenance", "com.apple.macl", "com.apple.quarantine", "com.apple.rootless"}

// settable reports whether users may set an extended attribute. Access lists are not attributes, and not copied.
func settable(name string) bool { return !slices.Contains(madeBy, name) }

// bootID returns an id that differs between hosts, and between two boots of a host.
func bootID() string {
	if id, err := unix.Sysctl("kern.bootsessionuuid"); err == nil {
		return id
	}
	host, _ := self()
	return host
}
