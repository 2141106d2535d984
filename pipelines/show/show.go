// Package show finds what a finished output says about one document: its cluster, the other members, and why each
// document was kept or removed.
package show

import (
	"context"
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/edit"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// Config says what to show.
type Config struct {
	Output   string `arg:"" name:"dir" help:"Output of a finished run of dedup or passages, or an index."`
	Document string `arg:"" optional:"" name:"id" help:"Id of a document, or its place: SOURCE@POSITION, as in the tables. If documents share an id, only those in clusters count. An index needs no id."`
	Most     int    `name:"members" short:"n" default:"100" placeholder:"N" help:"List at most the first N documents of the cluster (default: ${default})." group:"Show"`
	Texts    int    `default:"3" placeholder:"N" help:"Show the differing words of at most N pairs; 0 reads no texts (default: ${default})." group:"Show"`
}

// place is the source and position of a document.
type place struct {
	source   string
	position int64
}

func (p place) String() string { return p.source + "@" + strconv.FormatInt(p.position, 10) }

// mostPlaces is how many documents with one id a message lists.
const mostPlaces = 10

// Cluster reads from a finished output what it says about a document. The error is a *job.UsageError if no document, or
// more than one, has the name.
func Cluster(ctx context.Context, c Config) (*records.Cluster, error) {
	switch {
	case c.Most < 1:
		return nil, job.Usage("--members %d: must be at least 1", c.Most)
	case c.Texts < 0:
		return nil, job.Usage("--texts %d: must be at least 0", c.Texts)
	}
	finished, err := job.OpenOutput(ctx, c.Output, "dedup")
	if err != nil {
		return nil, err
	}
	s := &show{Config: c, f: finished, found: records.Cluster{Threshold: finished.Run.Parameters.Threshold,
		Members: []records.Member{}}}
	if !s.has(output.Clusters) {
		return nil, job.Usage("%s has no clusters table; run dedup again with clusters in --write", c.Output)
	}
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	if err := finished.CheckUnchanged(ctx); err != nil {
		return nil, err
	}
	return &s.found, nil
}

// show is one search.
type show struct {
	Config
	f     *output.Finished
	found records.Cluster
	pairs map[place]records.Pair // of the document in question, as a, with each other, by b
}

func (s *show) has(part output.Part) bool {
	return s.f.Run.Parameters.Wrote(string(part))
}

// look does the work of Cluster.
func (s *show) look(ctx context.Context) error {
	row, err := s.clustered(ctx)
	if err != nil {
		return err
	}
	if row == nil {
		return s.alone(ctx)
	}
	s.found.ID, s.found.Source, s.found.Position = row.ID, row.Source, row.Position
	s.found.State, s.found.Cluster, s.found.Documents = records.StateClustered, row.Cluster, row.Members
	if err := s.members(ctx); err != nil {
		return err
	}
	if err := s.inPlace(ctx); err != nil {
		return err
	}
	if err := s.similarities(ctx); err != nil {
		return err
	}
	return s.texts(ctx)
}

// clustered returns the document's row in the table clusters, or nil if it is in no cluster.
func (s *show) clustered(ctx context.Context) (*records.Clustered, error) {
	return named(s, output.Rows[records.Clustered](ctx, s.f, output.Clusters),
		func(row *records.Clustered) (string, place) {
			return row.ID, place{row.Source, row.Position}
		})
}

// named returns the document's row in a table, or nil if it has none.
func named[T any](s *show, rows iter.Seq2[T, error], name func(*T) (id string, at place)) (found *T, err error) {
	var places []string
	several := 0
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		id, at := name(&row)
		switch {
		case at.String() == s.Document: // a place names one document, even if an id looks like it
			return &row, nil
		case id == s.Document:
			found = &row
			if several++; several <= mostPlaces {
				places = append(places, at.String())
			}
		}
	}
	if several > 1 {
		return nil, s.ambiguous(several, places)
	}
	return found, nil
}

func (s *show) ambiguous(documents int, places []string) error {
	first := ""
	if len(places) < documents {
		first = ", the first"
	}
	return job.Usage("%s have the id %q%s: %s; name one of these places instead of the id",
		records.Plural(documents, "document"), s.Document, first, strings.Join(places, ", "))
}

// members lists the members of the cluster.
func (s *show) members(ctx context.Context) error {
	own := false
	for row, err := range output.Rows[records.Clustered](ctx, s.f, output.Clusters) {
		if err != nil {
			return err
		}
		if row.Cluster != s.found.Cluster {
			continue
		}
		if row.Kept {
			s.found.Kept++
		}
		asked := s.asked(row.Source, row.Position)
		own = own || asked
		if room := s.Most - len(s.found.Members); room > 1 || room == 1 && own || asked {
			s.found.Members = append(s.found.Members,
				records.Member{ID: row.ID, Source: row.Source, Position: row.Position, Size: row.Size, Kept: row.Kept})
		}
	}
	return nil
}

// asked reports whether this is the place of the document in question.
func (s *show) asked(source string, position int64) bool {
	return source == s.found.Source && position == s.found.Position
}

// byPlace returns the members by their places.
func (s *show) byPlace() map[place]*records.Member {
	members := map[place]*records.Member{}
	for i, m := range s.found.Members {
		members[place{m.Source, m.Position}] = &s.found.Members[i]
	}
	return members
}

// inPlace adds to each removed member the document that is kept in its place.
func (s *show) inPlace(ctx context.Context) error {
	if !s.has(output.Removed) {
		return nil
	}
	members := s.byPlace()
	for row, err := range output.Rows[records.Removed](ctx, s.f, output.Removed) {
		if err != nil {
			return err
		}
		if m := members[place{row.Source, row.Position}]; m != nil && row.Cluster == s.found.Cluster {
			m.InPlace = &records.InPlace{ID: row.KeptID, Source: row.KeptSource, Position: row.KeptPosition,
				Similarity: row.Similarity, Reason: row.Reason}
		}
	}
	return nil
}

// similarities adds the members' similarities to the document in question. The table has one row for a copy, with its
// representative, and otherwise pairs of representatives, whose similarities hold for their copies. The table is read
// twice, and at most as many pairs are held as there are members.
func (s *show) similarities(ctx context.Context) error {
	if !s.has(output.Pairs) {
		return nil
	}
	// first maps a copy to its representative, and other members to themselves.
	first := map[place]place{}
	for at, m := range s.byPlace() {
		first[at] = at
		if kept := m.InPlace; kept != nil && s.asked(m.Source, m.Position) { // it may not be among the members listed
			first[place{kept.Source, kept.Position}] = place{kept.Source, kept.Position}
		}
	}
	for row, err := range output.Rows[records.Pair](ctx, s.f, output.Pairs) {
		if err != nil {
			return err
		}
		at := place{row.SourceB, row.PositionB}
		if _, member := first[at]; member && row.Copy() {
			first[at] = place{row.SourceA, row.PositionA}
		}
	}
	own := first[place{s.found.Source, s.found.Position}]
	size := s.byPlace()[place{s.found.Source, s.found.Position}].Size
	known := map[place]records.Pair{own: {Similarity: 1, Shared: size, SizeA: size, SizeB: size}}
	wanted := map[place]bool{}
	for _, to := range first {
		wanted[to] = true
	}
	for row, err := range output.Rows[records.Pair](ctx, s.f, output.Pairs) {
		if err != nil {
			return err
		}
		a, b := place{row.SourceA, row.PositionA}, place{row.SourceB, row.PositionB}
		if b == own {
			a, b = b, a
			row.SizeA, row.SizeB = row.SizeB, row.SizeA
		}
		if a == own && wanted[b] {
			known[b] = row
		}
	}
	s.pairs = map[place]records.Pair{}
	for at, to := range first {
		if pair, ok := known[to]; ok {
			s.pairs[at] = pair
		}
	}
	for at, m := range s.byPlace() {
		if pair, ok := s.pairs[at]; ok {
			m.Similarity = &pair.Similarity
		}
	}
	return nil
}

// removedAs names what a document was removed as, by the reason.
var removedAs = map[string]string{
	records.ReasonIdentical: "an exact duplicate", records.ReasonEqual: "a copy (same tokens)",
	records.ReasonSameSet: "a copy (same shingle set)", records.ReasonNear: "a near-duplicate",
}

// texts reads the texts of pairs to show, first that of the document in question and the one kept in its place.
func (s *show) texts(ctx context.Context) error {
	members := s.byPlace()
	own := members[place{s.found.Source, s.found.Position}]
	type pair struct {
		removed *records.Member
		kept    place
		keptID  string
	}
	var pairs []pair
	if own.InPlace != nil {
		pairs = append(pairs, pair{own, place{own.InPlace.Source, own.InPlace.Position}, own.InPlace.ID})
	}
	for i := range s.found.Members {
		m := &s.found.Members[i]
		if m.InPlace != nil && s.asked(m.InPlace.Source, m.InPlace.Position) {
			pairs = append(pairs, pair{m, place{own.Source, own.Position}, own.ID})
		}
	}
	for _, p := range pairs[:min(len(pairs), s.Texts)] {
		e := records.Example{FateA: "kept", FateB: "removed as " + removedAs[p.removed.InPlace.Reason]}
		if kept := members[p.kept]; kept != nil && !kept.Kept { // with --keep none
			e.FateA = "removed"
		}
		e.Pair = records.Pair{
			IDA: p.keptID, SourceA: p.kept.source, PositionA: p.kept.position,
			IDB: p.removed.ID, SourceB: p.removed.Source, PositionB: p.removed.Position, SizeB: p.removed.Size,
		}
		if pair, ok := s.pairs[p.kept]; ok && p.removed == own {
			e.Pair.Shared, e.Pair.SizeA = pair.Shared, pair.SizeB
		} else if pair, ok := s.pairs[place{p.removed.Source, p.removed.Position}]; ok {
			e.Pair.Shared, e.Pair.SizeA = pair.Shared, pair.SizeA
		}
		if similarity := p.removed.InPlace.Similarity; similarity != nil {
			e.Pair.Similarity = *similarity
		}
		var err error
		if e.TextA, err = s.text(ctx, p.kept); err == nil {
			e.TextB, err = s.text(ctx, place{p.removed.Source, p.removed.Position})
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // the input may have changed or been deleted
			s.found.Warnings = append(s.found.Warnings, fmt.Sprintf("cannot show which words differ: %v", err))
			return nil
		}
		s.found.Examples = append(s.found.Examples, e)
	}
	return nil
}

func (s *show) text(ctx context.Context, at place) (string, error) {
	if slices.Contains(s.f.Run.Parameters.Inputs, "-") {
		return "", fmt.Errorf("the run read standard input, which cannot be read again")
	}
	path, _ := s.f.Input(at.source)
	info, err := storage.Stat(ctx, path)
	if err != nil {
		return "", err
	}
	warning := at.source + " was modified after the run began; the texts in it may not be those that were " +
		"compared; run dedup again to be sure"
	if info.Modified.After(s.f.Run.Started) && !slices.Contains(s.found.Warnings, warning) {
		s.found.Warnings = append(s.found.Warnings, warning)
	}
	return dedup.Text(ctx, s.f, at.source, at.position)
}

// wasRead reports whether the run read a file, judging by the corpus: it has a file, or pieces, of the same name.
func (s *show) wasRead(source string) bool {
	if !s.has(output.Corpus) {
		return true
	}
	ending := path.Ext(source)
	pieces := strings.TrimSuffix(source, ending) + "-00000-of-"
	return slices.ContainsFunc(s.f.Manifest.Files, func(file records.ManifestFile) bool {
		name, ok := strings.CutPrefix(file.Path, string(output.Corpus)+"/")
		return ok && (name == source || strings.HasPrefix(name, pieces) && strings.HasSuffix(name, ending))
	})
}

// alone looks for a document that is in no cluster: it was not compared, or it is in the corpus.
func (s *show) alone(ctx context.Context) error {
	found, err := s.rejected(ctx)
	if err != nil || found {
		return err
	}
	return s.inCorpus(ctx)
}

// rejected looks for it among documents not compared and unreadable records.
func (s *show) rejected(ctx context.Context) (found bool, err error) {
	if !s.has(output.Rejected) {
		return false, nil
	}
	name := func(row *records.Rejected) (id string, at place) {
		at = place{row.Source, row.Position}
		if row.ID == nil {
			return at.String(), at
		}
		return *row.ID, at
	}
	row, err := named(s, output.Rows[records.Rejected](ctx, s.f, output.Rejected), name)
	if err != nil || row == nil {
		return false, err
	}
	s.found.ID, _ = name(row)
	s.found.Source, s.found.Position = row.Source, row.Position
	s.found.State, s.found.Reason = records.StateNotCompared, strings.TrimSuffix(row.Reason+": "+row.Detail, ": ")
	if row.Unreadable() {
		s.found.State = records.StateUnreadable
	}
	return true, nil
}

// inCorpus looks for the place in the input, or else for the id in the corpus, which has all other documents.
func (s *show) inCorpus(ctx context.Context) error {
	if source, position, ok := job.ParsePlace(s.Document); ok && s.wasRead(source) {
		at := place{source, position}
		if _, err := s.text(ctx, at); err == nil {
			s.found.ID, s.found.Source, s.found.Position, s.found.State = s.Document, at.source, at.position, records.StateAlone
			return nil
		}
	}
	searched, found := "the tables", 0
	var files []string
	guess := edit.NewGuess(s.Document)
	consider := func(id string) {
		if len(id) <= 2*len(s.Document)+1 { // others are too different, and may be very long
			guess.Consider(id)
		}
	}
	if s.has(output.Corpus) {
		searched = "the output"
		err := s.corpus(ctx, func(id, file string) {
			if id == s.Document {
				if found++; len(files) < mostPlaces {
					files = append(files, file)
				}
			}
			consider(id)
		})
		if err != nil {
			return err
		}
	}
	if found == 0 {
		for row, err := range output.Rows[records.Clustered](ctx, s.f, output.Clusters) {
			if err != nil {
				return err
			}
			consider(row.ID)
		}
	}
	switch {
	case found > 1:
		return job.Usage("%s have the id %q, and none is in a cluster; the run kept them in %s",
			records.Plural(found, "document"), s.Document, strings.Join(slices.Compact(files), ", "))
	case found == 1:
		s.found.ID, s.found.Source, s.found.Position, s.found.State = s.Document,
			strings.TrimPrefix(files[0], string(output.Corpus)+"/"), -1, records.StateAlone
		return nil
	}
	hint := "; no id resembles it"
	if nearest := guess.Nearest(); nearest != "" {
		hint = "; the most similar id is " + strconv.Quote(nearest)
	}
	return job.Usage("no document in %s has the id %q%s; give an id, or a place SOURCE@POSITION, as listed in "+
		"the output tables",
		searched, s.Document, hint)
}

// corpus calls see with each document of the corpus that has an id, and its file below the output.
func (s *show) corpus(ctx context.Context, see func(id, file string)) error {
	options, err := dedup.Reading(s.f)
	if err != nil {
		return err
	}
	for _, file := range s.f.Manifest.Files {
		if output.PartOf(file.Path) != output.Corpus {
			continue
		}
		listing, err := source.Plan(ctx, []string{s.f.Path(file.Path)}, options)
		if err != nil {
			return err
		}
		in := listing.Inputs
		for number := range in.Splits.Len() {
			_, err := source.Records(ctx, in, []blocks.Span{in.Splits.At(number)}, options, func(record *reading.Record) error {
				switch {
				case record.Err != nil:
				case record.Doc.HasID:
					see(string(record.Doc.ID), file.Path)
				case options.Format == "files":
					see(strings.TrimPrefix(file.Path, string(output.Corpus)+"/"), file.Path)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
