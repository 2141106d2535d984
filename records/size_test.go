package records

import (
	"math"
	"testing"
)

func TestBytes(t *testing.T) {
	const none = -1 // not a size
	for text, want := range map[string]Bytes{
		"0": 0, "512": 512, "512B": 512, " 7 b ": 7,
		"1K": 1 << 10, "1KB": 1000, "1KiB": 1 << 10, "64kb": 64_000,
		"1M": 1 << 20, "1MB": 1_000_000, "16MiB": 16 << 20,
		"1G": 1 << 30, "1GB": 1_000_000_000, "1GiB": 1 << 30,
		"2T": 2 << 40, "2TB": 2_000_000_000_000, "2TiB": 2 << 40,
		"1.5GB": 1_500_000_000, "1.5 GiB": 3 << 29, "0.5K": 512, "1.0": 1,
		// In floating point these two would lose a byte.
		"4.1GB": 4_100_000_000, "8.7TB": 8_700_000_000_000, "1.000000000001TB": 1_000_000_000_001,
		"0.1K": 102, "1.9": 1,
		"9223372036854775807": math.MaxInt64, "8388607.999999T": 9223372036853676296,
		"9223372036854775808": none, "8388608T": none, "9999999999999999999999T": none,
		"": none, "KB": none, "-1": none, "+1": none, "1e3": none, "1.": none, ".5G": none, "1,5GB": none,
		"1.2.3K": none, "1_000": none, "0x10": none, "1/2": none, "5IB": none, "5KI": none, "5PB": none, "5 0": none, "1KBs": none,
	} {
		var got Bytes
		if err := got.UnmarshalText([]byte(text)); err != nil {
			got = none
		}
		if got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
