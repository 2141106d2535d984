package job

import (
	"cmp"
	"math"
	"runtime"
)

const (
	rowBytes   = 64 // of a row, beside two ids and two sources
	usualSlice = 16 << 20
	// MaxSlices are what the rows of a table shard are spread over at most.
	MaxSlices = 256
	// usualGroupRows is below the 64 MB of a group: more rows are in files, a small one for each slice.
	usualGroupRows = 48 << 20
	// leastRows: the fewer rows are held, the more files there are of them.
	leastRows = 1 << 20
)

// Slices is the number of groups that the rows of a table shard are spread over, if the table has so many
// rows, and so many bytes that are neither ids nor sources.
func (p *Plan) Slices(rows, raw float64) int {
	source := 0
	for _, name := range p.Listing.Inputs.Names() {
		source = max(source, len(name))
	}
	return p.SlicesOf(rows*float64(rowBytes+2*(p.IDBytes+source)) + raw)
}

// SlicesOf is Slices of a table of so many bytes.
func (p *Plan) SlicesOf(bytes float64) int {
	// In a compressed file, positions beyond the listed size are in one shard. Small ones are in many.
	if in := p.Listing.Inputs; !in.LargeCompressed {
		bytes /= float64(in.Shards)
	}
	slice := cmp.Or(p.Request.SliceRows*rowBytes, p.Request.GroupBytes, usualSlice)
	return int(max(1, min(math.Ceil(bytes/float64(slice)), MaxSlices)))
}

// GroupRows is how many bytes of the rows of all slices go on in a group, and not in files.
func (p *Plan) GroupRows() int64 {
	if p.Request.SliceRows > 0 {
		return 0
	}
	return cmp.Or(p.Request.GroupBytes, usualGroupRows)
}

// HeldRows leaves each worker room for rows and for what they are sorted by.
func (r *Running) HeldRows() int {
	if step := r.Step(); step > 0 {
		return max(leastRows, min(step/2, usualSlice))
	}
	return 0
}

// Step is each worker's share of the memory; 0: it is not known.
func (r *Running) Step() int { return int(r.Budget().Step(cmp.Or(r.Workers, runtime.GOMAXPROCS(0)))) }
