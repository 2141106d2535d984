package hash

import "testing"

// The first outputs for the seed 1234567, as published with other implementations of SplitMix64.
func TestSplitMix64(t *testing.T) {
	next := SplitMix64(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := next(); got != want {
			t.Errorf("output %d is %d, want %d", i, got, want)
		}
	}
}
