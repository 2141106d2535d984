// Package notroot lets tests of permissions run for root as well, which permissions do not restrict.
package notroot

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Ran reports whether another process ran the test, as it does if this one is root: as a user that owns root's files,
// but has none of root's rights.
func Ran(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	const user = 1000 // in its own namespace
	ids := []syscall.SysProcIDMap{{ContainerID: user, HostID: 0, Size: 1}}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids,
		Credential: &syscall.Credential{Uid: user, Gid: user, NoSetGroups: true},
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skipf("no process without root's rights can be started: %v", err)
	}
	if err := cmd.Wait(); err != nil || !bytes.Contains(out.Bytes(), []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, &out)
	}
	return true
}
