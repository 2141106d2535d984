package reading

import (
	"iter"
	"regexp"
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

var escape = regexp.MustCompile(`%[[:xdigit:]]{2}`)

// unescape decodes the percent escapes in a folder's name; other percent signs stay.
func unescape(s string) string {
	return escape.ReplaceAllStringFunc(s, func(e string) string {
		c, _ := strconv.ParseUint(e[1:], 16, 8)
		return string([]byte{byte(c)})
	})
}
