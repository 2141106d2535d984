// Package nightly says how much tests do: less on every change than in .ci/nightly.
package nightly

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// On reports whether tests may take long.
func On() bool { return os.Getenv("NEARDUP_NIGHTLY") != "" }

// Or returns night in nightly tests, otherwise less.
func Or[T any](night, less T) T {
	if On() {
		return night
	}
	return less
}

// Checks sets the number of cases that rapid.Check tries until the test ends, which must not be parallel. In nightly
// tests, and if -rapid.checks is given, the number is unchanged.
func Checks(t *testing.T, less int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if On() || before != checks.DefValue {
		return
	}
	if err := checks.Value.Set(strconv.Itoa(less)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Value.Set(before) })
}
