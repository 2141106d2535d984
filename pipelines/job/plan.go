package job

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/edit"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/minhash/salted"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/simhash"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/sets"
	"github.com/neardup/neardup/transforms/signature"
)

// Request holds the arguments of NewPlan.
type Request struct {
	*Asked
	Running
	// Unsigned means that documents are not signed, so no bands and rows are chosen.
	Unsigned bool
	// Layout is the layout of an earlier run that this one continues; nil: the plan chooses one.
	Layout *Layout
	// Reread means that the run reads again what the plan reads.
	Reread bool
	// Strict makes it an error if the input is most likely in another encoding than the one set, or if a source lacks the
	// text column.
	Strict bool
	// Index is the index that inputs are compared with, in place of Against, or nil.
	Index *index.Index
}

// NewRequest returns the request of a run that writes an output, or only plans it.
func NewRequest(asked *Asked, running Running, dryRun bool) Request {
	running.GroupBytes = cmp.Or(running.GroupBytes, running.Runner.Traits().GroupBytes)
	return Request{Asked: asked, Running: running, Strict: asked.MaxRejected == sink.Limit{} && !dryRun}
}

// Reading returns how the inputs are read; stdin is the file that holds standard input.
func (r *Request) Reading(stdin string) source.Options {
	o := r.Decoding()
	o.Rank, o.Room, o.SplitBytes = r.Rank, r.Budget().Reading(), r.SplitBytes
	o.SplitRows = cmp.Or(r.GroupBytes, mostMembers) / memberBytes
	o.Include, o.Exclude = r.Include, r.Exclude
	o.AllowEmpty, o.Limit, o.Stdin = r.AllowEmpty, r.Limit, stdin
	return o
}

// Layout determines to which groups documents send their data: a run that continues another must send the rest to the
// same groups.
type Layout struct {
	Documents     int64 `json:"documents"`   // the number it was chosen for
	SplitBytes    int64 `json:"split_bytes"` // 0: the default
	SplitRows     int64 `json:"split_rows"`
	ShardBits     int   `json:"shard_bits"`     // each band's entries are spread over 1<<ShardBits groups
	HashShards    int   `json:"hash_shards"`    // number of groups for the hashes of documents
	ShingleGroups int   `json:"shingle_groups"` // number of groups for shingles, by hash and by document
	Waves         int   `json:"waves"`          // maximum number of waves that the input is read in
}

// Plan is a Request and what follows from it and a sample of the input.
type Plan struct {
	Request Request
	Listing *source.Listing
	// Documents is their estimated number, by which groups are sized.
	Documents int64
	// Shingles is the estimated sum of the sizes of all sets.
	Shingles int64
	// Sizes counts the sampled sets by size, and Texts holds the first of their texts.
	Sizes     map[int]int64
	Texts     TextsKept
	Threshold setsim.Threshold
	Spec      shingle.Spec
	// Complete means that all pairs are compared, as requested or because candidates would be nearly all pairs.
	Complete bool
	Choice   lsh.Choice
	// Pieces are the pieces of SimHash signatures, if they are searched by pieces.
	Pieces simhash.Pieces
	// IDBytes is the average size of an id.
	IDBytes int
	// UnreadableRecords is their estimated number, and UnreadableBytes the estimated size of what the table rejected
	// quotes of them.
	UnreadableRecords, UnreadableBytes int64

	// Alike is the number of sampled documents that are copies of an earlier one without being identical, and Symbols the
	// number of those that differ from it in symbols.
	Alike, Symbols int64

	// Idle lists the patterns of Keep that match no file, and Unprotecting those of Protect.
	Idle, Unprotecting []string

	// Encodings lists the encodings detected in files of the sample.
	Encodings []records.FileEncoding

	// Sampled says how many records of the sample are unreadable, and what is wrong with the first; "" if none is.
	Sampled string

	Layout Layout

	// Kept is the folder for files that outlast a failed run; "" if there is none.
	Kept string

	reading source.Options
	// missing warns of text columns that the sample does not have, or is "". referencesMissing does so for references, and
	// warns of their columns of rules.
	missing           string
	referencesMissing []string
	// references is the estimated number of references.
	references int64
	looks      []string // warnings about texts that look like something else
	// NoColumn lists sources in which no sampled document has a text column.
	NoColumn []records.NoColumn
}

// NewPlan lists the input, samples it and chooses the parameters. The plan depends only on the request and the input.
// Standard input, if it is an input, is copied to temp, the run's temporary folder. When ctx is done, NewPlan returns
// even if a read of standard input is stuck.
func NewPlan(ctx context.Context, r Request, temp string) (*Plan, error) {
	plan, err := await(ctx, interruptGrace, func() (*Plan, error) {
		stdin := storage.Join(temp, "stdin")
		if err := spoolStdin(ctx, &r, stdin); err != nil {
			return nil, err
		}
		return makePlan(ctx, r, temp, stdin)
	})
	if err == nil {
		slog.Info("plan made", plan.attributes()...)
		if !r.Unsigned {
			slog.Debug("keys chosen", "reason", plan.Choice.Reason)
		}
	}
	return plan, err
}

// attributes returns what the log says about a plan, with bands and rows if documents are signed.
func (p *Plan) attributes() []any {
	all := []any{"files", p.Listing.Inputs.Len(), "bytes", p.Listing.Inputs.Bytes(), "documents", p.Documents}
	if p.Choice.Signature > 0 {
		all = append(all, "bands", p.Choice.Bands, "rows", p.Choice.Rows, "signature", p.Choice.Signature)
	}
	return all
}

// spoolStdin copies standard input, which is read more than once, to a file.
func spoolStdin(ctx context.Context, in *Request, file string) error {
	if !slices.Contains(in.Inputs, "-") {
		return nil
	}
	if in.Format == "" {
		return Usage("cannot tell the format of standard input; use --format")
	}
	_, err := storage.WriteBelow(ctx, storage.Dir(file), file, func(w io.Writer) error {
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, Patient(ctx, in.Stdin), make([]byte, 1<<20)) // the capacity of a pipe
		return err
	})
	return err
}

// listed returns a plan that has only the listing of the input.
func listed(ctx context.Context, r Request, stdin string) (p *Plan, err error) {
	p = &Plan{Request: r, Complete: r.Method == Complete, Sizes: map[int]int64{}, Threshold: r.Threshold, Spec: r.Texts,
		reading: r.Reading(stdin)}
	p.Spec.MaxBytes = int64(r.MaxDocBytes)
	if r.Index != nil {
		p.reading = ofIndex(p.reading, r.Index)
		p.reading.Sought = r.Index.HasKeys()
	} else if p.reading.References, err = references(ctx, r.Against); err != nil {
		return nil, err
	}
	p.Listing, err = source.Plan(ctx, r.Inputs, p.reading)
	if gone := (*index.DamagedError)(nil); err != nil && r.Index != nil && errors.As(r.Index.Missing(ctx), &gone) {
		return nil, gone
	}
	if err != nil {
		return nil, r.unfit(err)
	}
	return p, nil
}

// Follow returns a plan with what an earlier run on the same input chose and counted. It reads no document.
func Follow(ctx context.Context, r Request, earlier *records.Run) (*Plan, error) {
	r.Led(earlier.Chosen.Rule)
	p, err := listed(ctx, r, "")
	if err != nil {
		return nil, err
	}
	p.order()
	was := earlier.Chosen
	p.Documents = max(1, earlier.Counts.Records-earlier.Counts.Unreadable)
	p.Choice = lsh.Choice{
		Banding:        lsh.Banding{Signature: was.Signature, Bands: was.Bands, Rows: was.Rows},
		ExpectedRecall: was.ExpectedRecall, BackgroundEdges: was.BackgroundEdges, Reason: was.Reason,
	}
	p.Pieces.Count, p.Alike, p.Symbols = was.Pieces, was.Copies, was.Symbols
	p.Complete = earlier.Recall != nil && earlier.Recall.Exact
	if r.Same != "" {
		p.Threshold = identical
	}
	p.UnreadableRecords, p.UnreadableBytes = earlier.Counts.Unreadable, earlier.Counts.Unreadable*usualUnreadable
	p.IDBytes = usualID
	return p, nil
}

// identical is the threshold for copies.
var identical = setsim.Threshold{Num: 1, Den: 1}

// The assumed bytes of an id, and of an unreadable record.
const (
	usualID         = 64
	usualUnreadable = 4 << 10
)

// PlanIndex returns a plan that reads documents of the request's index and signs texts as it did.
func PlanIndex(ctx context.Context, r Request) (*Plan, error) {
	p, err := listed(ctx, r, "")
	if err != nil {
		return nil, err
	}
	p.order()
	return p, p.choose(nil, 0)
}

// OfSegment lists the documents of an index with one segment, and returns the plan by which they are read and signed.
func (p *Plan) OfSegment(ctx context.Context, x *index.Index) (_ *Plan, err error) {
	of := *p
	of.Request.Index = x
	of.reading = ofIndex(of.reading, x)
	if of.Listing, err = source.Plan(ctx, nil, of.reading); err != nil {
		return nil, err
	}
	of.Listing.Inputs.Settle(x.Recalled)
	return &of, nil
}

// ofIndex has references be the documents of an index.
func ofIndex(o source.Options, x *index.Index) source.Options {
	o.References, o.ReferenceFields, o.Indexed = x.Paths(), segmentFields, true
	return o
}

// segmentFields are the columns of records.Stored.
var segmentFields = codec.Fields{Text: []string{"text"}, ID: "name"}

// order sorts files by the order of preference.
func (p *Plan) order() {
	if p.Request.Index != nil {
		p.Listing.Inputs.Settle(p.Request.Index.Recalled)
	}
	if in := p.Listing.Inputs.Inputs; in.Len() > 0 { // without files, no pattern can match
		p.Idle, p.Unprotecting = prefer(in, p.Request.Prefer), protect(in, p.Request.Protected)
		for _, key := range p.Request.Rank {
			p.Idle = append(p.Idle, unmatched(in, key.Globs)...)
		}
	}
}

// makePlan makes a plan with each rule that may lead, and returns the one whose candidates cost least.
func makePlan(ctx context.Context, r Request, temp, stdin string) (best *Plan, failed error) {
	leads := r.leads()
	if len(leads) < 2 {
		return planned(ctx, r, temp, stdin)
	}
	for _, lead := range leads {
		of := *r.Asked
		of.leadBy(lead)
		r.Asked = &of
		p, err := planned(ctx, r, temp, stdin)
		if err != nil {
			failed = cmp.Or(failed, err)
		} else if best == nil || best.Choice.Percolates && !p.Choice.Percolates ||
			best.Choice.Percolates == p.Choice.Percolates && p.Choice.Cost() < best.Choice.Cost() {
			best = p
		}
	}
	if best == nil {
		return nil, failed
	}
	return best, nil
}

func planned(ctx context.Context, r Request, temp, stdin string) (*Plan, error) {
	p, err := listed(ctx, r, stdin)
	if err != nil {
		return nil, err
	}
	if r.Reread {
		if err := p.spoolCompressed(ctx, temp); err != nil {
			return nil, err
		}
	}
	sets, different, sampled, references, err := p.sample(ctx)
	if refused := (*source.InspectError)(nil); errors.As(err, &refused) {
		return nil, r.unfit(err)
	}
	if err != nil {
		return nil, err
	}
	if err := p.checkSample(sampled.Sampled, references.Sampled); err != nil {
		return nil, err
	}
	p.Encodings = sampled.Encodings
	records.SortEncodings(p.Encodings)
	if n := sampled.Unreadable; n > 0 {
		p.Sampled = records.Unreadable(n, n+sampled.Documents, "sampled record", sampled.Note)
	}
	p.references = references.whole(references.Documents)
	p.Documents = sampled.whole(sampled.Documents) + p.references
	p.Shingles = sampled.whole(sampled.shingles) + references.whole(references.shingles)
	p.UnreadableRecords, p.UnreadableBytes = sampled.whole(sampled.Unreadable), sampled.whole(sampled.UnreadableBytes)
	p.Documents = max(p.Documents, sampled.Documents+references.Documents, 1)
	if err := p.lay(ctx); err != nil {
		return nil, err
	}
	p.order()
	documents := sampled.Documents + references.Documents
	p.IDBytes = int((sampled.IDs + references.IDs) / max(documents, 1))
	if limited := p.limited(p.Documents); limited < p.Documents {
		p.Shingles = int64(float64(p.Shingles) / float64(p.Documents) * float64(limited))
		p.Documents = limited
	}
	p.Layout.ShingleGroups = cmp.Or(p.Layout.ShingleGroups, p.shingleGroups())
	compared := sets[:min(len(sets), p.sampleSets())]
	if len(compared) < different {
		documents = documents * int64(len(compared)) / int64(different)
	}
	if err := p.choose(compared, documents); err != nil {
		return nil, err
	}
	if rule := r.Lead(); rule != "" {
		p.Choice.Reason = "candidates come from column " + rule + ": " + p.Choice.Reason
	}
	return p, nil
}

// checkSample returns a *UsageError for columns or an encoding that the sample does not have.
func (p *Plan) checkSample(sampled, references source.Sampled) (err error) {
	r := &p.Request
	rules := r.Texts.Rules
	for _, wrong := range []error{checkPlain(sampled, r), checkMatched(sampled, rules, false),
		checkMatched(references, rules, true)} {
		if wrong != nil {
			return wrong
		}
	}
	texts, flag := r.Columns()
	if p.missing, err = missing(flag, sampled, texts); err != nil {
		return err
	}
	fields := p.reading.ReferenceFields
	warning, err := missing("--against-text", references, fields.Text[:len(fields.Text)-fields.Values])
	if err != nil {
		return err
	}
	if warning != "" {
		p.referencesMissing = append(p.referencesMissing, warning)
	}
	for _, rule := range rules {
		if slices.Contains(references.Missing, rule.Column) {
			p.referencesMissing = append(p.referencesMissing, fmt.Sprintf("--match %s: no sampled file of --against has this "+
				"column, so its value counts as missing", rule.Column))
		}
	}
	if err := checkID("--against-id", references, fields.ID); err != nil && r.AgainstID != "" {
		return err
	}
	if p.NoColumn = sampled.NoColumn; len(p.NoColumn) > 0 && r.Strict && r.Limit == 0 {
		return Usage("%s %s: no sampled document in these files has this column: %s; %s", flag,
			strings.Join(texts, ", "+flag+" "), NoColumn(p.NoColumn), NameColumn)
	}
	if err := checkID("--id", sampled, r.ID); err != nil {
		return err
	}
	if sampled.MissingRank {
		return notThere("--keep "+strings.Join(r.Keep, ", --keep "), r.Rank.Column(), sampled.RankColumns, ", or drop --keep")
	}
	if sampled.Encoding == "" || !r.Strict {
		return nil
	}
	others := "leaves the other files as they are"
	if strings.HasPrefix(sampled.Encoding, "utf-16") {
		others = "decodes every file; exclude files in other encodings with --exclude"
	}
	text := fmt.Sprintf("%s, and %s is most likely %s; read it with --encoding %[3]s, or use --invalid-utf8 keep "+
		"--shingle char:9 to compare its bytes",
		records.OfAll(sampled.NotUTF8, sampled.NotUTF8+sampled.Documents, "sampled text", "not UTF-8"),
		sampled.Wrong, sampled.Encoding)
	if sampled.Files > 1 {
		text += fmt.Sprintf("; such texts are in %d of %s, and --encoding %s %s", sampled.WrongFiles,
			records.Plural(sampled.Files, "sampled file"), sampled.Encoding, others)
	}
	return Usage("%s", text)
}

// limited returns how many of the documents, including references, are read with --limit.
func (p *Plan) limited(documents int64) int64 {
	if limit := p.Request.Limit; limit > 0 {
		return min(documents, limit+p.references)
	}
	return documents
}

// spoolCompressed makes readers keep decompressed files, and unpacked pages of text, for later reads, where there is
// ample room. It does nothing where workers are on other machines, or where the first read of a file does not reach its
// end.
func (p *Plan) spoolCompressed(ctx context.Context, temp string) error {
	const worth = 32 << 10
	free, known := storage.FreeSpace(temp)
	if !p.Request.Runner.Traits().Bounded || p.Request.Limit > 0 || !known {
		return nil
	}
	in := p.Listing.Inputs
	for i := range in.Len() {
		size := in.Size(i)
		if size <= worth || size*reading.SpoolTimes >= free {
			continue
		}
		compressed, err := in.MayUnpack(ctx, i)
		if err != nil {
			return err
		}
		if compressed {
			in.Spool(Inputs(temp), i)
			free -= size * reading.SpoolTimes
		}
	}
	return nil
}

// unfit returns err as wrong usage, unless a file could not be read or its content is wrong.
func (r *Request) unfit(err error) error {
	if broken := (*reading.ContentError)(nil); errors.As(err, &broken) || storage.Failed(err) {
		return err
	}
	if none := (*codec.NoColumnError)(nil); errors.As(err, &none) {
		switch flag, column := r.flagOf(none), meant(none.Name, none.Columns); {
		case column == "":
			return Usage("%w; name one of them with %s", err, flag)
		case flag == "--keep" || flag == "--match": // their values are more than a column
			return Usage("%w; did you mean %q?", err, column)
		default:
			return Usage("%w; did you mean %s %q?", err, flag, column)
		}
	}
	return &UsageError{Reason: err}
}

// flagOf returns the flag that names a column.
func (r *Request) flagOf(c *codec.NoColumnError) string {
	switch _, text := r.Columns(); {
	case c.Kind == "":
		return "--keep"
	case c.Reference:
		return "--against-" + c.Kind
	case c.Kind == "text":
		return text
	default:
		return "--" + c.Kind
	}
}

// meant returns the column that was probably meant by name, or "" if none resembles it.
func meant(name string, columns []string) string {
	alike := func(column string) bool { return strings.EqualFold(column, name) }
	below := func(column string) bool { return strings.HasSuffix(column, "."+name) }
	for _, is := range []func(string) bool{alike, below} {
		if i := slices.IndexFunc(columns, is); i >= 0 {
			return columns[i]
		}
	}
	return edit.Nearest(name, slices.Values(columns))
}

// checkPlain returns a *UsageError if columns are named and no record of the sample has any.
func checkPlain(sampled source.Sampled, r *Request) error {
	const none = "%s %s: there are no columns in the %s format, whose documents are whole texts; drop %[1]s, " +
		"or use another --format"
	switch {
	case sampled.Plain == "":
		return nil
	case len(r.Match) > 0:
		return Usage(none, "--match", strings.Join(r.Match, ", "), sampled.Plain)
	case !slices.Equal(r.Text, records.Default().Text):
		return Usage(none, "--text", strings.Join(r.Text, ", "), sampled.Plain)
	case r.ID != "" && r.ID != records.Default().ID:
		return Usage(none, "--id", r.ID, sampled.Plain)
	}
	return nil
}

// missing returns a warning about text columns of a flag that no record of the sample has, since a name may be
// mistyped. If the sample has none of them, it returns a *UsageError.
func missing(flag string, sampled source.Sampled, text []string) (warning string, err error) {
	gone := slices.DeleteFunc(slices.Clone(text), func(name string) bool {
		return !slices.Contains(sampled.Missing, name)
	})
	if len(gone) == 0 {
		return "", nil
	}
	found := notFound(flag+" "+strings.Join(gone, ", "+flag+" "), sampled.Columns)
	if len(gone) == len(text) {
		for _, name := range text {
			if column := meant(name, sampled.Columns); column != "" {
				return "", Usage("%s; did you mean %q?", found, column)
			}
		}
		return "", Usage("%s; %s", found, nameOne(sampled.Columns))
	}
	return found + "; texts are compared without it", nil
}

// checkMatched returns a *UsageError for a column of a rule that no record of the sample has. References may lack it if
// its value may be missing.
func checkMatched(sampled source.Sampled, rules []match.Rule, references bool) error {
	for _, r := range rules {
		name := r.Column
		if slices.Contains(sampled.Missing, name) && (!references || !r.MissingOK) {
			return notThere("--match "+name, name, sampled.Columns, "")
		}
	}
	return nil
}

// shownSources is the maximum number of sources that a message names.
const shownSources = 3

// NameColumn says what to do about sources without a text column.
const NameColumn = "add --text with the name of the text column, or exclude such files with --exclude"

// NoColumn names the sources, with the number of their documents that have no text column.
func NoColumn(sources []records.NoColumn) string {
	var parts []string
	for _, n := range sources[:min(len(sources), shownSources)] {
		columns := ""
		if n.Columns != "" {
			columns = "; columns: " + n.Columns
		}
		parts = append(parts, fmt.Sprintf("%s (%s%s)", n.Source, lacking(n), columns))
	}
	if more := len(sources) - shownSources; more > 0 {
		parts = append(parts, fmt.Sprintf("at least %d more", more))
	}
	return strings.Join(parts, ", ")
}

// lacking says how many documents of a source have no text column.
func lacking(n records.NoColumn) string {
	if n.Documents == n.Of {
		return records.Plural(n.Of, "document")
	}
	return fmt.Sprintf("%s of %s", records.Count(n.Documents), records.Plural(n.Of, "document"))
}

// checkID returns a *UsageError for an id column of a flag that no record of the sample has, unless it is the default,
// which documents need not have.
func checkID(flag string, sampled source.Sampled, id string) error {
	if !sampled.MissingID || id == "" || id == records.Default().ID {
		return nil
	}
	return notThere(flag+" "+id, id, sampled.IDColumns, ", or drop "+flag)
}

// notThere returns the *UsageError for flags that name a column that no record of the sample has. columns are those of
// the first record.
func notThere(flags, column string, columns []string, otherwise string) error {
	if column := meant(column, columns); column != "" {
		return Usage("%s; did you mean %q?", notFound(flags, columns), column)
	}
	return Usage("%s; %s%s", notFound(flags, columns), nameOne(columns), otherwise)
}

// nameOne says what to do about such a column, after a message that lists columns.
func nameOne(columns []string) string {
	if len(columns) == 0 {
		return "name another"
	}
	return "name one of them"
}

// notFound says that no record of the sample has the columns that flags name, and lists the columns of the first.
func notFound(flags string, columns []string) string {
	if len(columns) == 0 { // columns belong to files, not to records
		return flags + ": no sampled file has this column"
	}
	return fmt.Sprintf("%s: no sampled record has this column; the first record has %s", flags, codec.Listed(columns))
}

// Reading returns how the inputs are read.
func (p *Plan) Reading() source.Options { return p.reading }

// sampleSets returns how many sets the background is estimated from: those of smallest hash, a uniform sample that does
// not depend on the order of reading. Their pairs grow in proportion to the documents, otherwise the uncertainty of the
// background would decide the choice for many documents.
func (p *Plan) sampleSets() int {
	const sets, documents = 2000, 300_000
	return int(sets * math.Sqrt(max(1, float64(p.Documents)/documents)))
}

// sampled is a sample of the inputs, or of the references, with the sum of the sizes of its sets.
type sampled struct {
	source.Sampled
	shingles int64
}

// whole scales a count of the sample to the whole input.
func (s *sampled) whole(n int64) int64 {
	read := s.Documents + s.Unreadable
	if read == 0 {
		return 0
	}
	return int64(float64(n) / float64(read) * float64(s.Records))
}

// sample returns the distinct shingle sets of the planner's samples, as many as can be held, by hash, and the number of
// all of them, and describes the samples of inputs and references. It counts the copies in the samples.
func (p *Plan) sample(ctx context.Context) (sets [][]uint64, different int, inputs, references sampled, err error) {
	held := newSampledSets()
	first := map[hash.Sum128]copies.Traits{} // by what copies have in common
	shingles := int64(0)
	texts := newSampledTexts(p.Spec, func(text *sampledText) {
		traits := text.traits
		shingles += int64(text.size)
		p.Sizes[text.size]++
		held.add(text.sum, text.set)
		key := traits.Of(p.Request.Same)
		earlier, ok := first[key]
		switch {
		case !ok:
			first[key] = traits
		case traits.Text != earlier.Text:
			p.Alike++
			if traits.Symbols != earlier.Symbols {
				p.Symbols++
			}
		}
	})
	var looks looks
	several := false
	inputs.Sampled, err = source.Sample(ctx, p.Listing.Inputs, false, p.reading, func(text, ends []byte) {
		if p.reading.Fields.Items {
			several = several || bytes.Count(text, []byte{'\n'}) > 1
		} else {
			looks.add(text, ends)
		}
		texts.add(text, ends)
		p.Texts.Add(text)
	})
	if err != nil {
		return nil, 0, inputs, references, err
	}
	texts.flush()
	inputs.shingles = shingles
	columns, _ := p.Request.Columns()
	p.looks = looks.warnings(columns, inputs.Plain, p.Spec.Normalize.StripsMarkup())
	if p.reading.Fields.Items && !several && inputs.Documents > 1 {
		p.looks = append(p.looks,
			"--shingle item: each sampled document is one item; name a list column, or use another --shingle")
	}
	if p.Listing.Inputs.References() > 0 && !p.keyed() {
		references.Sampled, err = source.Sample(ctx, p.Listing.Inputs, true, p.reading, texts.add)
		texts.flush()
		references.shingles = shingles - inputs.shingles
	}
	sets, different = held.all()
	return sets, different, inputs, references, err
}

// compared says in words what --same compares.
var compared = map[copies.Same]string{
	copies.Bytes: "the text", copies.Tokens: "the sequence of tokens", copies.Set: "the shingle set",
}

// choose sets the number of bands and rows, or of pieces, from the distinct sets of a sample of documents.
func (p *Plan) choose(sets [][]uint64, documents int64) (err error) {
	r := &p.Request
	if r.Unsigned {
		return nil
	}
	switch {
	case p.Complete:
		p.Choice = lsh.Choice{ExpectedRecall: 1, Reason: "method complete: every document is compared with all " +
			"others of similar size"}
		if r.Measure == Containment {
			p.Choice.Reason = "containment: every document is compared with all others"
		}
	case r.Same != "":
		p.Threshold = identical
		p.Choice = lsh.Choice{
			Banding:        lsh.Banding{Bands: 1}, // one key, not from a signature
			ExpectedRecall: 1, Reason: "method exact: one key, the hash of " + compared[r.Same],
		}
	case r.Family == signature.SimHash:
		return p.choosePieces(sets)
	default:
		t := p.Threshold.Float()
		in := lsh.Input{
			Threshold: t, Recall: r.Recall, Documents: p.Documents,
			Background: setsim.Background(sets, documents, t/2, lsh.MaxSignature), Indexed: r.Index != nil,
		}
		if r.Bands > 0 {
			p.Choice, err = lsh.Assess(in, r.Bands, r.Rows)
		} else {
			p.Choice, err = lsh.Solve(in)
		}
		if err != nil {
			return &UsageError{Reason: err}
		}
		if r.Index != nil {
			p.Choice.Reason = "bands and rows are those of the index"
			if p.Choice.Percolates {
				p.Choice.Reason = fmt.Sprintf("with the bands and rows of the index, each document has more than %v false "+
					"positives on average; "+
					"create the index again with a larger --expect, longer shingles or a higher threshold", lsh.MaxIndexedEdges)
			}
		}
		if r.Family != signature.FSS { // only FSS needs a power of two
			p.Choice.Signature = p.Choice.Bands * p.Choice.Rows
		}
	}
	if r.Family == signature.Salted {
		if _, err := salted.New(p.Choice.Signature, r.Seed); err != nil {
			return Usage("--signature salted: %w", err)
		}
	}
	return nil
}

const (
	usualGroup = 4 << 20
	// LeastGroups is the minimum number of groups, enough for several workers.
	LeastGroups = 8
	// MostGroups is the maximum number of groups in a shuffle.
	MostGroups = 1 << 16

	entryBytes  = 9
	firstBytes  = 24
	memberBytes = 20
	// mostMembers is the maximum size of the members of a split; before the second read, each worker holds those of one.
	mostMembers  = 8 << 20
	maxShardBits = 12
	// shingleBytes is the size of a shingle sent to the dictionary and back.
	shingleBytes = 10
)

// GroupBytes returns about how large a group is.
func (p *Plan) GroupBytes() int64 { return cmp.Or(p.Request.GroupBytes, usualGroup) }

// lay chooses the layout. It lists the inputs again, in smaller splits, if the members of a split may exceed a group: a
// file of few bytes may have millions of rows. It takes an earlier layout if that was chosen for as many documents.
func (p *Plan) lay(ctx context.Context) (err error) {
	sent := p.limited(p.Documents)
	p.Layout = Layout{
		Documents: sent, SplitBytes: p.reading.SplitBytes, SplitRows: p.reading.SplitRows,
		ShardBits: shardBits(sent, p.GroupBytes()), HashShards: hashShards(sent, p.GroupBytes()),
	}
	split := p.Listing.Inputs.Bytes() / (p.Documents*memberBytes/cmp.Or(p.Request.GroupBytes, mostMembers) + 1)
	if split < p.reading.SplitSize() {
		p.Layout.SplitBytes = max(split, 1)
	}
	if earlier := p.Request.Layout; earlier != nil && earlier.Documents == sent {
		p.Layout = *earlier
	}
	if p.Layout.SplitBytes == p.reading.SplitBytes && p.Layout.SplitRows == p.reading.SplitRows {
		return nil
	}
	p.reading.SplitBytes, p.reading.SplitRows = p.Layout.SplitBytes, p.Layout.SplitRows
	p.Listing, err = source.Plan(ctx, p.Request.Inputs, p.reading)
	return err
}

// KeyBytes estimates how many bytes of keys all documents send to find candidates.
func (p *Plan) KeyBytes() int64 {
	return p.Documents * (int64(p.Choice.Bands+p.Pieces.Count)*entryBytes + firstBytes)
}

// LayKeys lays out keys in groups of the usual size, for a run in phases, whose keys go through files.
func (p *Plan) LayKeys() {
	p.Layout.ShardBits = shardBits(p.Layout.Documents, usualGroup)
	p.Layout.HashShards = hashShards(p.Layout.Documents, usualGroup)
}

// shardBits returns the ShardBits for a number of documents, in groups of about group bytes.
func shardBits(documents, group int64) int {
	groups := documents * entryBytes / group
	return min(bits.Len64(uint64(groups)), maxShardBits)
}

// hashShards returns the number of groups for the hashes of documents.
func hashShards(documents, group int64) int {
	return int(max(LeastGroups, min(documents*firstBytes/group, MostGroups)))
}

// shingleGroups returns the number of groups for shingles.
func (p *Plan) shingleGroups() int {
	return int(max(LeastGroups, min(p.Shingles*shingleBytes/p.GroupBytes(), MostGroups)))
}

// Warnings returns warnings about the input and the choice that may not be what the user intended.
func (p *Plan) Warnings() (warnings []string) {
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	if skipped := p.Listing.Skipped; len(skipped) > 0 {
		warn("skipped %s in input folders, such as %s, whose name shows another format, or none",
			records.Plural(len(skipped), "file"), skipped[0])
	}
	// A few documents are compared at once, whatever their candidates, but users who set the bands learn of the effect.
	if p.Choice.Percolates && (p.Documents > sets.MostSmallDocs || p.Request.Bands+p.Request.Pieces > 0) {
		warn("%s", p.Choice.Reason)
	}
	warnings = append(append(warnings, p.piecesWarnings()...), p.referenceWarnings()...)
	for _, path := range p.Listing.Repeated {
		warn("%s is named more than once, but neardup reads it once", path)
	}
	if links := p.Listing.Links; len(links) > 0 {
		more := ""
		if len(links) > 1 {
			more = fmt.Sprintf("; this is the first of %d such files", len(links))
		}
		warn("%s is the same file as %s, so neardup reads it once%s", links[0].Path, links[0].First, more)
	}
	if p.missing != "" {
		warn("%s", p.missing)
	}
	return append(warnings, p.looks...)
}

// Input returns what run.json says about the input.
func (p *Plan) Input() records.RunInput {
	in := p.Listing.Inputs
	return records.RunInput{
		Root: in.Root, Files: in.Len() - in.References(), Bytes: in.BytesOfInputs(),
		Splits: in.Splits.Len(), Skipped: len(p.Listing.Skipped), Encodings: p.Encodings,
	}
}

// Chosen returns what run.json says about the choice.
func (p *Plan) Chosen() records.Chosen {
	return records.Chosen{
		Bands: p.Choice.Bands, Rows: p.Choice.Rows, Pieces: p.Pieces.Count, Signature: p.Choice.Signature,
		ExpectedRecall: p.Choice.ExpectedRecall, Documents: p.Documents,
		BackgroundEdges: p.Choice.BackgroundEdges, Reason: p.Choice.Reason,
		Copies: p.Alike, Symbols: p.Symbols, Rule: p.Request.Lead(),
	}
}

// Keys returns a function that finds a document's key by its source and position, as output tables name it.
func (p *Plan) Keys() func(source string, position int64) blocks.Key {
	files := p.Listing.Inputs.Finder()
	return func(source string, position int64) blocks.Key {
		file, _ := files(source)
		return blocks.NewKey(file, position)
	}
}

// prefer ranks each file by the first pattern that matches it, and returns the patterns that match no file.
func prefer(in *blocks.Inputs, globs []string) (idle []string) {
	if len(globs) == 0 {
		return nil
	}
	in.Prefer(func(name string) int { return source.FirstMatch(globs, name) })
	return unmatched(in, globs)
}

// unmatched returns the patterns that match no input file.
func unmatched(in *blocks.Inputs, globs []string) []string {
	idle := slices.Clone(globs)
	for file, name := range in.Names() {
		if file < in.References() {
			continue
		}
		idle = slices.DeleteFunc(idle, func(glob string) bool { return source.Matches(glob, name) })
	}
	return idle
}

// protect protects the files that match a pattern, and returns the patterns that match no file.
func protect(in *blocks.Inputs, globs []string) (idle []string) {
	if len(globs) == 0 {
		return nil
	}
	in.Protect(func(name string) bool { return source.FirstMatch(globs, name) < len(globs) })
	return unmatched(in, globs)
}
