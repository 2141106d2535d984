//go:build !cgo

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestUnknownUser: a user of a container may have neither a name nor a home folder. The C library, which cgo uses,
// ignores the environment.
func TestUnknownUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run a process as another user")
	}
	path, err := exec.LookPath("neardup")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "") // not below the test's folder, which only its user may enter
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	reachable := filepath.Join(folder, "neardup")
	if err := os.WriteFile(reachable, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(reachable, "version")
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %.300s", err, out)
	}
}
