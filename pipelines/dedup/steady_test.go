package dedup_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Bands and rows do not depend on where the windows of the sample are: rotating the corpus moves them by fifths of the
// distance between two.
func TestChoiceIsSteady(t *testing.T) {
	const places, windows = 5, 256
	for _, c := range []corpus{
		reuters(t), imdb(t), bbc(t), licenses(t), kijiji(t), allPages(t), messages(t), thai(t), articles(t, "2500"), newsgroups(t), mails(t),
	} {
		t.Run(c.name, func(t *testing.T) {
			chosen := map[string][]string{}
			for place := range places {
				first := len(c.ids) * place / (places * windows)
				turned := asJSON(t, corpus{
					name:  c.name,
					ids:   append(slices.Clone(c.ids[first:]), c.ids[:first]...),
					texts: append(slices.Clone(c.texts[first:]), c.texts[:first]...),
				})
				plan, err := planOf(t, turned.config)
				if err != nil {
					t.Fatal(err)
				}
				key := fmt.Sprintf("%d × %d", plan.Choice.Bands, plan.Choice.Rows)
				chosen[key] = append(chosen[key], fmt.Sprintf("%.3f", plan.Choice.BackgroundEdges))
			}
			if len(chosen) != 1 {
				t.Errorf("%v: background edges by bands × rows", chosen)
			}
		})
	}
}

func newsgroups(t *testing.T) corpus {
	return members(t, "newsgroups20", "20_newsgroup.tar.gz")
}

func mails(t *testing.T) corpus {
	return members(t, "spamassassin", "spamassassin_txt.tar.gz")
}

// members returns the files of an archive, with U+FFFD for what is not UTF-8.
func members(t *testing.T, name, archive string) corpus {
	texts := unpacked(t, filepath.Join(found(t, name), archive))
	c := corpus{name: name}
	for _, id := range slices.Sorted(maps.Keys(texts)) {
		c.ids, c.texts = append(c.ids, id), append(c.texts, strings.ToValidUTF8(texts[id], "\uFFFD"))
	}
	return c
}
