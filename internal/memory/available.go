package memory

import (
	"fmt"
	"io/fs"
	"iter"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// assumed is the memory assumed of a machine that does not report it.
const assumed = 4 << 30

// Available returns how much memory this process can have, and what limits it: the limits of its control group and of
// all above it, or the machine's memory if that is less. root is the root of the file system.
func Available(root fs.FS) (n int64, source string) {
	n, source = installed(root), "this machine's memory"
	if n == 0 {
		n, source = assumed, "the assumed memory"
	}
	if limit := limitOfGroups(root); limit < n {
		n, source = limit, "the container's limit"
	}
	return n, source
}

// installed returns the machine's memory, or 0 if it does not report it.
func installed(root fs.FS) int64 {
	for line := range linesOf(root, "proc/meminfo") {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// limitOfGroups returns the smallest limit of the control groups of this process, of both versions if both are mounted.
func limitOfGroups(root fs.FS) int64 {
	const version1, version2 = "cgroup", "cgroup2"
	groups := map[string]string{} // groups of this process by the type of their file system
	for line := range linesOf(root, "proc/self/cgroup") {
		id, rest, _ := strings.Cut(line, ":")
		controllers, group, _ := strings.Cut(strings.TrimSuffix(rest, "\n"), ":")
		switch {
		case id == "0" && controllers == "":
			groups[version2] = group
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			groups[version1] = group
		}
	}
	limit := int64(math.MaxInt64)
	for line := range linesOf(root, "proc/self/mountinfo") {
		mount, kind, _ := strings.Cut(line, " - ")
		fields, kinds := strings.Fields(mount), strings.Fields(kind)
		if len(fields) < 5 || len(kinds) < 3 {
			continue
		}
		group, ok := groups[kinds[0]]
		if !ok || kinds[0] == version1 && !slices.Contains(strings.Split(kinds[2], ","), "memory") {
			continue
		}
		top := path.Join("/", unescaped.Replace(fields[4]))
		for folder := path.Join(top, below(group, unescaped.Replace(fields[3]))); ; folder = path.Dir(folder) {
			limit = min(limit, limitOf(root, folder[1:]))
			if len(folder) <= len(top) {
				break
			}
		}
	}
	return limit
}

// unescaped reverses the escapes of paths in mountinfo.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// below returns the path of a group below the mount point of its hierarchy, which shows the mounted group; for a group
// outside that, it returns the mount point.
func below(group, mounted string) string {
	rest, found := strings.CutPrefix(path.Clean(group), path.Clean(mounted))
	if !found || mounted != "/" && rest != "" && rest[0] != '/' {
		return "/"
	}
	return path.Clean("/" + rest)
}

// limitOf returns the limit of the group in a folder. Version 1 also reports the limit of groups above it, which a
// container may not see.
func limitOf(root fs.FS, folder string) int64 {
	limit := int64(math.MaxInt64)
	for _, name := range []string{"memory.max", "memory.high", "memory.limit_in_bytes"} {
		for line := range linesOf(root, path.Join(folder, name)) {
			limit = atMost(limit, line)
		}
	}
	for line := range linesOf(root, path.Join(folder, "memory.stat")) {
		if above, ok := strings.CutPrefix(line, "hierarchical_memory_limit "); ok {
			limit = atMost(limit, above)
		}
	}
	return limit
}

// atMost returns limit, or the number in a line if that is less. "max" is not a number, so it is no limit.
func atMost(limit int64, line string) int64 {
	if n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil && n > 0 {
		return min(limit, n)
	}
	return limit
}

// linesOf yields the lines of a file, or none if it cannot be read.
func linesOf(root fs.FS, name string) iter.Seq[string] {
	data, _ := fs.ReadFile(root, name)
	return strings.Lines(string(data))
}
