package records

// Forecast is what a run is expected to do, based on a larger sample than its parameters are chosen by.
type Forecast struct {
	// Sampled is the number of documents that were read, with texts of TextBytes; Whole means that these are all.
	Sampled   int64 `json:"sampled_documents"`
	TextBytes int64 `json:"sampled_text_bytes"`
	Whole     bool  `json:"whole"`

	Documents int64 `json:"documents"`
	Bytes     int64 `json:"bytes"` // as listed

	// Lengths are quantiles of the sampled texts.
	Lengths []Length `json:"lengths"`
	// Scripts are the scripts of letters, and Encodings the encodings of texts, the most frequent first.
	Scripts   []Share  `json:"scripts"`
	Encodings []Share  `json:"encodings"`
	Columns   []Column `json:"columns,omitempty"`

	// Curve is the probability that the bands and rows find a pair.
	Curve *Curve `json:"curve,omitempty"`
	// Short lists sources whose documents are too short for the shingles.
	Short []Short `json:"short,omitempty"`

	// Edges is the number of edges between neighbours in buckets; nil if the method has no buckets, or the sample cannot
	// tell.
	Edges *Expected `json:"edges,omitempty"`
	// ReadAgain is the number of documents that have an edge, are copies, or have copies.
	ReadAgain int64 `json:"read_again,omitempty"`
	// Shuffled lists the collections of the graph that workers exchange.
	Shuffled []Shuffled `json:"shuffled"`

	// Memory is the limit of the local runner's process, and Flowing the maximum that flows between the steps at one time.
	// Beyond half of the memory, it is spilled to files.
	Memory  int64 `json:"memory_bytes,omitempty"`
	Flowing int64 `json:"flowing_bytes"`
	// Workers is the number that one job needs on a cluster; a run in phases needs fewer.
	Workers int64 `json:"cluster_workers"`
	// Kept is the maximum size of the work that the run keeps if it fails, for the same command to continue.
	Kept int64 `json:"kept_bytes,omitempty"`
	// Appended is the maximum number of bytes that --append adds to the index.
	Appended int64 `json:"appended_bytes,omitempty"`
	// Seconds is an estimate from the CPU time of the sample.
	Seconds float64 `json:"seconds"`
}

// Expected is a number with an interval of about two standard errors on either side.
type Expected struct {
	Low      int64 `json:"low"`
	Expected int64 `json:"expected"`
	High     int64 `json:"high"`
}

// Length is a quantile of the lengths of texts: that share of the texts is at most as long, in bytes and in words.
type Length struct {
	Quantile float64 `json:"quantile"`
	Bytes    int64   `json:"bytes"`
	Words    int64   `json:"words"`
}

// Share is the share of a kind.
type Share struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
}

// Column is a column of the input.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Short is a source, or a folder of files with one document each, in which many sampled documents are too short.
type Short struct {
	Source    string `json:"source"`
	Documents int64  `json:"documents"` // number of sampled documents
	// Equal counts those with fewer than Least = 1/(1−t) shingles: no other set is t similar to theirs.
	Equal int64 `json:"only_equal"`
	Least int64 `json:"least_shingles"`
	// Word counts those that one changed word takes below t: if it changes e of s shingles, the similarity is (s−e)/(s+e).
	// LeastWord is e·(1+t)/(1−t), the minimum number of shingles that avoids this; 0 for shingles of stop words, where e
	// is not known.
	Word      int64 `json:"one_word"`
	LeastWord int64 `json:"least_shingles_one_word"`
	// Shingle is the largest value of --shingle for which the source is not listed. If there is none for the threshold in
	// force, half of the documents suit Shingle with the lower Threshold; "" if there is none of these either.
	Shingle   string  `json:"shingle,omitempty"`
	Threshold float64 `json:"threshold,omitempty"`
	// Characters means that most letters are of scripts in which words are single characters, so that one changed word is
	// one character.
	Characters bool `json:"characters,omitempty"`
}

// Shuffled is a collection whose elements are grouped.
type Shuffled struct {
	Name  string `json:"name"` // as in the counter shuffled/NAME
	From  string `json:"from"` // the step that sends it
	To    string `json:"to"`
	Bytes int64  `json:"bytes"`
}
