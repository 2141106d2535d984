package job

// Read is one time that a pipeline goes through its input, or a part of it.
type Read struct {
	// Counted is the namespace of the counter "stored", of bytes as listed that it has gone through.
	Counted string
	// Step is what the names of its stages begin with.
	Step string
	// Bytes are as many as it goes through at most.
	Bytes int64
}

// The reads of pipelines, without their bytes.
var (
	First  = Read{Counted: "read", Step: "source.Read"}   // of all documents
	Second = Read{Counted: "fetch", Step: "source.Fetch"} // of those that are compared
	Third  = Read{Counted: "corpus", Step: "sink.Corpus"} // of what the corpus is a copy of
)

// Reads returns the reads of a pipeline of the plan.
func (p *Plan) Reads(of ...Read) (reads []Read) {
	for _, read := range of {
		read.Bytes = p.Stored(read)
		reads = append(reads, read)
	}
	return reads
}

// Stored is how many bytes as listed a read goes through at most.
func (p *Plan) Stored(read Read) int64 {
	in := p.Listing.Inputs
	if read.Step == Third.Step {
		return in.BytesOfSplits() - in.BytesOfReferences()
	}
	return in.BytesOfSplits()
}

// Tell tells Planned what each pipeline reads.
func (r *Running) Tell(pipelines ...[]Read) {
	if r.Planned != nil {
		r.Planned(pipelines)
	}
}
