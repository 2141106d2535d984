package job

import (
	"cmp"
	"math"
	"runtime"

	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/output"
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

// Writing returns how the parts of an output are written below staged; added is what its Parquet files also say about
// their origin.
func (p *Plan) Writing(temp string, staged output.Folder, parts []output.Part, added map[string]string) sink.Params {
	return sink.Params{
		Inputs: Inputs(temp), Output: staged, Sync: p.Request.Runner.Traits().OnCluster, Temp: temp,
		GroupRows: p.groupRows(), HeldRows: p.Request.HeldRows(), Pack: p.Request.GroupBytes > 0, Write: parts,
		Metadata: p.Metadata(added),
	}
}

// Slices returns the number of groups over which the rows of a table shard are spread, if the table has this many rows,
// and raw bytes that are neither ids nor sources.
func (p *Plan) Slices(rows, raw float64) int {
	source := 0
	for _, name := range p.Listing.Inputs.Names() {
		source = max(source, len(name))
	}
	return p.SlicesOf(rows*float64(rowBytes+2*(p.IDBytes+source)) + raw)
}

// RejectedSlices is Slices for the table rejected: it may have a row for each document, and has one for each unreadable
// record, with its bytes.
func (p *Plan) RejectedSlices() int {
	return p.Slices(float64(p.Documents+p.UnreadableRecords), float64(p.UnreadableBytes))
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

// groupRows returns how many bytes of rows, of all slices together, go to a group; more go to files.
func (p *Plan) groupRows() int64 {
	if p.Request.SliceRows > 0 {
		return 0
	}
	return cmp.Or(p.Request.GroupBytes, usualGroupRows)
}

// HeldRows returns how many bytes of rows each worker may hold, which leaves room for their sort keys.
func (r *Running) HeldRows() int { return r.Share(2, leastRows, usualSlice) }

// Share returns the usual number of bytes or, if there is a limit on memory, at most one of the given number of parts
// of Step, but never less than least.
func (r *Running) Share(parts, least, usual int) int {
	if step := r.Step(); step > 0 {
		return max(least, min(step/parts, usual))
	}
	return usual
}

// Step returns each worker's share of the memory, or 0 if there is no limit.
func (r *Running) Step() int { return int(r.Budget().Step(cmp.Or(r.Workers, runtime.GOMAXPROCS(0)))) }
