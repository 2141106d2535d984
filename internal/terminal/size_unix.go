//go:build unix

package terminal

import "golang.org/x/sys/unix"

// columns is the width of a terminal, 0 if f is none.
func columns(f file) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
