package eval

import (
	"maps"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/quality"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/records"
)

const confidence = .95

// agree returns how found pairs agree with true ones. Pairs of one unit may be found or missed together, so the
// intervals treat the units, not the pairs, as the random sample.
func agree(a quality.Agreement, units []quality.Agreement) records.Agreement {
	var ofFound, ofTruth []quality.Unit
	for _, u := range units {
		ofFound = append(ofFound, quality.Unit{Found: u.Both, Total: u.Found})
		ofTruth = append(ofTruth, quality.Unit{Found: u.Both, Total: u.True})
	}
	share := func(value, low, high float64, ok bool) records.EvaluatedShare {
		if !ok {
			return records.EvaluatedShare{Value: value}
		}
		return records.EvaluatedShare{Value: value, Low: &low, High: &high}
	}
	r := records.Agreement{Found: a.Found, True: a.True, Both: a.Both}
	low, high, ok := quality.Interval(ofFound, confidence)
	r.Precision = share(a.Precision(), low, high, ok)
	low, high, ok = quality.Interval(ofTruth, confidence)
	r.Recall = share(a.Recall(), low, high, ok)
	low, high, ok = quality.F1Interval(units, confidence)
	r.F1 = share(a.F1(), low, high, ok)
	low, high, ok = a.RandInterval(units, confidence)
	r.Rand = share(a.AdjustedRand(), low, high, ok)
	return r
}

// joint counts pairs of documents by the groups that found and true pairs connect together; each group is a unit.
type joint struct {
	groups unionfind.Forest
	counts map[int64]quality.Agreement // by one member of the group
}

func newJoint() *joint { return &joint{counts: map[int64]quality.Agreement{}} }

// add adds pairs to the group of a member.
func (j *joint) add(member int64, pairs quality.Agreement) {
	j.counts[member] = plus(j.counts[member], pairs)
}

func plus(a, b quality.Agreement) quality.Agreement {
	return quality.Agreement{Both: a.Both + b.Both, Found: a.Found + b.Found, True: a.True + b.True, All: a.All + b.All}
}

// agreement returns the agreement for the given number of documents.
func (j *joint) agreement(documents int64) records.Agreement {
	byGroup := map[int64]quality.Agreement{}
	for member, pairs := range j.counts {
		root := j.groups.Find(member)
		byGroup[root] = plus(byGroup[root], pairs)
	}
	a := quality.Agreement{}
	var units []quality.Agreement
	for _, root := range slices.Sorted(maps.Keys(byGroup)) {
		a, units = plus(a, byGroup[root]), append(units, byGroup[root])
	}
	a.All = quality.Pairs(int(documents))
	return agree(a, units)
}

// ofPairs returns how found pairs agree with true ones among the given number of documents. Both lists are sorted and
// have no duplicates.
func ofPairs(found, truth []blocks.Edge, documents int64) records.Agreement {
	j := newJoint()
	count := func(pair blocks.Edge, as quality.Agreement) {
		j.groups.Union(int64(pair.A), int64(pair.B))
		j.add(int64(pair.A), as)
	}
	for _, pair := range truth {
		_, both := slices.BinarySearchFunc(found, pair, blocks.Edge.Compare)
		as := quality.Agreement{True: 1}
		if both {
			as.Both = 1
		}
		count(pair, as)
	}
	for _, pair := range found {
		count(pair, quality.Agreement{Found: 1})
	}
	return j.agreement(documents)
}
