package dedup

import (
	"cmp"
	"context"
	"errors"
	"math"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/usage"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/frequencies"
	"github.com/neardup/neardup/transforms/signature"
)

const (
	// A survey reads about surveyBytes of the input, as listed, or fewer, so that a plan costs a third of the run. It
	// holds some 100 bytes for each document and 8 for each key.
	surveyBytes     = 12 << 20
	surveyDocuments = 1 << 20
	surveyKeys      = 16 << 20
	surveyShingles  = 64 << 20
	// textsBytes limits the texts that are kept.
	textsBytes = 16 << 20
	// typedRecords is how many records, the first ones, determine the types of columns.
	typedRecords = 300
	// surveyColumns is the maximum number of columns listed: JSON may have other keys in each record.
	surveyColumns = 1000
)

// survey is the basis of a forecast: the sampled documents with their keys, and facts about their texts.
type survey struct {
	plan    *Plan
	sampled source.Sampled
	whole   bool // the sample is the whole input

	documents []surveyed
	keyer     lsh.Keyer // nil if documents have no keys
	keys      []uint64  // document after document; each has keyer.Len()

	text      int64   // bytes of all texts
	bytes     []int32 // by document, as are words and sources; here the size of its text
	words     []int32
	sources   []int32          // indexes into names
	names     []string         // of sources
	texts     []job.TextsKept  // by source, while the sample has less than textsBytes
	scripts   map[string]int64 // number of letters
	encodings map[string]int64 // number of texts
	columns   []records.Column

	reading, signing float64 // CPU seconds that reading took, and the work on documents
}

// surveyed holds what determines how many bytes a document sends, and where.
type surveyed struct {
	key    blocks.Key
	copied uint64 // a hash of what copies have in common
	set    uint64 // a hash of the set of features
	words  int32  // size of the features in 8-byte words; 0 if the document is not compared
	size   int32  // size of the features, as a verifier measures it
	id     int32  // bytes
	hasID  bool
	text   int32 // bytes
	block  int32 // number of the block in which the document is signed
}

// surveyBytes returns how many bytes of the input are surveyed: all, or as many as a survey can hold.
func (p *Plan) surveyBytes() int64 {
	if p.Config.SurveyBytes > 0 {
		return p.Config.SurveyBytes
	}
	total := p.Listing.Inputs.Bytes()
	keys := p.Documents * int64(max(1, p.Choice.Bands, p.Pieces.Count))
	share := min(1, surveyBytes/float64(max(1, total)), surveyDocuments/float64(p.Documents), surveyKeys/float64(keys),
		surveyShingles/float64(max(1, p.Shingles)))
	return int64(math.Ceil(share * float64(total)))
}

// takeSurvey reads a sample of the input.
func (p *Plan) takeSurvey(ctx context.Context) (*survey, error) {
	s := &survey{plan: p, scripts: map[string]int64{}, encodings: map[string]int64{}}
	sign, err := s.signer(ctx)
	if err != nil {
		return nil, err
	}
	traits, err := p.traits(ctx)
	if err != nil {
		return nil, err
	}
	var (
		counted   = newLetters()
		words     = p.Spec.OfWords().New()
		typed     = map[string][]string{}
		numbers   = map[string]int32{}
		filled    int
		block     int32
		last      = -1
		columnErr error
		read      int // documents with listed columns
		keys      []uint64
	)
	begun, cpu := time.Now(), cpuSeconds()
	var used time.Duration
	bytes := p.surveyBytes()
	s.whole = bytes >= p.Listing.Inputs.Bytes()
	s.sampled, err = source.Survey(ctx, p.Listing.Inputs, p.Source("").Options, bytes, func(d *source.Seen) {
		if p.Request.Limit > 0 && int64(len(s.documents)) >= p.Request.Limit {
			return
		}
		began := time.Now()
		defer func() { used += time.Since(began) }()
		// A block ends where source.Read would end it.
		filled += len(d.Text) + len(d.ID)
		if d.Key.File() != last || filled >= blocks.BlockBytes {
			block++
			filled, last = 0, d.Key.File()
		}
		doc := traits(d)
		doc.key, doc.id, doc.hasID, doc.text, doc.block = d.Key, int32(len(d.ID)), d.HasID, int32(len(d.Text)), block
		s.documents = append(s.documents, doc)
		if s.keyer != nil {
			if doc.words > 0 {
				keys = s.keyer.Keys(keys, sign(d.Text))
			} else {
				keys = make([]uint64, s.keyer.Len())
			}
			s.keys = append(s.keys, keys...)
		}

		s.text += int64(len(d.Text))
		s.bytes, s.words = append(s.bytes, int32(len(d.Text))), append(s.words, int32(len(words.Tokenise(d.Text))))
		words.Trim()
		name := d.File.Source
		if p.Listing.Inputs.OneDocument(d.Key.File()) {
			name = path.Dir(name)
		}
		number, known := numbers[name]
		if !known {
			number = int32(len(s.names))
			numbers[name], s.names = number, append(s.names, name)
		}
		s.sources = append(s.sources, number)
		if int(number) == len(s.texts) {
			s.texts = append(s.texts, nil)
		}
		if s.text < textsBytes {
			s.texts[number].Add(d.Text)
		}
		counted.add(d.Text)
		s.encodings[encodingOf(d)]++
		if p.Request.Index != nil && p.Listing.Inputs.IsReference(d.Key) {
			return // users know nothing of an index's columns
		}
		if read++; read <= typedRecords && columnErr == nil {
			columnErr = s.addColumns(ctx, typed, d)
		}
	})
	share := float64(used) / float64(time.Since(begun)) // of wall time, which other processes stretch alike
	cpu = cpuSeconds() - cpu
	s.reading, s.signing = (1-share)*cpu, share*cpu
	s.scripts = counted.byScript()
	if n := s.sampled.NotUTF8; n > 0 {
		s.encodings[cmp.Or(s.sampled.Encoding, "not UTF-8")] += n
	}
	for i := range s.columns {
		s.columns[i].Type = strings.Join(typed[s.columns[i].Name], " or ")
	}
	return s, errors.Join(err, columnErr)
}

func cpuSeconds() float64 {
	cpu, _ := usage.Process()
	return cpu
}

// signer returns a function that signs texts, and sets the keyer; it returns nil if documents have no keys, or if the
// survey cannot make them. The family Classic needs a dictionary of all documents, so FSS stands in for it: its
// signatures agree with the same probability.
func (s *survey) signer(ctx context.Context) (func(text []byte) []uint64, error) {
	p := s.plan
	if p.Complete || p.Request.Same != "" || p.Request.NeedsFrequencies() {
		return nil, nil
	}
	params := p.Signature("")
	if params.Family == signature.Classic {
		params.Family, params.Banding.AsText = signature.FSS, false
		for params.Banding.Signature = 1; params.Banding.Signature < p.Choice.Bands*p.Choice.Rows; {
			params.Banding.Signature *= 2
		}
	}
	s.keyer = params.Keyer()
	return params.Signer(ctx)
}

// traits returns a function that hashes what a document has in common with its copies, and measures its features.
func (p *Plan) traits(ctx context.Context) (func(d *source.Seen) surveyed, error) {
	features := (*shingle.Shingler).Set
	if !p.Request.NeedsFrequencies() {
		var err error
		if features, err = frequencies.TextFeatures(ctx, p.Verifier("")); err != nil {
			return nil, err
		}
	}
	reader, v := copies.NewReader(p.Spec, features), p.Verifier("").New()
	return func(d *source.Seen) surveyed {
		defer reader.Trim()
		reader.Apart(uint64(d.Key), d.Values)
		if p.Request.Same != "" {
			key, ok := reader.Key(p.Request.Same, d.Text, d.Ends)
			if !ok {
				return surveyed{}
			}
			return surveyed{copied: short(key), words: 1}
		}
		t, features := reader.Read(d.Text, d.Ends)
		words := int32(len(verifier.Own(v, features)))
		return surveyed{copied: short(t.Tokens), set: short(t.Set), words: words, size: int32(v.Size(features))}
	}, nil
}

// short returns half of a hash. The probability that any two documents of a survey share it by chance is 2^-25.
func short(sum hash.Sum128) uint64 { return sum.Hi }

// encodingOf names the encoding in which a text was read.
func encodingOf(d *source.Seen) string {
	switch {
	case d.File.Encoding != "" && !reading.ByContent(d.File.Encoding):
		return d.File.Encoding
	case !slices.ContainsFunc(d.Text, func(b byte) bool { return b >= utf8.RuneSelf }):
		return "ASCII"
	case utf8.Valid(d.Text):
		return "UTF-8"
	default:
		return "not UTF-8" // such texts are read nevertheless
	}
}

// addColumns adds the columns of a document. A column whose values differ in type has all their types.
func (s *survey) addColumns(ctx context.Context, typed map[string][]string, d *source.Seen) error {
	if last := len(s.documents) - 2; last >= 0 && s.documents[last].key.File() == d.Key.File() &&
		d.File.Format != "json" && d.File.Format != "jsonl" {
		return nil // only in JSON do columns differ between the records of a file
	}
	found, err := d.Columns(ctx, s.plan.Reading())
	for _, column := range found {
		if _, known := typed[column.Name]; !known {
			if len(s.columns) == surveyColumns {
				continue
			}
			s.columns = append(s.columns, records.Column{Name: column.Name})
		}
		if !slices.Contains(typed[column.Name], column.Type) {
			typed[column.Name] = append(typed[column.Name], column.Type)
		}
	}
	return err
}
