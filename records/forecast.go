package records

// Forecast is what is expected of a run, by a sample that is larger than the one that its parameters are chosen by.
type Forecast struct {
	// Sampled are the documents that were read, with texts of TextBytes; Whole: they are all there are.
	Sampled   int64 `json:"sampled_documents"`
	TextBytes int64 `json:"sampled_text_bytes"`
	Whole     bool  `json:"whole"`

	Documents int64 `json:"documents"`
	Bytes     int64 `json:"bytes"` // as listed

	// Lengths are quantiles of the sampled texts.
	Lengths []Length `json:"lengths"`
	// Scripts are those that letters are of, Encodings those that texts are in, both most frequent first.
	Scripts   []Share  `json:"scripts"`
	Encodings []Share  `json:"encodings"`
	Columns   []Column `json:"columns,omitempty"`

	// Curve is how likely the bands and rows find a pair.
	Curve *Curve `json:"curve,omitempty"`
	// Short are sources whose documents are too short for the shingles.
	Short []Short `json:"short,omitempty"`

	// Edges are those between neighbours in buckets; none if the method has no buckets, or the sample does not tell.
	Edges *Expected `json:"edges,omitempty"`
	// ReadAgain are the documents that have an edge, are copies or have some.
	ReadAgain int64 `json:"read_again,omitempty"`
	// Shuffled are the collections of the graph that travel between workers.
	Shuffled []Shuffled `json:"shuffled"`

	// Memory bounds what the process of the local runner takes, and Flowing is what flows between the steps at most at one
	// time. From half of the memory on it is spilled to files.
	Memory  int64 `json:"memory_bytes,omitempty"`
	Flowing int64 `json:"flowing_bytes"`
	// Workers are those that one job needs on a cluster; in phases fewer will do.
	Workers int64 `json:"cluster_workers"`
	// Kept: what the run has done stays if it fails, in so many bytes at most, for the same command to continue.
	Kept int64 `json:"kept_bytes,omitempty"`
	// Seconds follow from the CPU time that the sample took.
	Seconds float64 `json:"seconds"`
}

// Expected is a number with an interval of about two standard errors to either side.
type Expected struct {
	Low      int64 `json:"low"`
	Expected int64 `json:"expected"`
	High     int64 `json:"high"`
}

// Length is a quantile of the lengths of texts: a share of them is at most as long, in bytes and in words.
type Length struct {
	Quantile float64 `json:"quantile"`
	Bytes    int64   `json:"bytes"`
	Words    int64   `json:"words"`
}

// Share is a part of something.
type Share struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
}

// Column is one that the input has.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Short is a source, or a folder of files of one document each, of which many sampled documents are too short.
type Short struct {
	Source    string `json:"source"`
	Documents int64  `json:"documents"` // sampled
	// Equal are those of fewer shingles than 1/(1−t): no other set is t similar to theirs. Least is that number.
	Equal int64 `json:"only_equal"`
	Least int64 `json:"least_shingles"`
	// Word are those that one changed word takes below t: of e changed shingles of s, (s−e)/(s+e) are shared. LeastWord is
	// e·(1+t)/(1−t), the number of shingles from which on it does not; 0 for shingles of stop words, where e is not known.
	Word      int64 `json:"one_word"`
	LeastWord int64 `json:"least_shingles_one_word"`
	// Shingle is the largest value of --shingle by which the source is not listed. If there is none for the threshold
	// in force, half of the documents suit Shingle and the lower Threshold; "" if there is none, either.
	Shingle   string  `json:"shingle,omitempty"`
	Threshold float64 `json:"threshold,omitempty"`
	// Characters: most letters are of scripts in which words are single characters, so one changed word is one of these.
	Characters bool `json:"characters,omitempty"`
}

// Shuffled is a collection whose elements are grouped.
type Shuffled struct {
	Name  string `json:"name"` // as in the counter shuffled/NAME
	From  string `json:"from"` // the step that sends it
	To    string `json:"to"`
	Bytes int64  `json:"bytes"`
}
