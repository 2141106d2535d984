package eval

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// Known is a truth about the documents of an input.
type Known struct {
	pairs     []blocks.Edge // sorted
	documents int64         // number of documents that count
	named     map[blocks.Key]bool
	// Warnings lists what may be wrong with the truth.
	Warnings []string
}

// Read reads a truth file, called name, and finds its documents in the input of a plan. An id that no document has
// counts as a document without found pairs. It holds at most most pairs.
func Read(ctx context.Context, r io.Reader, name string, plan *job.Plan, most int) (*Known, error) {
	t, err := readTruth(job.Patient(ctx, r), name)
	if err != nil {
		return nil, err
	}
	keys := map[string]blocks.Key{}
	number := func(id string) blocks.Key {
		if _, ok := keys[id]; !ok {
			keys[id] = blocks.Key(-2 - len(keys)) // not the key of a document
		}
		return keys[id]
	}
	for id := range t.all() {
		number(id)
	}
	first, again := "", ""
	k := &Known{}
	k.documents, err = eachID(ctx, plan, func(id string, key blocks.Key) bool {
		first = cmp.Or(first, id)
		if before, ok := keys[id]; ok {
			if before >= 0 {
				again = id
			}
			keys[id] = key
		}
		return again == ""
	})
	if err != nil {
		return nil, err
	}
	if again != "" {
		return nil, job.Usage("several documents have the id %q, so the truth file cannot tell them apart; "+
			"give unique ids with --id", again)
	}
	if first != "" {
		k.Warnings = t.strange(name, "the input", first, func(id string) bool { return keys[id] >= 0 })
	}
	if t.kind == records.TruthClusters {
		k.named, k.documents = map[blocks.Key]bool{}, int64(len(t.ids))
		members := map[string][]blocks.Key{}
		for _, id := range t.ids {
			k.named[keys[id]] = true
			for _, other := range members[t.label[id]] {
				k.pairs = append(k.pairs, blocks.NewEdge(other, keys[id]))
			}
			if len(k.pairs) > most {
				return nil, job.Usage("--truth %s: its clusters have more than %s pairs, too many to hold in memory; use "+
					"fewer clusters", name, records.Count(int64(most)))
			}
			members[t.label[id]] = append(members[t.label[id]], keys[id])
		}
	}
	for _, pair := range t.pairs {
		k.pairs = append(k.pairs, blocks.NewEdge(keys[pair[0]], keys[pair[1]]))
	}
	slices.SortFunc(k.pairs, blocks.Edge.Compare)
	k.pairs = slices.Compact(k.pairs)
	return k, nil
}

// Agree returns how found pairs, which are sorted, agree with the truth.
func (k *Known) Agree(found []blocks.Edge) records.Agreement {
	if k.named != nil {
		found = slices.DeleteFunc(slices.Clone(found),
			func(pair blocks.Edge) bool { return !k.named[pair.A] || !k.named[pair.B] })
	}
	return ofPairs(found, k.pairs, k.documents)
}
