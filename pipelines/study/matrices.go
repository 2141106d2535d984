package study

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/classic"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// The maximum size of a matrix that a person can read.
const (
	mostColumns  = 20
	mostShingles = 10_000
)

// matrices reads the documents that are compared again, and spells out the steps of MinHash on them.
func (r *Job) matrices(ctx context.Context) (*records.StudyMatrices, error) {
	var compared []int
	var keys []blocks.Key
	shingles := int64(0)
	for i, doc := range r.documents {
		if !r.dropped[i] {
			compared, keys = append(compared, i), append(keys, doc.Key)
			shingles += doc.Sizes[0]
		}
	}
	if len(compared) > mostColumns || shingles > mostShingles {
		return nil, job.Usage("--show-matrices: the input has %s with %s shingles, but at most %d documents "+
			"with %s shingles can be shown; use fewer (--limit %d) or shorter documents, or --unit word",
			records.Plural(len(compared), "document"), records.Count(shingles), mostColumns, records.Count(mostShingles),
			mostColumns)
	}
	var texts [][]byte
	err := source.Lookup(ctx, r.plan.Listing.Inputs, keys, r.plan.Reading(),
		func(doc blocks.Document) { texts = append(texts, slices.Clone(doc.Text)) })
	if err != nil {
		return nil, err
	}
	spec := r.params.Settings[0].Text
	m := &records.StudyMatrices{Documents: compared, Rows: r.config.Rows, Shingles: characteristic(count(spec, texts))}
	spec.Shingle = shingle.Config{Kind: shingle.Word, K: 1}
	m.Words = weighted(count(spec, texts))
	if len(m.Shingles) == 0 {
		return m, nil
	}
	functions, err := classic.New(r.config.Bands*r.config.Rows, uint64(len(m.Shingles)), r.plan.Request.Seed)
	if err != nil {
		return nil, job.Usage("--show-matrices with %s of %s: %w; use lower --bands and --rows, or shorter shingles",
			records.Plural(r.config.Bands, "band"), records.Plural(r.config.Rows, "row"), err)
	}
	m.Functions = written(functions, r.config.Bands*r.config.Rows, len(m.Shingles))
	sign(m)
	return m, nil
}

// counted is a shingle with its number of occurrences in each text.
type counted struct {
	text string
	in   []int
}

// of returns how many texts have the shingle, and its occurrences in all of them.
func (c *counted) of() (having, occurrences int) {
	for _, n := range c.in {
		having += min(n, 1)
		occurrences += n
	}
	return having, occurrences
}

// count returns the shingles of texts, ordered by hash, as signature.Dictionary numbers them.
func count(spec shingle.Spec, texts [][]byte) (all []*counted) {
	byHash := map[uint64]*counted{}
	for column, text := range texts {
		shingler := spec.New()
		var distinct []*counted // in the order of Texts
		for _, h := range shingler.Shingles(nil, text) {
			if byHash[h] == nil {
				byHash[h] = &counted{in: make([]int, len(texts))}
			}
			c := byHash[h]
			if c.in[column]++; c.in[column] == 1 {
				distinct = append(distinct, c)
			}
		}
		for shingle := range shingler.Texts(text) {
			distinct[0].text, distinct = string(shingle), distinct[1:]
		}
	}
	for _, h := range slices.Sorted(maps.Keys(byHash)) {
		all = append(all, byHash[h])
	}
	return all
}

// characteristic returns the rows of the characteristic matrix.
func characteristic(shingles []*counted) (rows []records.MatrixShingle) {
	for _, c := range shingles {
		row := records.MatrixShingle{Text: c.text}
		row.Documents, row.Occurrences = c.of()
		for _, n := range c.in {
			row.In = append(row.In, min(n, 1))
		}
		rows = append(rows, row)
	}
	return rows
}

// weighted returns words with the weights that dedup gives features (vector.TFIDF). Documents without a word do not
// count.
func weighted(words []*counted) (all []records.MatrixWord) {
	var documents uint64
	if len(words) > 0 {
		for column := range words[0].in {
			if slices.ContainsFunc(words, func(c *counted) bool { return c.in[column] > 0 }) {
				documents++
			}
		}
	}
	for _, c := range words {
		having, _ := c.of()
		w := records.MatrixWord{Text: c.text, Documents: having, TF: c.in}
		w.IDF = float64(vector.InverseFrequency(documents, uint64(having))) / (1 << vector.FractionBits)
		for _, n := range c.in {
			w.TFIDF = append(w.TFIDF, float64(n)*w.IDF)
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b records.MatrixWord) int { return cmp.Compare(a.Text, b.Text) })
	return all
}

// written returns n functions, each with its values at 0 … shingles−1.
func written(s *classic.Signer, n, shingles int) (functions []records.MatrixFunction) {
	for i := range n {
		var f records.MatrixFunction
		f.A, f.B, f.C = s.Function(i)
		for x := range shingles {
			f.Values = append(f.Values, s.Value(i, uint64(x)))
		}
		functions = append(functions, f)
	}
	return functions
}

// sign fills in the signatures by their definition, from the characteristic matrix and the functions, and their bands.
func sign(m *records.StudyMatrices) {
	banding := lsh.Banding{Signature: len(m.Functions), Bands: len(m.Functions) / m.Rows, Rows: m.Rows, AsText: true}
	for column := range m.Documents {
		var signature []uint64
		var labels, buckets []string
		for _, f := range m.Functions {
			var values []uint64
			for x, s := range m.Shingles {
				if s.In[column] == 1 {
					values = append(values, f.Values[x])
				}
			}
			if len(values) > 0 {
				signature = append(signature, slices.Min(values))
			}
		}
		if signature != nil {
			for band, key := range banding.Keys(nil, signature) {
				labels, buckets = append(labels, banding.Label(signature, band)), append(buckets, banding.Bucket(key))
			}
		}
		m.Signatures, m.Labels, m.Buckets = append(m.Signatures, signature),
			append(m.Labels, labels), append(m.Buckets, buckets)
	}
}
