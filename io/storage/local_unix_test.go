//go:build linux || darwin

package storage_test

import (
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/neardup/neardup/io/storage"
)

func TestListPipes(t *testing.T) {
	plant(t, "in/x")
	for _, name := range []string{"pipe", "in/pipe"} {
		if err := syscall.Mkfifo(name, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, arg := range []string{"pipe", "p*", "in/*"} {
		if _, err := storage.List(t.Context(), arg); err == nil || !strings.Contains(err.Error(), "give - to read standard input") {
			t.Errorf("List(%q): error %v", arg, err)
		}
	}
	if got := list(t, "in"); !slices.Equal(got, []string{"in/x"}) {
		t.Errorf("a folder with a pipe: %q", got)
	}
}

func TestWriteFileFollowsUmask(t *testing.T) {
	plant(t)
	for _, mask := range []int{0o022, 0o077, 0o002} {
		before := syscall.Umask(mask)
		_, err := storage.WriteFile(t.Context(), "file", func(io.Writer) error { return nil })
		syscall.Umask(before)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat("file")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := info.Mode(), fs.FileMode(0o666&^mask); got != want {
			t.Errorf("umask %03o: mode %v, want %v", mask, got, want)
		}
	}
}
