package records

// Study is how similar the documents of a small collection are under several settings.
type Study struct {
	Unit      string            `json:"unit"` // what shingles are made of: char or word
	Language  string            `json:"language"`
	Settings  []StudySetting    `json:"settings"` // the first changes nothing that can be left as it is
	Documents []StudiedDocument `json:"documents"`
	Pairs     int64             `json:"pairs"`
	// Listed are the pairs in input order or, of more than there is room
	// for, the most similar ones under the first setting, these first.
	Listed []StudiedPair `json:"listed"`
	// Copies are documents with the same words in the same order, and Groups are documents connected by pairs of at least
	// Threshold similarity under the first setting: numbers of Documents, in input order.
	Copies    [][]int `json:"copies"`
	Groups    [][]int `json:"groups"`
	Threshold float64 `json:"threshold"`
	// Dropped says that of Copies only the first are among the pairs.
	Dropped bool `json:"dropped,omitempty"`

	Signature string           `json:"signature,omitempty"`
	Errors    []SignatureError `json:"errors,omitempty"`
	Matrices  *StudyMatrices   `json:"matrices,omitempty"` // if they are asked for
	Warnings  []string         `json:"warnings,omitempty"`
}

// StudySetting is one way to make shingles of texts, and how similar documents are by it.
type StudySetting struct {
	Name        string `json:"name"` // of its column in the tables
	K           int    `json:"k"`
	Spaces      bool   `json:"spaces"`     // kept
	StopWords   bool   `json:"stop_words"` // kept
	Stemmed     bool   `json:"stemmed"`
	Case        bool   `json:"case"`        // kept
	Punctuation bool   `json:"punctuation"` // kept
	Replicas    bool   `json:"replicas"`    // counted: Σ min / Σ max instead of the share of distinct shingles

	Tokens   int64   `json:"tokens"`   // of all documents
	Removed  float64 `json:"removed"`  // share of the tokens under the first setting that this one does not have
	Shingles int64   `json:"shingles"` // sum of the sizes of the documents' sets

	// Of the similarities of all pairs, from 0 to 1. Quartiles are exact to 0.0001.
	Mean       float64 `json:"mean"`
	Quartile1  float64 `json:"quartile_1"`
	Median     float64 `json:"median"`
	Quartile3  float64 `json:"quartile_3"`
	Percentile float64 `json:"percentile_99"`
	Largest    float64 `json:"largest"`
}

// StudiedDocument is a document of a study.
type StudiedDocument struct {
	ID       string `json:"id"`
	Source   string `json:"source"`
	Position int64  `json:"position"`
	Path     string `json:"path"` // of its file
}

// StudiedPair is a pair of documents, by their numbers, and its similarity from 0 to 1 under each setting.
type StudiedPair struct {
	A            int       `json:"a"`
	B            int       `json:"b"`
	Similarities []float64 `json:"similarities"`
}

// SignatureError is how far the similarities that signatures of a length estimate are from the true ones, under the
// first setting.
type SignatureError struct {
	Values int `json:"values"` // of a signature
	// RMS is the root of the mean squared error, and Expected that of the mean of J(1−J)/n.
	RMS      float64 `json:"rms"`
	Expected float64 `json:"expected"`
	Bias     float64 `json:"bias"` // mean error
}

// StudyMatrices are the steps of MinHash with the signature classic, and the weights of words, written out. Shingles
// are those of the first setting; x is the number of one, its place in Shingles.
type StudyMatrices struct {
	// Documents are those that were compared, by their numbers. They are the columns of all that follows.
	Documents []int `json:"documents"`
	// the dictionary; whether a document has one is the characteristic matrix
	Shingles  []MatrixShingle  `json:"shingles"`
	Functions []MatrixFunction `json:"functions"` // h, one for each value of a signature
	// by document, the least value of each function; none without a shingle
	Signatures [][]uint64 `json:"signatures"`
	Rows       int        `json:"rows"` // of a band
	// Labels are the values of a band, joined by _, and Buckets are their CRC-32, by document and band.
	Labels  [][]string   `json:"labels"`
	Buckets [][]string   `json:"buckets"`
	Words   []MatrixWord `json:"words"` // in their order
}

// MatrixShingle is a row of the characteristic matrix.
type MatrixShingle struct {
	Text        string `json:"text"`
	Documents   int    `json:"documents"` // that have it
	Occurrences int    `json:"occurrences"`
	In          []int  `json:"in"` // 1 for each document that has it, else 0
}

// MatrixFunction is h(x) = (a·x + b) mod c, a permutation of 0 … c−1.
type MatrixFunction struct {
	A      uint64   `json:"a"`
	B      uint64   `json:"b"`
	C      uint64   `json:"c"`
	Values []uint64 `json:"values"` // h(x) by x
}

// MatrixWord is a word with its weights.
type MatrixWord struct {
	Text      string    `json:"text"`
	Documents int       `json:"documents"` // that have it
	IDF       float64   `json:"idf"`
	TF        []int     `json:"tf"`     // occurrences, by document
	TFIDF     []float64 `json:"tf_idf"` // by document
}
