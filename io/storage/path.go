package storage

import (
	"path"
	"strings"
)

// IsLocal reports whether path is on a disk of this machine, judging by its name.
func IsLocal(path string) bool { return schemeOf(path) == "" }

// Join returns the path of names below folder.
func Join(folder string, names ...string) string {
	if scheme := schemeOf(folder); scheme != "" {
		return scheme + strings.TrimPrefix(path.Join(append([]string{"/" + folder[len(scheme):]}, names...)...), "/")
	}
	return path.Join(append([]string{folder}, names...)...)
}

// Dir returns the folder that contains path.
func Dir(name string) string {
	if scheme := schemeOf(name); scheme != "" {
		return scheme + strings.TrimPrefix(path.Dir("/"+name[len(scheme):]), "/")
	}
	return path.Dir(name)
}

// Rel returns the path of name relative to folder, with slashes; "." if they are equal. Both must be absolute. ok is
// false if name is not below folder.
func Rel(folder, name string) (rel string, ok bool) {
	folder, name = clean(folder), clean(name)
	if folder == name {
		return ".", true
	}
	rel, ok = strings.CutPrefix(name, strings.TrimSuffix(folder, "/")+"/")
	return rel, ok
}

// relative returns the path relative to folder of a path that List yields.
func relative(folder, name string) string {
	return strings.TrimPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}
