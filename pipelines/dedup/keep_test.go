package dedup_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// ranked is a document with values by which policies rank it.
type ranked struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Date *int   `json:"date"`
	file string
	set  map[string]bool
}

func (d *ranked) similarTo(o *ranked, least float64) bool { return d.similarity(o) >= least }

func (d *ranked) similarity(o *ranked) float64 {
	shared := 0
	for word := range d.set {
		if o.set[word] {
			shared++
		}
	}
	return float64(shared) / float64(len(d.set)+len(o.set)-shared)
}

// families returns documents in three files, in input order: the words of a family, some of them changed, with spaces
// that only affect the length.
func families(t *testing.T, folder string) (all []*ranked) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 11))
	for _, file := range []string{"a.jsonl", "b.jsonl", "c.jsonl"} {
		var lines []byte
		for i := range 60 {
			family := random.IntN(12)
			words := make([]string, 8)
			for w := range words {
				words[w] = fmt.Sprintf("w%dx%d", family, w)
				if random.IntN(6) == 0 {
					words[w] = fmt.Sprintf("y%d", random.IntN(9))
				}
			}
			d := &ranked{ID: fmt.Sprintf("%s%d", file[:1], i), file: file, set: map[string]bool{}}
			for _, word := range words {
				d.set[word] = true
			}
			d.Text = strings.Join(words, strings.Repeat(" ", 1+random.IntN(2)))
			if date := random.IntN(4); date > 0 {
				d.Date = &date
			}
			line, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(append(lines, line...), '\n')
			all = append(all, d)
		}
		if err := os.WriteFile(filepath.Join(folder, file), lines, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// comparePolicy orders two documents by a policy.
func comparePolicy(policy string, a, b *ranked) int {
	name, argument, _ := strings.Cut(policy, ":")
	switch name {
	case "longest":
		return cmp.Compare(len(b.Text), len(a.Text))
	case "max", "min":
		switch {
		case a.Date == nil || b.Date == nil: // missing dates last
			return cmp.Compare(map[bool]int{true: 1}[a.Date == nil], map[bool]int{true: 1}[b.Date == nil])
		case name == "max":
			return cmp.Compare(*b.Date, *a.Date)
		}
		return cmp.Compare(*a.Date, *b.Date)
	case "prefer":
		place := func(d *ranked) int { return len(argument) - strings.Index(argument+d.file, d.file) }
		return cmp.Compare(place(b), place(a))
	}
	return 0
}

// Several policies decide one after another, and none keeps nothing, as in a model of star and of components.
func TestKeepSeveral(t *testing.T) {
	folder := t.TempDir()
	all := families(t, folder)
	byID := map[string]*ranked{}
	for _, d := range all {
		byID[d.ID] = d
	}
	const least = .5
	for _, policies := range [][]string{
		{"first"}, {"longest"}, {"min:date"}, {"prefer:c.jsonl,b.jsonl"}, {"longest", "max:date"}, {"max:date", "longest"},
		{"min:date", "prefer:b.jsonl", "longest"}, {"prefer:c.jsonl", "max:date"}, {"longest", "prefer:b.jsonl,c.jsonl", "first"},
		{"none"},
	} {
		for _, cluster := range []string{job.Star, job.Components} {
			order := slices.Clone(all)
			slices.SortStableFunc(order, func(a, b *ranked) int {
				for _, policy := range policies {
					if c := comparePolicy(policy, a, b); c != 0 {
						return c
					}
				}
				return 0
			})
			removed := map[string]bool{}
			var kept []*ranked
			inCluster := map[string]bool{}
			component := map[*ranked]int{}
			for i, d := range order {
				component[d] = i
			}
			for _, a := range order {
				for _, b := range order {
					if a != b && a.similarTo(b, least) {
						inCluster[a.ID] = true
						from, to := max(component[a], component[b]), min(component[a], component[b])
						for d, c := range component {
							if c == from {
								component[d] = to
							}
						}
					}
				}
			}
			first := map[int]bool{}
			for _, d := range order {
				gone := first[component[d]]
				first[component[d]] = true
				if cluster == job.Star {
					gone = slices.ContainsFunc(kept, func(k *ranked) bool { return k.similarTo(d, least) })
				}
				if policies[0] == "none" {
					gone = inCluster[d.ID]
				}
				if gone {
					removed[d.ID] = true
				} else {
					kept = append(kept, d)
				}
			}
			flags := []string{folder, "--shingle=word:1", fmt.Sprint("--threshold=", least), "--method=complete", "--cluster=" + cluster, allParts}
			for _, policy := range policies {
				flags = append(flags, "--keep="+policy)
			}
			f := finished(t, flags...)
			got, itself := map[string]bool{}, 0
			for _, row := range rows[records.Removed](t, f, output.Removed) {
				got[row.ID] = true
				if row.ID != row.KeptID {
					continue
				}
				itself++
				highest, reason := 0., records.ReasonNear
				for _, d := range all {
					if other := byID[row.ID]; d != other {
						highest = max(highest, d.similarity(other))
					}
				}
				if highest == 1 { // to a copy
					reason = records.ReasonSameSet
				}
				if policies[0] != "none" || row.Similarity == nil || *row.Similarity != highest || row.Reason != reason {
					t.Errorf("%q, %s: %+v, want similarity %v, %s", policies, cluster, row, highest, reason)
				}
			}
			if !maps.Equal(got, removed) || len(got) == 0 || itself == 0 && policies[0] == "none" {
				t.Errorf("%q, %s: %d are removed, want %d", policies, cluster, len(got), len(removed))
			}
			for _, row := range rows[records.Clustered](t, f, output.Clusters) {
				if row.Kept != !removed[row.ID] {
					t.Errorf("%q, %s: %s kept: %t", policies, cluster, row.ID, row.Kept)
				}
			}
		}
	}
}

// Policies without effect are refused.
func TestKeepRefused(t *testing.T) {
	for flags, want := range map[string]string{
		"--keep=none --keep=longest":                "--keep none: cannot be combined",
		"--keep=longest --keep=none":                "--keep none: cannot be combined",
		"--keep=first --keep=longest":               "--keep first: cannot be combined",
		"--keep=longest --keep=longest":             "--keep longest: it is given twice",
		"--keep=max:a --keep=min:b":                 "only one column can decide",
		"--keep=longest --keep=biggest":             "--keep biggest: must be first",
		"--keep=longest --keep=prefer:[":            "prefer:[",
		"--keep=max:a --keep=first --keep=prefer:b": "--keep first: cannot be combined",
	} {
		_, err := dedup.New(t.Context(), ask(t, append(strings.Fields(flags), "in.jsonl")...))
		if job.Status(err) != 2 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %s", flags, err, want)
		}
	}
}
