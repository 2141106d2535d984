package records

import (
	"cmp"
	"slices"
)

// UnknownEncoding is the name if no encoding is likely.
const UnknownEncoding = "unknown"

// FileEncoding describes the files that, judging by their texts, most likely have one encoding.
type FileEncoding struct {
	Name  string `json:"name" doc:"with '--encoding detect': an encoding, or 'unknown'"`
	Files int64  `json:"files" doc:"files that are most likely in this encoding"`
	// Read means that the files are read in this encoding. Otherwise it is not certain enough.
	Read bool `json:"read" doc:"'true' if neardup read them in it"`
	// Percent is the certainty for File, the file with the lowest.
	Percent int    `json:"percent" doc:"how certain the encoding of 'file' is, in per cent"`
	File    string `json:"file" doc:"the file whose encoding is least certain"`
}

// AddEncoding adds files to those with their encoding. The order of calls does not matter.
func AddEncoding(all []FileEncoding, files FileEncoding) []FileEncoding {
	for i, e := range all {
		if e.Name != files.Name || e.Read != files.Read {
			continue
		}
		all[i].Files += files.Files
		if files.Percent < e.Percent || files.Percent == e.Percent && files.File < e.File {
			all[i].Percent, all[i].File = files.Percent, files.File
		}
		return all
	}
	return append(all, files)
}

// SortEncodings sorts encodings: those in which files are read first, and then by number of files, descending.
func SortEncodings(all []FileEncoding) {
	slices.SortFunc(all, func(a, b FileEncoding) int {
		if a.Read != b.Read {
			if a.Read {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Files, a.Files), cmp.Compare(a.Name, b.Name))
	})
}
