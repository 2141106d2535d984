package job

import (
	"cmp"
	"math"
	"runtime"
)

const (
	rowBytes   = 64 // bytes of a row without its two ids and two sources
	usualSlice = 16 << 20
	// MaxSlices is the maximum number of groups over which the rows of a table shard are spread.
	MaxSlices = 256
	// usualGroupRows is below the 64 MB of a group; more rows go to files, a small one for each slice.
	usualGroupRows = 48 << 20
	// leastRows is a minimum because fewer rows in memory mean more files.
	leastRows = 1 << 20
)

// Slices returns the number of groups over which the rows of a table shard are spread, if the table has this many rows,
// and raw bytes that are neither ids nor sources.
func (p *Plan) Slices(rows, raw float64) int {
	source := 0
	for _, name := range p.Listing.Inputs.Names() {
		source = max(source, len(name))
	}
	return p.SlicesOf(rows*float64(rowBytes+2*(p.IDBytes+source)) + raw)
}

// SlicesOf is Slices for a table of the given size.
func (p *Plan) SlicesOf(bytes float64) int {
	// Positions beyond the listed size of a compressed file are all in one shard. Small files are spread over many.
	if in := p.Listing.Inputs; !in.LargeCompressed {
		bytes /= float64(in.Shards)
	}
	slice := cmp.Or(p.Request.SliceRows*rowBytes, p.Request.GroupBytes, usualSlice)
	return int(max(1, min(math.Ceil(bytes/float64(slice)), MaxSlices)))
}

// GroupRows returns how many bytes of rows, of all slices together, go to a group; more go to files.
func (p *Plan) GroupRows() int64 {
	if p.Request.SliceRows > 0 {
		return 0
	}
	return cmp.Or(p.Request.GroupBytes, usualGroupRows)
}

// HeldRows returns how many bytes of rows each worker may hold, which leaves room for their sort keys. 0: the default.
func (r *Running) HeldRows() int {
	if step := r.Step(); step > 0 {
		return max(leastRows, min(step/2, usualSlice))
	}
	return 0
}

// Step returns each worker's share of the memory, or 0 if there is no limit.
func (r *Running) Step() int { return int(r.Budget().Step(cmp.Or(r.Workers, runtime.GOMAXPROCS(0)))) }
