package records

// Study is the result of a study: how similar the documents of a small collection are under several settings.
type Study struct {
	Unit      string            `json:"unit"` // unit of shingles: char or word
	Language  string            `json:"language"`
	Settings  []StudySetting    `json:"settings"` // the first applies no optional step
	Documents []StudiedDocument `json:"documents"`
	Pairs     int64             `json:"pairs"`
	// Listed has the pairs in input order or, if they are too many, those most similar under the first setting, the most
	// similar first.
	Listed []StudiedPair `json:"listed"`
	// Copies are documents with the same words in the same order, and Groups documents connected by pairs of at least
	// Threshold similarity under the first setting: numbers of Documents, in input order.
	Copies    [][]int `json:"copies"`
	Groups    [][]int `json:"groups"`
	Threshold float64 `json:"threshold"`
	// Dropped means that of each group of Copies only the first document is compared.
	Dropped bool `json:"dropped,omitempty"`

	Signature string           `json:"signature,omitempty"`
	Errors    []SignatureError `json:"errors,omitempty"`
	Matrices  *StudyMatrices   `json:"matrices,omitempty"` // only if requested
	Warnings  []string         `json:"warnings,omitempty"`
}

// StudySetting is a setting by which texts are shingled, and how similar documents are under it.
type StudySetting struct {
	Name        string `json:"name"` // also of its column in the tables
	K           int    `json:"k"`
	Spaces      bool   `json:"spaces"`     // kept
	StopWords   bool   `json:"stop_words"` // kept
	Stemmed     bool   `json:"stemmed"`
	Case        bool   `json:"case"`        // kept
	Punctuation bool   `json:"punctuation"` // kept
	Replicas    bool   `json:"replicas"`    // count them: Σ min / Σ max instead of the share of distinct shingles

	Tokens   int64   `json:"tokens"`   // of all documents
	Removed  float64 `json:"removed"`  // share of the first setting's tokens that this one lacks
	Shingles int64   `json:"shingles"` // sum of the sizes of the documents' sets

	// Statistics of the similarities of all pairs, from 0 to 1. Quartiles are exact to 0.0001.
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

// SignatureError is the error of similarities estimated by signatures of a given length, under the first setting.
type SignatureError struct {
	Values int `json:"values"` // length of the signature
	// RMS is the root mean square error, and Expected the root of the mean of J(1−J)/n.
	RMS      float64 `json:"rms"`
	Expected float64 `json:"expected"`
	Bias     float64 `json:"bias"` // mean error
}

// StudyMatrices spells out the steps of MinHash with the signature classic, and the weights of words. Shingles are
// those of the first setting; x is the index of one in Shingles.
type StudyMatrices struct {
	// Documents are the numbers of the compared documents, which are the columns of all that follows.
	Documents []int `json:"documents"`
	// the dictionary, with the characteristic matrix
	Shingles  []MatrixShingle  `json:"shingles"`
	Functions []MatrixFunction `json:"functions"` // h, one for each value of a signature
	// by document, the minimum of each function; none without a shingle
	Signatures [][]uint64 `json:"signatures"`
	Rows       int        `json:"rows"` // per band
	// Labels are the values of a band, joined by _, and Buckets their CRC-32, by document and band.
	Labels  [][]string   `json:"labels"`
	Buckets [][]string   `json:"buckets"`
	Words   []MatrixWord `json:"words"` // sorted
}

// MatrixShingle is a row of the characteristic matrix.
type MatrixShingle struct {
	Text        string `json:"text"`
	Documents   int    `json:"documents"` // number of documents that have it
	Occurrences int    `json:"occurrences"`
	In          []int  `json:"in"` // by document: 1 if it has the shingle, else 0
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
	Documents int       `json:"documents"` // number of documents that have it
	IDF       float64   `json:"idf"`
	TF        []int     `json:"tf"`     // occurrences, by document
	TFIDF     []float64 `json:"tf_idf"` // by document
}
