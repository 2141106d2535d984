// Package diff compares two documents: it shows the words that differ, and computes measures of similarity and
// distance.
package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/cosine"
	"github.com/neardup/neardup/kernels/hamming"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/simhash"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/nearest"
)

// Config holds the settings of the job.
type Config struct {
	A string `arg:"" help:"First document: its id, or its place SOURCE@POSITION, in the input. Without an input, a text file; - is standard input."`
	B string `arg:"" help:"Second document, named in the same way."`
	records.Input

	Measures bool `help:"Print all measures: Jaccard similarity, containment, cosine and angle, L1, L2, Hamming distance of SimHash signatures, and edit distance." group:"Diff"`
	records.Shingles
	Weights Weights `enum:"${diffweights}" default:"${d_weights}" placeholder:"WEIGHT" help:"Weight of a shingle in vectors: 1 or tf (the number of its occurrences) (default: ${default})." group:"Diff"`
	Bits    int     `default:"${d_bits}" placeholder:"M" help:"Bits of the SimHash signatures, from 1 to 1024 (default: ${default})." group:"Diff"`
	Seed    uint64  `default:"${d_seed}" placeholder:"N" help:"Seed of the SimHash signatures (default: ${default})." group:"Diff"`
	job.Running

	// Content returns the content of a file.
	Content func(path string) io.Reader `kong:"-"`
}

// Weights are the weights that need no other documents.
type Weights vector.Weights

// Vars returns the values of variables in the tags of flags, with those of package job.
func Vars() map[string]string {
	vars := job.Vars()
	vars["diffweights"] = job.Names(vector.Unit, vector.TF)
	return vars
}

// mostTokens is the maximum number of tokens of a text for its edit distance, whose time is their product: at most
// about two seconds.
const mostTokens = 50_000

// byIDs reports whether documents are named by ids in an input.
func (c *Config) byIDs() bool { return len(c.Inputs) > 0 }

// asked returns the parsed settings, or a *job.UsageError.
func (c *Config) asked() (*job.Asked, error) {
	switch {
	case c.Bits < 1 || c.Bits > simhash.MaxBits:
		return nil, job.Usage("--bits %d: must be between 1 and %d", c.Bits, simhash.MaxBits)
	case c.A == "-" && c.B == "-":
		return nil, job.Usage("standard input cannot be both documents; give one of them as a file")
	}
	s := records.Default()
	s.Input, s.Shingles = c.Input, c.Shingles
	asked, err := job.Compile(s)
	if err == nil && c.byIDs() {
		err = c.Check(asked)
	}
	return asked, cmp.Or(err, c.Runner.CheckHere("diff"))
}

// Run compares the two documents. If the config is wrong, the error is a *job.UsageError.
func Run(ctx context.Context, c Config, launch job.Launch) (*records.Difference, error) {
	asked, err := c.asked()
	if err != nil {
		return nil, err
	}
	var a, b []byte
	var warnings []string
	if c.byIDs() {
		a, b, warnings, err = c.documents(ctx, asked, launch)
	} else if a, err = c.file(ctx, asked, c.A); err == nil {
		b, err = c.file(ctx, asked, c.B)
	}
	if err != nil {
		return nil, err
	}
	found := c.compare(asked, a, b)
	found.Warnings = warnings
	return found, nil
}

// file returns the text of a file.
func (c *Config) file(ctx context.Context, asked *job.Asked, path string) ([]byte, error) {
	options := asked.Decoding()
	content, err := io.ReadAll(io.LimitReader(job.Patient(ctx, c.Content(path)), int64(c.MaxDocBytes)+1))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, job.Usage("%s: there is no such file; give two text files or, after two ids, the input that contains "+
			"the documents", path)
	}
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > int64(c.MaxDocBytes) {
		return nil, job.Usage("%s: the text is larger than --max-doc-bytes %d; raise the limit", path, int64(c.MaxDocBytes))
	}
	text, err := options.Text(content)
	if err != nil {
		return nil, job.Usage("%s: %w", path, err)
	}
	return text, nil
}

// documents returns the texts of the two documents of the input. It reads the whole input once, unless places name
// both.
func (c *Config) documents(
	ctx context.Context, asked *job.Asked, launch job.Launch,
) (a, b []byte, warnings []string, err error) {
	err = job.InTempFolder(ctx, c.TempDir, func(temp string) error {
		plan, err := job.NewPlan(ctx, job.Request{Asked: asked, Running: c.Running, Unsigned: true, Strict: true}, temp)
		if err != nil {
			return err
		}
		if err := plan.Share(ctx, temp); err != nil {
			return err
		}
		defer plan.Forget(temp)
		warnings = plan.Warnings()
		texts := [2][]byte{}
		var sought []int
		for i, name := range []string{c.A, c.B} {
			if _, texts[i], err = job.AtPlace(ctx, plan, name); err != nil {
				return err
			}
			if texts[i] == nil {
				sought = append(sought, i)
			}
		}
		if err := c.lookUp(ctx, plan, launch, temp, sought, &texts); err != nil {
			return err
		}
		a, b = texts[0], texts[1]
		return nil
	})
	return a, b, warnings, err
}

// lookUp finds the documents that are named by their ids.
func (c *Config) lookUp(
	ctx context.Context, plan *job.Plan, launch job.Launch, temp string, sought []int, texts *[2][]byte,
) error {
	if len(sought) == 0 {
		return nil
	}
	names := [2]string{c.A, c.B}
	answer := func(i int) string { return storage.Join(temp, fmt.Sprintf("found-%d.json", i)) }
	pipeline, scope := beam.NewPipelineWithRoot()
	docs, rejected := plan.ReadAlone(scope, temp)
	for _, i := range sought {
		nearest.Lookup{Inputs: plan.Signature(temp).Inputs, ID: names[i], Answer: answer(i)}.Find(scope, docs, rejected...)
	}
	c.Tell(plan.Reads(job.First))
	if _, err := c.Execute(ctx, launch, pipeline, temp); err != nil {
		return err
	}
	for _, i := range sought {
		_, text, err := job.Document(ctx, plan, temp, answer(i), names[i])
		if err != nil {
			return err
		}
		texts[i] = text
	}
	return nil
}

// compare compares two texts.
func (c *Config) compare(asked *job.Asked, a, b []byte) *records.Difference {
	shingler := asked.Texts.New()
	shinglesA, shinglesB := shingler.Shingles(nil, a), shingler.Shingles(nil, b)
	weights := vector.Weights(c.Weights)
	vectorA, vectorB := weights.Of(append([]uint64{}, shinglesA...), nil),
		weights.Of(append([]uint64{}, shinglesB...), nil)
	setA, setB := shingle.Set(shinglesA), shingle.Set(shinglesB)
	tokensA := append([]uint64{}, shingler.Tokenise(a)...)
	tokensB := append([]uint64{}, shingler.Tokenise(b)...)

	d := &records.Difference{
		A:       records.Compared{Name: c.A, Bytes: len(a), Tokens: len(tokensA), Shingles: len(setA)},
		B:       records.Compared{Name: c.B, Bytes: len(b), Tokens: len(tokensB), Shingles: len(setB)},
		Example: records.Example{Pair: records.Pair{IDA: c.A, IDB: c.B}, TextA: string(a), TextB: string(b)},
		Shared:  setsim.Overlap(setA, setB),
	}
	d.Similarity = 1 - jaccard(setA, setB)
	if !c.Measures {
		return d
	}
	const sets, vectors, tokens = "shingle sets", "shingle vectors", "tokens"
	add := func(name, of string, metric bool, value float64) {
		d.Measures = append(d.Measures, records.Measure{Name: name, Of: of, Metric: metric, Value: &value})
	}
	refuse := func(name, of, why string) {
		d.Measures = append(d.Measures, records.Measure{Name: name, Of: of, Metric: true, Refused: why})
	}
	add("Jaccard similarity", sets, false, d.Similarity)
	add("Jaccard distance", sets, true, jaccard(setA, setB))
	add("containment, 1st in 2nd", sets, false, containment(setA, setB))
	add("containment, 2nd in 1st", sets, false, containment(setB, setA))
	add("cosine", vectors, false, cosine.Similarity(cosine.Dot(vectorA, vectorB),
		vectorA.SquaredLength(), vectorB.SquaredLength()))
	add("angle in degrees", vectors, true, angle(vectorA, vectorB))
	add("L1 distance", vectors, true, float64(manhattan(vectorA, vectorB)))
	add("L2 distance", vectors, true, euclidean(vectorA, vectorB))
	bits := fmt.Sprintf("SimHash signatures of %d bits", c.Bits)
	if len(setA) == 0 || len(setB) == 0 {
		refuse("Hamming distance", bits, "a text without a token has no signature")
	} else {
		signer := simhash.New(c.Bits, simhash.Normal, c.Seed)
		add("Hamming distance", bits, true, float64(hamming.Distance(signer.Sign(nil, vectorA), signer.Sign(nil, vectorB))))
	}
	if longer := max(len(tokensA), len(tokensB)); longer > mostTokens {
		refuse("edit distance", tokens, fmt.Sprintf("a text has %s tokens (maximum: %s), and time grows with "+
			"the square of the number of tokens",
			records.Count(int64(longer)), records.Count(mostTokens)))
	} else {
		add("edit distance", tokens, true, float64(editDistance(tokensA, tokensB)))
	}
	return d
}
