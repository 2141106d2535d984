package job

// Read is one pass of a pipeline over its input, or a part of it.
type Read struct {
	// Counted is the namespace of the counter "stored", which counts the bytes read, as listed.
	Counted string
	// Step is the prefix of the names of its stages.
	Step string
	// Bytes is the maximum that it reads.
	Bytes int64
}

// Reads of pipelines, without their bytes.
var (
	First  = Read{Counted: "read", Step: "source.Read"}   // of all documents
	Second = Read{Counted: "fetch", Step: "source.Fetch"} // of documents that are compared
	Third  = Read{Counted: "corpus", Step: "sink.Corpus"} // of inputs that are copied to the corpus
)

// Reads returns the given reads with their bytes in this plan.
func (p *Plan) Reads(of ...Read) (reads []Read) {
	for _, read := range of {
		read.Bytes = p.Stored(read)
		reads = append(reads, read)
	}
	return reads
}

// Stored returns the maximum number of bytes, as listed, that a read passes over.
func (p *Plan) Stored(read Read) int64 {
	in := p.Listing.Inputs
	if read.Step == Third.Step {
		return in.BytesOfSplits() - in.BytesOfReferences()
	}
	return in.BytesOfSplits()
}

// Tell passes to Planned what each pipeline reads.
func (r *Running) Tell(pipelines ...[]Read) {
	if r.Planned != nil {
		r.Planned(pipelines)
	}
}
