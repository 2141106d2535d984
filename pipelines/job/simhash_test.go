package job

import "testing"

// TestRounded: three significant digits, as other numbers are printed.
func TestRounded(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.041666: "0.0417", 12.345: "12.3", 999.4: "999", 1483.2: "1,480", 2e6: "2,000,000"} {
		if got := rounded(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}
