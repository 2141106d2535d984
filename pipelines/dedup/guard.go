package dedup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// RemovedError ends a run that would remove more of a source than --max-removed allows.
type RemovedError struct {
	Source             string // the source that would lose the largest share, the first of equals
	Removed, Documents int64
	Limit              string // as given
	Sources            int    // number of sources that would lose too much
}

func (e *RemovedError) Error() string {
	others := ""
	if e.Sources > 1 {
		others = fmt.Sprintf("; other sources that exceed it: %d", e.Sources-1)
	}
	return fmt.Sprintf("%s: %s of %s would be removed, which is more than --max-removed %v%s; no output was written; "+
		"check the input, or raise the limit", e.Source, records.Count(e.Removed),
		records.Plural(e.Documents, "document"), e.Limit, others)
}

// Status returns the exit status.
func (*RemovedError) Status() int { return 5 }

// tally counts the documents read from a source, and those of them in the corpus.
type tally struct{ documents, kept int64 }

// removed returns the share that is not kept, in per cent.
func (s *tally) removed() float64 {
	return 100 * float64(s.documents-s.kept) / float64(s.documents)
}

// checkRemoved returns a *RemovedError if a source exceeds --max-removed. A source is an input file, or a folder of
// files with one document each.
func (r *run) checkRemoved(ctx context.Context) error {
	if r.asked.MaxRemoved == nil {
		return nil
	}
	in, err := source.Shared(ctx, job.Inputs(r.temp)) // Finish has no plan
	if err != nil {
		return err
	}
	sources := map[string]*tally{}
	of := func(file int) *tally {
		f := in.File(file)
		name := f.Source
		if f.IDIsSource {
			name = path.Dir(name)
		}
		if sources[name] == nil {
			sources[name] = &tally{}
		}
		return sources[name]
	}
	files := map[string]int{} // by the corpus file of each piece
	for piece := range in.Pieces.Len() {
		files[output.CorpusFile(in.PieceName(piece))] = in.Pieces.At(piece).File
	}
	err = eachFact(ctx, storage.Join(r.temp, ledgerFile), func(fact blocks.Fact) error {
		switch fact.Kind {
		case blocks.FactRead:
			split, err := strconv.Atoi(fact.Name)
			if err != nil {
				return err
			}
			of(in.Splits.At(split).File).documents += fact.Counts[blocks.CountRecords] - fact.Counts[blocks.CountUnreadable]
		case blocks.FactCorpus:
			of(files[fact.Name]).kept += fact.Counts[blocks.CountRows]
		}
		return nil
	})
	if err != nil {
		return err
	}
	maps.DeleteFunc(sources, func(_ string, s *tally) bool {
		return s.documents == 0 || s.removed() <= *r.asked.MaxRemoved
	})
	if len(sources) == 0 {
		return nil
	}
	worst := slices.MinFunc(slices.Collect(maps.Keys(sources)), func(a, b string) int {
		return cmp.Or(cmp.Compare(sources[b].removed(), sources[a].removed()), cmp.Compare(a, b))
	})
	s := sources[worst]
	return &RemovedError{Source: worst, Removed: s.documents - s.kept, Documents: s.documents,
		Limit: r.asked.Spec.MaxRemoved, Sources: len(sources)}
}
