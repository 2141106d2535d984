package lossy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Mount mounts s in a new folder until the test ends, or for at most limit: after that all access fails, so that
// nothing hangs. It skips the test if FUSE cannot be used. The calling process must not open files in the folder, which
// it serves itself: it could deadlock.
func Mount(t testing.TB, s *System, limit time.Duration) (folder string) {
	t.Helper()
	folder = t.TempDir()
	at, err := attach(folder)
	var fused *fuse.Server
	if err == nil {
		fused, err = fuse.NewServer(server{fuse.NewDefaultRawFileSystem(), s}, at, &fuse.MountOptions{
			FsName: "lossy", Name: "lossy", DisableReadDirPlus: true,
			PanicHandler: func(reason any) fuse.Status {
				t.Errorf("the file system panicked: %v", reason)
				return fuse.EIO
			},
		})
	}
	if err != nil {
		detach(folder) // in case only the server failed
		t.Skipf("this test mounts a file system by FUSE: give it /dev/fuse, and run it as root or install fusermount3 "+
			"(package fuse3): %v", err)
	}
	ended := make(chan struct{})
	go func() {
		fused.Serve()
		close(ended)
	}()
	late := time.AfterFunc(limit, func() {
		t.Errorf("the file system is unmounted after %v", limit)
		detach(folder)
	})
	t.Cleanup(func() {
		late.Stop()
		if err := detach(folder); err != nil {
			t.Errorf("unmounting %s: %v", folder, err)
		}
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Errorf("%s is unmounted, but still served", folder)
		}
	})
	return folder
}

// attach mounts the folder itself, if it may, and returns the path by which fuse.NewServer takes over the mount: a
// direct mount by fuse.NewServer would leak the connection to children. Otherwise it returns the folder, which
// fuse.NewServer mounts by fusermount3.
func attach(folder string) (string, error) {
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", device, os.Getuid(), os.Getgid())
		if err = unix.Mount("lossy", folder, "fuse.lossy", unix.MS_NOSUID|unix.MS_NODEV, options); err == nil {
			return fmt.Sprintf("/dev/fd/%d", device), nil
		}
		unix.Close(device)
	}
	if _, missing := exec.LookPath("fusermount3"); missing != nil {
		return "", errors.Join(err, missing)
	}
	return folder, nil
}

// detach unmounts the folder even if it is in use, and makes pending operations fail.
func detach(folder string) error {
	err := unix.Unmount(folder, unix.MNT_DETACH|unix.MNT_FORCE)
	if errors.Is(err, unix.EPERM) {
		err = exec.Command("fusermount3", "-u", "-z", folder).Run()
	}
	return err
}
