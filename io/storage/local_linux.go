package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// renameNew renames temp to path; the error is fs.ErrExist if path exists.
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

func renameExchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// zfsMagic is defined outside the kernel.
const zfsMagic = 0x2fc12fc1

// ownDisks are the types of file systems to which no other machine writes.
var ownDisks = []uint32{
	unix.EXT4_SUPER_MAGIC, // and ext2 and ext3
	unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.F2FS_SUPER_MAGIC,
	unix.BCACHEFS_SUPER_MAGIC, zfsMagic, unix.OVERLAYFS_SUPER_MAGIC,
}

// onOwnDisk reports whether the file system of path is known to be on a disk of this machine.
func onOwnDisk(path string) (bool, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return false, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return slices.Contains(ownDisks, uint32(stat.Type)), nil
}

// syncsWhole returns a Syncing for the file system of the folder f, which it then keeps, if syncfs is known to report
// errors there.
func syncsWhole(f *os.File) (Syncing, bool) {
	onDisk, err := onOwnDisk(f.Name())
	return systemSync{f}, err == nil && onDisk && syncfsTells()
}

// systemSync syncs a file system. It reports only errors since its file was opened.
type systemSync struct{ *os.File }

// Sync assumes that the paths are on that file system: nobody mounts another in a run's own folder.
func (s systemSync) Sync(ctx context.Context, paths ...string) error {
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := os.Lstat(path); err != nil {
			return err
		}
	}
	if err := unix.Syncfs(int(s.Fd())); err != nil {
		return &os.PathError{Op: "syncfs", Path: s.Name(), Err: err}
	}
	return nil
}

// syncfsTells reports whether the kernel's syncfs returns write errors, as it does since 5.8.
var syncfsTells = sync.OnceValue(func() bool {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return false
	}
	return since58(unix.ByteSliceToString(name.Release[:]))
})

func since58(release string) bool {
	var major, minor int
	_, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return err == nil && (major > 5 || major == 5 && minor >= 8)
}

// mountRoot reports whether a file system is mounted at the folder dir.
func mountRoot(dir string) (bool, error) {
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_SYMLINK_NOFOLLOW, 0, &stat)
	if err != nil || stat.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT == 0 {
		return onOtherDevice(dir)
	}
	return stat.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, nil
}

// settable reports whether a user may set an extended attribute, such as an access list, a label or a note. It excludes
// a file system's own, such as trusted.overlay.opaque, and those that the kernel computes for each inode.
func settable(name string) bool {
	space, _, _ := strings.Cut(name, ".")
	kernels := name == "security.evm" || name == "security.ima"
	return slices.Contains([]string{"system", "user", "security"}, space) && !kernels
}

// bootID returns an id that differs between hosts, and between two boots of a host.
func bootID() string {
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		return strings.TrimSpace(string(id))
	}
	host, _ := self()
	return host
}
