package reading

import "github.com/neardup/neardup/io/storage"

// nearBytes is the maximum distance of records that are fetched together: a request takes as long as 1 MB.
const nearBytes = 1 << 20

// Near tells f which ranges to fetch when only the records at positions, which are ascending bytes of f, are read: a
// range covers records that are near each other, and behind bytes after the last of them, up to end. Call the returned
// function with each record's number before reading it; it returns the position of the last one in its range.
func Near(f *storage.File, positions []int64, behind, end int64) func(i int) (last int64) {
	next := 0
	return func(i int) int64 {
		if i == next {
			for next++; next < len(positions) && positions[next]-positions[next-1] <= nearBytes; next++ {
			}
			f.Ahead(max(positions[i]-1, 0), min(positions[next-1]+behind, end))
		}
		return positions[next-1]
	}
}
