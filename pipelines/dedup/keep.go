package dedup

import (
	"path"
	"strings"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
)

// keep is what --keep says.
type keep struct {
	rank  source.Rank
	globs []string // of prefer
}

func parseKeep(policy string) (keep, error) {
	name, argument, has := strings.Cut(policy, ":")
	switch {
	case policy == "first":
		return keep{}, nil
	case policy == "longest":
		return keep{rank: source.Rank{Length: true, Largest: true}}, nil
	case (name == "max" || name == "min") && argument != "":
		return keep{rank: source.Rank{Column: argument, Largest: name == "max"}}, nil
	case name == "max" || name == "min":
		return keep{}, usage("--keep %s: name a column, as in %s:date", policy, name)
	case name == "prefer" && has:
		return parsePrefer(policy, strings.Split(argument, ","))
	case name == "prefer":
		return keep{}, usage("--keep %s: give patterns of files, as in prefer:curated/*,news", policy)
	default:
		return keep{}, usage("--keep %s: not one of first, longest, max:COLUMN, min:COLUMN, prefer:GLOB,...", policy)
	}
}

func parsePrefer(policy string, globs []string) (keep, error) {
	for i, glob := range globs {
		if glob == "" {
			return keep{}, usage("--keep %s: a pattern is empty", policy)
		}
		if _, err := storage.Match(glob, ""); err != nil {
			return keep{}, usage("--keep %s: %w", policy, err)
		}
		globs[i] = path.Clean(glob)
	}
	return keep{globs: globs}, nil
}

// prefer gives each file its place in the order of the patterns, and returns those patterns that
// match none.
func (k keep) prefer(files []blocks.File) (idle []string) {
	matched := make([]bool, len(k.globs))
	for i := range files {
		files[i].Preference = len(k.globs)
		for g, glob := range k.globs {
			if matches(glob, files[i].Source) {
				matched[g] = true
				files[i].Preference = min(files[i].Preference, g)
			}
		}
	}
	for g, glob := range k.globs {
		if !matched[g] {
			idle = append(idle, glob)
		}
	}
	return idle
}

// matches reports whether glob matches source or a folder that it is in: as an input, such a
// pattern would read it.
func matches(glob, source string) bool {
	for ; source != "."; source = path.Dir(source) {
		if ok, err := storage.Match(glob, source); ok && err == nil {
			return true
		}
	}
	return false
}
