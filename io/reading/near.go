package reading

import "github.com/neardup/neardup/io/storage"

// nearBytes is how far apart records may be to be fetched together: a request costs as much time as 1 MB.
const nearBytes = 1 << 20

// Near tells a file what of it is read in order when only records at positions, ascending bytes of it, are: those that
// are near each other, with so many bytes behind the last of them, up to end. The function it returns is called with
// each record's number before that is read, and returns where the last of those near it begins.
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
