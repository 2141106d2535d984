package storage

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew gives temp the name path; the error is fs.ErrExist if something has it.
func renameNew(temp, path string) error {
	err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return linkNew(temp, path)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: temp, New: path, Err: err}
	}
	return nil
}
