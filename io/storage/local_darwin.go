package storage

import (
	"errors"
	"os"

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
