package records

import (
	"slices"
	"testing"
)

// TestEncodings: the order of files affects neither the sums nor the file with the lowest certainty.
func TestEncodings(t *testing.T) {
	files := []FileEncoding{
		{"big5", 1, true, 95, "b"}, {"koi8-r", 1, true, 99, "c"}, {"koi8-r", 1, true, 91, "e"}, {"koi8-r", 1, true, 91, "d"}, {"koi8-r", 2, false, 40, "f"}, {UnknownEncoding, 3, false, 0, "a"},
	}
	want := []FileEncoding{{"koi8-r", 3, true, 91, "d"}, {"big5", 1, true, 95, "b"}, {UnknownEncoding, 3, false, 0, "a"}, {"koi8-r", 2, false, 40, "f"}}
	for range files {
		files = append(files[1:], files[0])
		var all []FileEncoding
		for _, f := range files {
			all = AddEncoding(all, f)
		}
		if SortEncodings(all); !slices.Equal(all, want) {
			t.Errorf("%v: %v, want %v", files, all, want)
		}
	}
}
