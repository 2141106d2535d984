package job

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/minhash/classic"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/minhash/salted"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/simhash"
	"github.com/neardup/neardup/kernels/wordstep"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/frequencies"
	"github.com/neardup/neardup/transforms/signature"
)

// Names of files in a run's temporary folder.
const (
	inputsFile   = "inputs"
	readFile     = "read.jsonl"
	exceededFile = "exceeded.json"
	// The dictionary of the signature classic: its offsets and, with a number appended, its parts.
	dictionaryFile = "dictionary"
	// The document frequencies of shingles: the total and, with a number appended, their parts.
	frequenciesFile = "frequencies"
)

// Inputs returns the path of the shared inputs in a run's temporary folder.
func Inputs(temp string) string { return storage.Join(temp, inputsFile) }

// indexFile is the name of the file of the shared index.Lookup.
const indexFile = "index.json"

// Lookup returns the path of the shared index.Lookup in a run's temporary folder, or "" if documents are not looked up
// by the keys of an index.
func (p *Plan) Lookup(temp string) string {
	if !p.keyed() {
		return ""
	}
	return storage.Join(temp, indexFile)
}

// keyed reports whether references are found by the keys of an index, so that the first read leaves them out.
func (p *Plan) keyed() bool { return p.Request.Index != nil && p.Request.Index.HasKeys() }

// ToRead returns the part of splits that the first read reads: inputs only, if references are found by keys. The zero
// Range means all splits.
func (p *Plan) ToRead(splits blocks.Range) blocks.Range {
	if !p.keyed() {
		return splits
	}
	of := p.Listing.Inputs.SplitsOfInputs()
	if splits == (blocks.Range{}) {
		return of
	}
	return blocks.Range{First: max(splits.First, of.First), End: max(splits.End, of.First)}
}

// Share writes to the folder temp what the workers of a pipeline need to know of the plan.
func (p *Plan) Share(ctx context.Context, temp string) error {
	if p.keyed() {
		if err := storage.WriteShared(ctx, p.Lookup(temp), p.Request.Index.Lookup()); err != nil {
			return err
		}
	}
	return p.Listing.Inputs.Share(ctx, Inputs(temp))
}

// KeptIn returns the folder for files that one pipeline leaves for the next.
func (p *Plan) KeptIn(temp string) string { return cmp.Or(p.Kept, temp) }

// Forget drops this process's copies of shared files.
func (p *Plan) Forget(temp string) {
	p.Listing.Inputs.Forget(Inputs(temp))
	storage.Forget(p.Lookup(temp))
	p.Dictionary(temp).Forget()
	p.Frequencies(temp).Forget()
}

// defaultClusterWorkers is the assumed number of workers of a cluster that does not tell it.
const defaultClusterWorkers = 64

// Source returns what is read, and how widely to spread it.
func (p *Plan) Source(temp string) source.Params {
	workers := cmp.Or(p.Request.Workers, runtime.GOMAXPROCS(0))
	if p.Request.Runner.Traits().OnCluster {
		workers = cmp.Or(p.Request.Workers, defaultClusterWorkers)
	}
	return source.Params{Inputs: Inputs(temp), Options: p.reading, Workers: workers,
		Spread: p.Listing.Inputs.MaySpread(workers)}
}

// Read reads the documents of splits. compared are those to be compared, rejected the rows of others.
func (p *Plan) Read(
	s beam.Scope, temp string, splits blocks.Range,
) (docs source.Documents, compared flow.Documents, rejected []flow.Rows[records.Rejected]) {
	params := p.Source(temp)
	params.Splits, params.List = p.ToRead(splits), p.Request.Writes(output.Documents)
	docs = source.Read(s, params)
	rejected = []flow.Rows[records.Rejected]{docs.Rejected}
	if p.Request.MinWords == 0 {
		return docs, docs.Blocks, rejected
	}
	compared, short := signature.LongEnough(s, docs.Blocks, Inputs(temp), p.Spec, p.Request.MinWords)
	return docs, compared, append(rejected, short)
}

// ReadAlone is Read for a pipeline without a ledger: when it is complete, Unreadable says what could not be read.
func (p *Plan) ReadAlone(s beam.Scope, temp string) (compared flow.Documents, rejected []flow.Rows[records.Rejected]) {
	docs, compared, rejected := p.Read(s, temp, blocks.Range{})
	sink.Ledger(s, storage.Join(temp, readFile), docs.Facts)
	return compared, rejected
}

// FailOnUnreadable ends the job if more records are unreadable than the run accepts; Exceeded then says how many.
// written are the facts of the table rejected.
func (p *Plan) FailOnUnreadable(s beam.Scope, temp string, read, written flow.Facts) {
	sink.FailOnUnreadable(s, Inputs(temp), storage.Join(temp, exceededFile), p.Request.MaxRejected, read, written)
}

// Exceeded returns what a job read that FailOnUnreadable has ended, else nil.
func Exceeded(ctx context.Context, temp string) *sink.ReadTotals {
	read, err := storage.Shared[sink.ReadTotals](ctx, storage.Join(temp, exceededFile))
	if err != nil {
		return nil
	}
	return read
}

// NothingReadError ends a run that could not read a single record.
type NothingReadError struct{ Reason string }

func (e *NothingReadError) Error() string { return e.Reason }

// Status returns the exit status.
func (*NothingReadError) Status() int { return 4 }

// Unreadable returns, after a pipeline of ReadAlone, how many records are unreadable and which is the first, or "" if
// all could be read. If none could, it returns a *NothingReadError.
func (p *Plan) Unreadable(ctx context.Context, temp string) (string, error) {
	facts, err := Ledger(ctx, storage.Join(temp, readFile))
	if err != nil {
		return "", err
	}
	var sum sink.ReadTotals
	for _, fact := range facts {
		if err := sum.Add(fact); err != nil {
			return "", err
		}
	}
	switch {
	case sum.Records == 0:
		return "", &NothingReadError{"the input contains no records; use a different input"}
	case sum.Unreadable == 0:
		return "", nil
	case sum.Unreadable == sum.Records:
		return "", &NothingReadError{sum.String() + "; fix the input, or use a different one"}
	}
	return sum.String(), nil
}

// ReadWarnings returns Warnings, with the result of Unreadable.
func (p *Plan) ReadWarnings(ctx context.Context, temp string) ([]string, error) {
	warnings := p.Warnings()
	unreadable, err := p.Unreadable(ctx, temp)
	if unreadable != "" {
		warnings = append(warnings, unreadable)
	}
	return warnings, err
}

// Ledger returns the facts that a pipeline left in a file.
func Ledger(ctx context.Context, file string) ([]blocks.Fact, error) {
	f, err := storage.OpenFile(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("the pipeline ended without its totals: %w", err)
	}
	defer f.Close()
	return sink.ReadLedger(f)
}

// Manifest lists the files that facts report.
func Manifest(facts []blocks.Fact) *records.Manifest {
	m := &records.Manifest{Version: 1}
	for _, f := range facts {
		if f.SHA256 != "" {
			m.Files = append(m.Files, records.ManifestFile{
				Path: f.Name, Bytes: f.Bytes, Rows: f.Counts[blocks.CountRows], SHA256: f.SHA256,
			})
		}
	}
	slices.SortFunc(m.Files, func(a, b records.ManifestFile) int { return strings.Compare(a.Path, b.Path) })
	return m
}

// Signature returns how documents are signed; temp is the run's temporary folder.
func (p *Plan) Signature(temp string) signature.Params {
	banding := p.Choice.Banding
	banding.AsText = p.Request.NeedsDictionary()
	return signature.Params{
		SimHash: p.simHash(temp), Pieces: p.Pieces,
		Inputs: Inputs(temp), Text: p.Spec, Family: p.Request.Family, Dictionary: p.Dictionary(temp),
		Banding: banding, Seed: p.Request.Seed, Same: p.Request.Same, ShardBits: p.Layout.ShardBits,
		HashShards: p.Layout.HashShards,
		Whole:      p.keyed(),
	}
}

// Dictionary returns where the signature classic finds the numbers of shingles.
func (p *Plan) Dictionary(temp string) signature.Dictionary {
	groups := p.Layout.ShingleGroups
	file := frequencies.File{Path: storage.Join(p.KeptIn(temp), dictionaryFile), Ranges: groups, Least: 1}
	return signature.Dictionary{File: file, Groups: groups}
}

// PreparedPrefix begins the names of the files that Prepare writes.
func (p *Plan) PreparedPrefix() string {
	if p.Request.NeedsDictionary() {
		return dictionaryFile
	}
	return frequenciesFile
}

// Prepare reads all documents in a pipeline of its own, if that must precede signing or comparing them.
func (p *Plan) Prepare(ctx context.Context, launch Launch, temp string) ([]records.Stage, error) {
	if !p.Request.Prepares() {
		return nil, nil
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	_, compared, _ := p.Read(scope, temp, blocks.Range{})
	p.Preparing(scope, temp, compared)
	ended, err := p.Request.Execute(ctx, launch, pipeline, temp)
	if err != nil {
		return nil, err
	}
	return ended.Stages, p.CheckDictionary(ctx, temp)
}

// Preparing builds the dictionary of docs and signed, or counts the document frequencies of shingles, if the main
// pipeline needs them.
func (p *Plan) Preparing(s beam.Scope, temp string, docs flow.Documents, signed ...flow.Documents) {
	switch {
	case p.Request.NeedsDictionary():
		p.Dictionary(temp).Build(s, p.Spec, append(signed, docs)...)
	case p.Request.NeedsFrequencies():
		p.Frequencies(temp).Build(s, p.Spec.InOnePart(), docs)
	}
}

// CheckDictionary returns a *UsageError if a dictionary was built and has too few shingles.
func (p *Plan) CheckDictionary(ctx context.Context, temp string) error {
	if !p.Request.NeedsDictionary() {
		return nil
	}
	params := p.Signature(temp)
	if err := params.Check(ctx); err != nil {
		return Usage("--signature classic with %d bands of %d rows: %w; use lower --bands and --rows, shorter shingles, or "+
			"--signature fss", p.Choice.Bands, p.Choice.Rows, err)
	}
	return nil
}

// Frequencies returns where the weights tf-idf find the document frequencies of shingles.
func (p *Plan) Frequencies(temp string) frequencies.File {
	return frequencies.File{Path: storage.Join(p.KeptIn(temp), frequenciesFile), Ranges: p.Layout.ShingleGroups, Least: 2}
}

// Formats returns the ids of the formats that determine output bytes.
func Formats(text shingle.Spec, family signature.Family) records.Formats {
	return records.Formats{Text: text.FormatID(), Signature: signatureIDs[family], Tables: records.Tables}
}

// DefaultFormats returns the formats of the default flags.
func DefaultFormats() records.Formats { return Formats(shingle.Spec{}, signature.FSS) }

var signatureIDs = map[signature.Family]string{
	signature.FSS: fss.FormatID, signature.Classic: classic.FormatID, signature.Salted: salted.FormatID,
	signature.SimHash: simhash.FormatID,
}

// Metadata returns what a Parquet file says about its origin, including what the job adds.
func (p *Plan) Metadata(added map[string]string) map[string]string {
	ids := Formats(p.Spec, p.Request.Family)
	all := map[string]string{
		"measure":               measures[p.Request.Measure],
		"neardup.shingle":       p.Spec.Shingle.String(),
		"neardup.normalize":     p.Spec.Normalize.String(),
		"neardup.format.text":   ids.Text,
		"neardup.format.tables": ids.Tables,
	}
	if p.Spec.Words != (wordstep.Steps{}) {
		all["neardup.tokens"] = p.Spec.Words.String()
	}
	if !p.Request.Unsigned {
		maps.Copy(all, map[string]string{
			"neardup.threshold": strconv.FormatFloat(p.Threshold.Float(), 'g', -1, 64),
			"neardup.bands":     strconv.Itoa(p.Choice.Bands),
			"neardup.rows":      strconv.Itoa(p.Choice.Rows),
		})
	}
	if !p.Request.Unsigned || p.Request.Family == signature.SimHash {
		maps.Copy(all, map[string]string{
			"neardup.signature":        string(p.Request.Family),
			"neardup.seed":             strconv.FormatUint(p.Request.Seed, 10),
			"neardup.format.signature": ids.Signature,
		})
	}
	maps.Copy(all, p.comparison())
	maps.Copy(all, added)
	return all
}
