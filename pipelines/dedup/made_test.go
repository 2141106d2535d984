package dedup_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

var update = flag.Bool("update", false, "make the files of testdata/made anew")

// madeWords is how many words a made document has: 36 shingles of 5, all different.
const (
	madeWords    = 40
	madeShingles = madeWords - 5 + 1
)

// madeDocument is a document of a family: the family's words, with the first head and the last tail words replaced by
// words that no other document has.
type madeDocument struct{ family, head, tail int }

// similarity returns the known similarity of two different documents of a family. Each replaced word changes one
// shingle at its end of the text, and what either document has replaced is not shared.
func (d madeDocument) similarity(e madeDocument) float64 {
	shared := madeShingles - max(d.head, e.head) - max(d.tail, e.tail)
	return float64(shared) / float64(2*madeShingles-shared)
}

// made returns the documents of the generated files, in their order, and the texts that follow them. In each family two
// are exactly .8 similar to the family's own text, at its end and at its beginning, and not to each other; one falls
// just short of .8. Every fourth family has a copy.
func made() (documents []madeDocument, others []string) {
	for family := range 36 {
		for _, d := range []madeDocument{{tail: 4}, {}, {head: 4}, {tail: 5}, {tail: 1}} {
			d.family = family
			documents = append(documents, d)
		}
		if family%4 == 0 {
			documents = append(documents, madeDocument{family: family})
		}
	}
	return documents, []string{
		"", "—", "R&D at <ÅNGSTRÖM> costs 5 £", "r d AT ångström; costs 5", "one", "One!", "one two", "two one", "naïve café", "naive cafe", "&lt;",
	}
}

// word returns the n-th generated word: syllables of a consonant and a vowel, all words different.
func word(n int) string {
	const consonants, vowels = "bdfglmnprstvz", "aeiou"
	var w strings.Builder
	for range 4 {
		w.WriteByte(consonants[n%len(consonants)])
		n /= len(consonants)
		w.WriteByte(vowels[n%len(vowels)])
		n /= len(vowels)
	}
	return w.String()
}

// text returns the text of the n-th document.
func (d madeDocument) text(n int) string {
	var words []string
	for i := range madeWords {
		if i < d.head || i >= madeWords-d.tail {
			words = append(words, word(100_000+n*madeWords+i))
		} else {
			words = append(words, word(d.family*madeWords+i))
		}
	}
	return strings.Join(words, " ")
}

// madeTexts returns the texts of the generated files. Of two copies, the second is written differently.
func madeTexts() (texts []string) {
	documents, others := made()
	seen := map[madeDocument]bool{}
	for n, d := range documents {
		text := d.text(n)
		if seen[d] {
			text = strings.ToUpper(strings.ReplaceAll(text, " ", ", ")) + "."
		}
		seen[d] = true
		texts = append(texts, text)
	}
	return append(texts, others...)
}

// sgml writes texts in the format of Reuters-21578: Latin-1, with entities, broken lines and control characters. An
// empty text has no BODY.
func sgml(t *testing.T, texts []string) string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE lewis SYSTEM \"lewis.dtd\">\n")
	for i, text := range texts {
		text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "—", "--").Replace(text)
		for at := 60; at < len(text); at += 60 {
			if blank := strings.IndexByte(text[at:], ' '); blank >= 0 {
				text = text[:at+blank] + "\n" + text[at+blank+1:]
			}
		}
		fmt.Fprintf(&b, "<REUTERS TOPICS=\"NO\" OLDID=\"%d\" NEWID=\"%d\">\n<DATE> 1-JAN-2000 00:00:%02d.00</DATE>\n<TEXT>&#2;\n<TITLE>MADE &lt;%[2]d></TITLE>", 5000+i, i+1, i%60)
		if text != "" {
			fmt.Fprintf(&b, "<DATELINE>    ROME, Jan 1 - </DATELINE><BODY>%s\n&#3;</BODY>", text)
		}
		b.WriteString("</TEXT>\n</REUTERS>\n")
	}
	latin1, err := charmap.ISO8859_1.NewEncoder().String(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return latin1
}

// tsv writes texts in the format of kijiji_rome: the first word is the title, values end in a space, and there are bare
// quotes.
func tsv(texts []string) string {
	var b strings.Builder
	b.WriteString("Title\tShort Description\tLocation\tPrice (Euro)\tTimestamp\tUrl Adv\n")
	for i, text := range texts {
		title, description, _ := strings.Cut(text, " ")
		fmt.Fprintf(&b, "%s \t%s \tRome \"centre\"\t%d\t%02d:%02d\thttps://ads.example/%d\n", title, description, 400+i, i/60, i%60, i)
	}
	return b.String()
}

// The files are what the functions above generate.
func TestMadeFiles(t *testing.T) {
	texts := madeTexts()
	if len(texts) != 200 {
		t.Fatalf("%d records, want 200", len(texts))
	}
	for name, want := range map[string]string{"made.sgm": sgml(t, texts), "made.tsv": tsv(texts)} {
		path := filepath.Join("../../testdata/made", name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if read(t, path) != want {
			t.Errorf("%s is not as made; run go test ./pipelines/dedup -run TestMadeFiles -update", path)
		}
	}
}

// For both files, each method that finds near-duplicates finds the pairs that follow from how the documents are made,
// and those of the oracle, which reads the files with other code.
func TestMadeAnswers(t *testing.T) {
	documents, _ := made()
	for _, c := range []corpus{newswire(t, "made.sgm", "../../testdata/made/made.sgm"), ads(t, "made.tsv", "../../testdata/made/made.tsv")} {
		known := map[[2]string]float64{}
		copies := map[string]string{}
		first := map[madeDocument]int{}
		for j, e := range documents {
			if i, ok := first[e]; ok {
				copies[c.ids[j]] = c.ids[i]
				continue
			}
			for d, i := range first {
				if s := d.similarity(e); d.family == e.family && s >= .8 {
					known[[2]string{c.ids[i], c.ids[j]}] = s
				}
			}
			first[e] = j
		}
		// Three pairs with the family's own text, and one pair of texts with other ends.
		const families, pairs = 36, 4
		if len(known) != families*pairs || len(copies) != families/4 {
			t.Fatalf("%s: %d pairs, %d copies by construction", c.name, len(known), len(copies))
		}
		maps.Copy(copies, map[string]string{c.ids[192]: c.ids[191], c.ids[194]: c.ids[193]}) // copies among the other texts
		o := newOracle(c.texts, func(text string) map[string]bool { return wordShingles(text, 5) }, .8)
		told := map[[2]string]float64{}
		for pair, s := range o.near(.8) {
			told[[2]string{c.ids[pair[0]], c.ids[pair[1]]}] = s
		}
		if !maps.Equal(told, known) {
			t.Fatalf("%s: the oracle finds %d pairs, by construction there are %d: %v", c.name, len(told), len(known), told)
		}
		for _, method := range []string{job.MinHash, job.Complete, job.Exact} {
			config := c.config
			config.Output = filepath.Join(t.TempDir(), "out")
			config.Method = method
			if method == job.MinHash {
				config.Bands, config.Rows = 40, 3 // a pair of .8 is missed with a probability of 3e-13
			}
			if method == job.Exact {
				config.Same = "set"
			}
			r := run(t, config)
			near, same := map[[2]string]float64{}, map[string]string{}
			for _, p := range rows[records.Pair](t, r, "pairs") {
				if p.Copy() {
					same[p.IDB] = p.IDA
				} else {
					near[[2]string{p.IDA, p.IDB}] = p.Similarity
				}
			}
			want := known
			if method == job.Exact {
				want = map[[2]string]float64{}
			}
			if !maps.Equal(near, want) || !maps.Equal(same, copies) {
				t.Errorf("%s, --method %s: %d near pairs and the copies %v; want %d and %v", c.name, method, len(near), same, len(want), copies)
			}
			if n := r.Run.Counts; n.Records != 200 || n.Unreadable != 0 || n.NotCompared != 2 {
				t.Errorf("%s, --method %s: %+v", c.name, method, n)
			}
		}
	}
}
