package reading

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// partitionsOf yields the names and values of the Hive partitions, which are folders called name=value, in a path, the
// innermost first.
func partitionsOf(path string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		folders := strings.Split(path, "/")
		for _, folder := range slices.Backward(folders[:len(folders)-1]) {
			name, value, ok := strings.Cut(folder, "=")
			if value == "__HIVE_DEFAULT_PARTITION__" { // Hive's null
				value = ""
			}
			if ok && !yield(unescape(name), unescape(value)) {
				return
			}
		}
	}
}

// Partition returns the value of the named partition that contains the file at path, such as 2026-11-20 for dt in
// dt=2026-11-20/x. If there are several, the innermost counts.
func Partition(path, name string) (value string, ok bool) {
	for key, value := range partitionsOf(path) {
		if key == name {
			return value, true
		}
	}
	return "", false
}

// Partitions returns the names of the partitions that contain the file at path, the innermost first.
func Partitions(path string) (names []string) {
	for name := range partitionsOf(path) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// unescape decodes the percent escapes in a folder's name; other percent signs stay.
func unescape(s string) string {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(c))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}
