package storage_test

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestHolderInAnotherContainer checks a holder in another container, where process numbers say nothing.
func TestHolderInAnotherContainer(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	other := startContender(t, path, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS})
	other.says(t, "has it")
	if h := holderOf(t, path); h.PID != 1 {
		t.Errorf("the lock says %+v", h)
	}
	locked(t, path, "contender")
	other.kill(t)
	release(t, acquire(t, path))
}
