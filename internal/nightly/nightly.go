// Package nightly says how much tests do: on every change less than in .ci/nightly.
package nightly

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// On reports whether tests take their time.
func On() bool { return os.Getenv("NEARDUP_NIGHTLY") != "" }

// Or is what a test does at night, and on every change less.
func Or[T any](night, less T) T {
	if On() {
		return night
	}
	return less
}

// Checks has rapid.Check try so many cases until the test ends, which is not parallel. At night, and if -rapid.checks
// says how many, it is as many as ever.
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
