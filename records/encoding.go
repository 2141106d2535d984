package records

import (
	"cmp"
	"slices"
)

// UnknownEncoding is the name of none, where no encoding is likely.
const UnknownEncoding = "unknown"

// FileEncoding are the files that most likely are in an encoding, by their texts.
type FileEncoding struct {
	Name  string `json:"name" doc:"with '--encoding detect': an encoding, or 'unknown'"` // or UnknownEncoding
	Files int64  `json:"files" doc:"files that are most likely in this encoding"`
	// Read: the files are read in it. Else it is not sure enough.
	Read bool `json:"read" doc:"'true' if neardup read them in it"`
	// Percent is how sure it is of the file File, of which it is least certain.
	Percent int    `json:"percent" doc:"how certain the encoding of 'file' is, in per cent"`
	File    string `json:"file" doc:"the file whose encoding is least certain"`
}

// AddEncoding adds files to those of their encoding, in any order.
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

// SortEncodings sorts encodings: those that files are read in first, the most frequent before others.
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
