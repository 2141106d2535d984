// Package sink writes the results of a job: tables as Parquet (Table), the corpus without the removed documents
// (Corpus), and the ledger from which the launcher takes its totals (Ledger). Names are deterministic and files are
// whole or absent, so a retry or a second worker changes nothing.
package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

func init() {
	beam.RegisterFunction(underOneKey)
	beam.RegisterFunction(noFact)
	flow.Register[everyFn]()
	flow.Register[ledgerFn]()
	flow.Register[failOnUnreadableFn]()
}

// Params tell the workers where outputs go.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	// Output is the folder of tables and corpus. Sync syncs each file: the launcher cannot if the workers are other
	// machines.
	Output output.Folder
	Sync   bool
	// Temp is the folder for rows that are too many for one group. If rows are in slices, up to GroupRows bytes of each
	// group stay out of it.
	Temp      string
	GroupRows int64
	// HeldRows is how many bytes of rows each worker holds in memory; 0: 16 MiB. Results do not depend on it.
	HeldRows int
	// Paragraphs says that whole paragraphs are cut, so the paragraphs around a cut stay apart.
	Paragraphs bool
	// Pack compresses rows on their way to slices.
	Pack bool
	// Write names the tables to write.
	Write []output.Part
	// Stored says that the files belong to an index, from which single rows are read.
	Stored bool
	// Metadata are the key-value pairs that each Parquet file carries.
	Metadata map[string]string
}

// write writes the file name of the output.
func (p Params) write(ctx context.Context, name string, write func(io.Writer) error) (records.ManifestFile, error) {
	return p.Output.Write(ctx, name, p.Sync, write)
}

// files says where to sort the rows of a table.
func (p Params) files(name string) sorted.Params {
	return sorted.Params{Temp: p.Temp, Name: name, Held: p.HeldRows}
}

func (p Params) writes(table output.Part) bool { return slices.Contains(p.Write, table) }

// underOneKey gives each value the key 0.
func underOneKey(value []byte, emit func(int64, []byte)) { emit(0, value) }

// What a group of everyFn is of.
const (
	ofShards  = "shards" // of a table
	ofBatches = "batches"
	ofFiles   = "files"
)

// everyFn emits an empty block for each group of a kind, so that its files are written even if it has no rows.
type everyFn struct {
	Inputs string
	Of     string
	Some   blocks.Range // of batches
}

func (f *everyFn) ProcessElement(ctx context.Context, _ []byte, emit func(int64, []byte)) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	switch f.Of {
	case ofShards:
		for shard := range in.Shards {
			emit(int64(shard), []byte{})
		}
	case ofFiles:
		for file := in.References(); file < in.Len(); file++ {
			emit(int64(file), []byte{})
		}
	case ofBatches:
		for batch := range in.Batches() {
			if f.Some.Has(batch) {
				emit(batch, []byte{})
			}
		}
	}
	return nil
}

// Ledger writes all facts as JSON lines to the file path, for ReadLedger. Once the file exists, the job is complete. If
// there may be no facts at all, NoFact makes Ledger write the file.
func Ledger(s beam.Scope, path string, facts ...flow.Facts) {
	s = s.Scope("sink.Ledger")
	beam.ParDo0(s, &ledgerFn{Path: path}, gatherAll(s, facts))
}

// NoFact returns an empty fact, which makes Ledger write its file even if there are no others.
func NoFact(s beam.Scope) flow.Facts { return flow.Facts(beam.ParDo(s, noFact, beam.Impulse(s))) }

// noFact stands between Impulse and Flatten: Flink's runner loses data that goes directly from one to the other.
func noFact(_ []byte, emit func([]byte)) { emit([]byte{}) }

// gatherAll groups all facts under one key.
func gatherAll(s beam.Scope, facts []flow.Facts) beam.PCollection {
	var all []beam.PCollection
	for _, f := range facts {
		all = append(all, beam.PCollection(f))
	}
	return beam.GroupByKey(s, beam.ParDo(s, underOneKey, beam.Flatten(s, all...)))
}

type ledgerFn struct{ Path string }

func (f *ledgerFn) ProcessElement(ctx context.Context, _ int64, facts func(*[]byte) bool) error {
	_, err := storage.WriteBelow(ctx, storage.Dir(f.Path), f.Path, func(w io.Writer) error {
		var line []byte
		for facts(&line) {
			if len(line) == 0 {
				continue
			}
			if _, err := fmt.Fprintf(w, "%s\n", line); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// ReadLedger returns the facts that Ledger wrote, by kind and name. It adds up the facts of reading, of which there may
// be millions, to one with the name and note of the first split with a note, and likewise those of reading references.
func ReadLedger(r io.Reader) (facts []blocks.Fact, err error) {
	read := map[blocks.FactKind]*blocks.Fact{}
	var totals ReadTotals
	err = EachFact(r, func(fact blocks.Fact) error {
		if fact.Kind != blocks.FactRead && fact.Kind != blocks.FactReference {
			facts = append(facts, fact)
			return nil
		}
		sum := read[fact.Kind]
		if sum == nil {
			sum = &blocks.Fact{Kind: fact.Kind, Counts: map[string]int64{}}
			read[fact.Kind] = sum
		}
		sum.Bytes += fact.Bytes
		for name, n := range fact.Counts {
			sum.Counts[name] += n
		}
		for _, encoding := range fact.Encodings {
			sum.Encodings = records.AddEncoding(sum.Encodings, encoding)
		}
		return totals.Add(fact)
	})
	if err != nil {
		return nil, err
	}
	if inputs := read[blocks.FactRead]; inputs != nil {
		inputs.Name, inputs.Note = strconv.Itoa(totals.split), totals.First
	}
	for _, sum := range read {
		facts = append(facts, *sum)
	}
	slices.SortFunc(facts, func(a, b blocks.Fact) int { return a.Compare(b) })
	return facts, nil
}

// EachFact calls do with each fact that Ledger wrote, and returns the first error.
func EachFact(r io.Reader, do func(blocks.Fact) error) error {
	decoder := json.NewDecoder(r)
	for {
		var fact blocks.Fact
		if err := decoder.Decode(&fact); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := do(fact); err != nil {
			return err
		}
	}
}

// ReadTotals are the sums of the facts of source.Read.
type ReadTotals struct {
	Records, Unreadable int64
	First               string // the first unreadable record, and why it is unreadable

	Without int64 // documents with none of the text columns

	// NoColumn are the sources of such documents. Whole is the number of documents in sources where no document has a text
	// column.
	NoColumn []records.NoColumn `json:",omitempty"`
	Whole    int64              `json:",omitempty"`

	split int // the split of First
}

func (t ReadTotals) String() string {
	return records.Unreadable(t.Unreadable, t.Records, "record", t.First)
}

// Add adds the fact of a split. Facts may come in any order.
func (t *ReadTotals) Add(fact blocks.Fact) error {
	if fact.Kind != blocks.FactRead {
		return nil
	}
	t.Records += fact.Counts[blocks.CountRecords]
	t.Unreadable += fact.Counts[blocks.CountUnreadable]
	t.Without += fact.Counts[blocks.CountNoColumn]
	split, err := strconv.Atoi(fact.Name)
	if fact.Note != "" && (t.First == "" || split < t.split) {
		t.split, t.First = split, fact.Note
	}
	return err
}

// Limit is the maximum number of records that are unreadable or of a source without a text column: Records, or Percent
// of all records, whichever is more.
type Limit struct {
	Records int64
	Percent float64
}

// Exceeded reports whether t exceeds the limit.
func (l Limit) Exceeded(t ReadTotals) bool {
	n := t.Unreadable + t.Whole
	return n > l.Records && float64(n) > l.Percent/100*float64(t.Records)
}

// Totals adds up facts to ReadTotals that include the sources without a text column.
type Totals struct {
	in      *blocks.Inputs
	sum     ReadTotals
	lacking source.Lacking
}

// NewTotals returns the Totals of no facts.
func NewTotals(in *blocks.Inputs) *Totals { return &Totals{in: in} }

// Add adds a fact. Facts may come in any order.
func (t *Totals) Add(fact blocks.Fact) error {
	return errors.Join(t.sum.Add(fact), t.lacking.AddFact(t.in, fact))
}

// Sum returns the totals of all facts added.
func (t *Totals) Sum() ReadTotals {
	t.sum.NoColumn, t.sum.Whole = t.lacking.Sources(t.in)
	return t.sum
}

// errUnreadable ends a job with too many unreadable records.
var errUnreadable = errors.New("too many unreadable records")

// FailOnUnreadable ends the job with errUnreadable if more records than limit are unreadable or of sources without a
// text column, once everything is read and the rejected rows are written. It leaves the ReadTotals in the file path.
// inputs is the path of the shared blocks.Inputs, read are the facts of source.Read, and written those of the table
// rejected.
func FailOnUnreadable(s beam.Scope, inputs, path string, limit Limit, read, written flow.Facts) {
	s = s.Scope("sink.FailOnUnreadable")
	beam.ParDo0(s, &failOnUnreadableFn{Inputs: inputs, Path: path, Limit: limit},
		gatherAll(s, []flow.Facts{read, written}))
}

type failOnUnreadableFn struct {
	Inputs, Path string
	Limit        Limit
}

func (f *failOnUnreadableFn) ProcessElement(ctx context.Context, _ int64, facts func(*[]byte) bool) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	totals := Totals{in: in}
	var line []byte
	for facts(&line) {
		var fact blocks.Fact
		if err := json.Unmarshal(line, &fact); err != nil {
			return err
		}
		if err := totals.Add(fact); err != nil {
			return err
		}
	}
	sum := totals.Sum()
	if !f.Limit.Exceeded(sum) {
		return nil
	}
	if err := storage.WriteShared(ctx, f.Path, sum); err != nil {
		return err
	}
	return errUnreadable
}

// emitFact emits the fact of a file that was written.
func emitFact(emit func([]byte), kind blocks.FactKind, file records.ManifestFile, counts map[string]int64) error {
	line, err := json.Marshal(blocks.Fact{
		Kind: kind, Name: file.Path, Bytes: file.Bytes, SHA256: file.SHA256, Counts: counts,
	})
	if err == nil {
		emit(line)
	}
	return err
}
