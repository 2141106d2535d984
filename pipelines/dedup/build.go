package dedup

import (
	"cmp"
	"context"
	"path"
	"runtime"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/kernels/minhash/classic"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/minhash/salted"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/candidates"
	"github.com/neardup/neardup/transforms/components"
	"github.com/neardup/neardup/transforms/decide"
	"github.com/neardup/neardup/transforms/recall"
	"github.com/neardup/neardup/transforms/signature"
	"github.com/neardup/neardup/transforms/verify"
)

// Files of a run's temporary folder.
const (
	inputsFile   = "inputs.json"
	ledgerFile   = "ledger.jsonl"
	exceededFile = "exceeded.json"
	readFile     = "read.jsonl"
	// The dictionary of the signature classic: its offsets, and with a number the parts.
	dictionaryFile = "dictionary"
)

// Build builds the pipeline, as docs/architecture.md draws it. temp is the run's temporary
// folder, where the shared inputs are; the ledger will be there when the job is complete.
func Build(s beam.Scope, p *Plan, output, temp string) {
	inputs := path.Join(temp, inputsFile)
	reading := p.reading(inputs)
	writing := sink.Params{Inputs: inputs, Output: output, Temp: temp, RowFiles: p.Config.SliceRows > 0, Write: p.Config.Write, Metadata: p.Metadata()}

	docs := source.Read(s, reading)
	compared, notCompared := p.compared(s, docs.Blocks, inputs)
	bands, copies, noToken := signature.Sign(s, compared, p.Signature(temp))
	members := components.Connect(s, p.components(inputs), append(copies, candidates.Buckets(s, bands))...)
	again := source.Fetch(s, members, reading)
	comparing := p.verify(inputs, temp)
	features := verify.Sets(s, again, p.Text, comparing)
	found := verify.Jaccard(s, features, comparing)
	rows := decide.Survivors(s, features.Profiles, found.Pairs, found.Links, decide.Params{Inputs: inputs, Components: p.Config.Cluster == "components", Clusters: p.Config.writes("clusters")})

	rejected := sink.Table(s, "rejected", p.slices(1), writing, append(notCompared, docs.Rejected, noToken)...)
	facts := []flow.Facts{
		docs.Facts,
		found.Facts,
		rejected,
		sink.Table(s, "pairs", p.slices(p.pairsPerDocument()), writing, rows.Pairs),
		sink.Table(s, "clusters", p.slices(1), writing, rows.Clusters),
		sink.Table(s, "removed", p.slices(1), writing, rows.Removed),
	}
	if p.Config.writes("corpus") {
		facts = append(facts, sink.Corpus(s, writing, p.Config.Source(), docs.Dropped, rows.Dropped))
	}
	if p.Config.MeasureRecall > 0 {
		measuring := p.measuring(temp)
		sample := source.Fetch(s, measuring.Choose(s, compared), reading)
		facts = append(facts, measuring.Keep(s, sample, found.Crowded))
	}
	sink.FailOnUnreadable(s, path.Join(temp, exceededFile), sink.Limit(p.Config.MaxRejected), docs.Facts, rejected)
	sink.Ledger(s, path.Join(temp, ledgerFile), facts...)
}

// buildMeasurement builds the pipeline that compares the sample, which that of Build has written,
// with all documents.
func buildMeasurement(s beam.Scope, p *Plan, temp string) {
	_, docs, _ := p.read(s, temp)
	p.measuring(temp).Join(s, docs)
}

// CheckDictionary says whether a dictionary that was built has shingles enough.
func (p *Plan) CheckDictionary(ctx context.Context, temp string) error {
	params := p.Signature(temp)
	if err := params.Check(ctx); err != nil {
		return usage("--signature classic with %d bands of %d rows: %w; give fewer --bands and --rows, shorter shingles, or --signature fss", p.Choice.Bands, p.Choice.Rows, err)
	}
	return nil
}

// Compared reads the documents that are to be compared, as blocks; rejected are the rows of others.
// When the job is complete, Unreadable says what could not be read.
func (p *Plan) Compared(s beam.Scope, temp string) (compared flow.Documents, rejected []flow.Rows[records.Rejected]) {
	docs, compared, rejected := p.read(s, temp)
	sink.Ledger(s, path.Join(temp, readFile), docs.Facts)
	return compared, append(rejected, docs.Rejected)
}

// aCluster is about how many workers a cluster has that does not say so.
const aCluster = 64

// reading says what is read, and how wide it is to be spread.
func (p *Plan) reading(inputs string) source.Params {
	workers := cmp.Or(p.Config.Workers, runtime.GOMAXPROCS(0))
	if p.Config.OnCluster() {
		workers = cmp.Or(p.Config.Workers, aCluster)
	}
	return source.Params{Inputs: inputs, Options: p.Config.Source(), Workers: workers}
}

func (p *Plan) read(s beam.Scope, temp string) (docs source.Documents, compared flow.Documents, rejected []flow.Rows[records.Rejected]) {
	inputs := path.Join(temp, inputsFile)
	docs = source.Read(s, p.reading(inputs))
	compared, rejected = p.compared(s, docs.Blocks, inputs)
	return docs, compared, rejected
}

// Unreadable says how many records are, and which is the first, after a job of Compared; "" if all
// could be read.
func (p *Plan) Unreadable(temp string) (string, error) {
	facts, err := ledger(path.Join(temp, readFile))
	if err != nil {
		return "", err
	}
	var sum sink.ReadTotals
	for _, fact := range facts {
		if err := sum.Add(fact); err != nil {
			return "", err
		}
	}
	if sum.Unreadable == 0 {
		return "", nil
	}
	return sum.String(), nil
}

// compared leaves out documents of too few words; rejected are their rows.
func (p *Plan) compared(s beam.Scope, docs flow.Documents, inputs string) (long flow.Documents, rejected []flow.Rows[records.Rejected]) {
	if p.Config.MinWords == 0 {
		return docs, nil
	}
	long, short := signature.LongEnough(s, docs, inputs, p.Text.Normalize, p.Config.MinWords)
	return long, []flow.Rows[records.Rejected]{short}
}

func (p *Plan) measuring(temp string) recall.Params {
	return recall.Params{
		Inputs: path.Join(temp, inputsFile), Text: p.Text, Threshold: p.Threshold,
		Sample: p.Config.MeasureRecall, Temp: temp,
	}
}

// Signature says how documents are signed; temp is the run's temporary folder.
func (p *Plan) Signature(temp string) signature.Params {
	return signature.Params{
		Inputs: path.Join(temp, inputsFile), Text: p.Text, Family: signature.Family(p.Config.Signature), Dictionary: p.Dictionary(temp),
		Signature: p.Choice.Signature, Bands: p.Choice.Bands, Rows: p.Choice.Rows,
		Seed: p.Config.Seed, Exact: p.Config.Method == "exact", ShardBits: p.shardBits(),
	}
}

func (p *Plan) components(inputs string) components.Params {
	return components.Params{
		Inputs: inputs, Parts: p.parts(), Documents: p.Documents,
		Limit: cmp.Or(p.Config.ConnectDocuments, components.DefaultLimit),
	}
}

// Dictionary is where the signature classic finds the numbers of shingles.
func (p *Plan) Dictionary(temp string) signature.Dictionary {
	ranges, groups := p.dictionaryGroups()
	return signature.Dictionary{Path: path.Join(temp, dictionaryFile), Ranges: ranges, Groups: groups}
}

func (p *Plan) verify(inputs, temp string) verify.Params {
	var banding verify.Banding
	if p.Config.estimates() {
		banding = verify.Banding{Signature: p.Choice.Signature, Bands: p.Choice.Bands, Rows: p.Choice.Rows, Seed: p.Config.Seed}
	}
	return verify.Params{
		Inputs: inputs, Threshold: p.Threshold, CellBytes: p.Config.cellBytes(), ChunkBytes: cmp.Or(p.Config.CellBytes, verify.DefaultCellBytes), PairBudget: p.Config.PairBudget,
		WorkBytes: verify.DefaultWorkBytes, Groups: p.componentGroups(), Banding: banding, Temp: temp,
	}
}

// Formats are the ids of what decides output bytes; signature is one of those that --signature
// names.
func Formats(signature string) records.Formats {
	return records.Formats{Text: shingle.FormatID, Signature: signatureIDs[signature], Tables: records.Tables}
}

var signatureIDs = map[string]string{"fss": fss.FormatID, "classic": classic.FormatID, "salted": salted.FormatID}

// Metadata is what each Parquet file says of how it came to be.
func (p *Plan) Metadata() map[string]string {
	ids := Formats(p.Config.Signature)
	return map[string]string{
		"measure":                  "jaccard",
		"neardup.threshold":        strconv.FormatFloat(p.Threshold.Float(), 'g', -1, 64),
		"neardup.shingle":          p.Text.Shingle.String(),
		"neardup.normalize":        p.Text.Normalize.String(),
		"neardup.method":           p.Config.Method,
		"neardup.cluster":          p.Config.Cluster,
		"neardup.keep":             p.Config.Keep,
		"neardup.signature":        p.Config.Signature,
		"neardup.seed":             strconv.FormatUint(p.Config.Seed, 10),
		"neardup.bands":            strconv.Itoa(p.Choice.Bands),
		"neardup.rows":             strconv.Itoa(p.Choice.Rows),
		"neardup.format.text":      ids.Text,
		"neardup.format.signature": ids.Signature,
		"neardup.format.tables":    ids.Tables,
	}
}
