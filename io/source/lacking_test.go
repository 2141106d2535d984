package source

import (
	"fmt"
	"math/rand/v2"
	"path"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/records"
)

// TestLacking checks that the sources reported to lack a text column are those that a count by source finds, whatever
// the order of splits.
func TestLacking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := &blocks.Inputs{}
		type split struct {
			key                blocks.Key
			documents, without int64
		}
		var splits []split
		var order []string
		counts := map[string]*records.NoColumn{}
		for file := range rapid.IntRange(1, 40).Draw(t, "files") {
			source := fmt.Sprintf("%d/%d", rapid.IntRange(0, 2).Draw(t, "folder"), file)
			in.Add(&blocks.File{Path: "/" + source, Source: source}, nil, nil)
			n := records.NoColumn{Source: source}
			for i := range rapid.IntRange(1, 3).Draw(t, "splits") {
				s := split{key: blocks.NewKey(file, int64(i)), documents: rapid.Int64Range(0, 2).Draw(t, "documents")}
				s.without = rapid.SampledFrom([]int64{0, s.documents}).Draw(t, "without")
				splits = append(splits, s)
				if n.Columns == "" && s.without > 0 {
					n.Columns = s.key.String()
				}
				n.Of, n.Documents = n.Of+s.documents, n.Documents+s.without
			}
			name := source
			if n.Of == 1 {
				name = path.Dir(source)
			}
			of := counts[name]
			if of == nil {
				of = &records.NoColumn{Source: source}
				counts[name] = of
			} else {
				of.Source = "files in " + name + " with one record each"
			}
			of.Of, of.Documents = of.Of+n.Of, of.Documents+n.Documents
			if of.Columns == "" {
				of.Columns = n.Columns
			}
			if n.Documents > 0 && of.Documents == n.Documents {
				order = append(order, name)
			}
		}
		var want []records.NoColumn
		whole := int64(0)
		for _, asked := range []bool{true, false} {
			for _, source := range order {
				if n := counts[source]; n.Whole() == asked {
					want = append(want, *n)
					if asked {
						whole += n.Documents
					}
				}
			}
		}
		var lacking Lacking
		seed := rapid.Uint64().Draw(t, "seed")
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(splits), func(i, j int) { splits[i], splits[j] = splits[j], splits[i] })
		for _, s := range splits {
			lacking.Add(s.key, s.documents, s.without, s.key.String())
		}
		got, gotWhole := lacking.Sources(in)
		want = want[:min(len(want), records.MostSources)]
		for i := range got { // the columns of this many files are known
			if got[i].Columns == "" && in.Len() > records.MostSources {
				want[i].Columns = ""
			}
		}
		if gotWhole != whole || !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
			t.Fatalf("%+v, %d; want %+v, %d", got, gotWhole, want, whole)
		}
	})
}
