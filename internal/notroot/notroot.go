//go:build !linux

// Package notroot has tests of permissions run for root, too, who needs none.
package notroot

import (
	"os"
	"testing"
)

// Ran skips a test that root runs.
func Ran(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("root needs no permissions")
	}
	return false
}
