package dedup_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// Cases in which other tools are wrong: each pair of texts is put into one cluster, or not. Texts without a word are
// not compared, and are kept.
func TestHardCases(t *testing.T) {
	const (
		long    = "The committee met on Tuesday to discuss the budget for the coming year and agreed that further savings would have to be found in every department before the end of March."
		chinese = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜金生丽水玉出昆冈剑号巨阙珠称夜光果珍李柰菜重芥姜海咸河淡鳞潜羽翔龙师火帝鸟官人皇始制文字乃服衣裳"
		form    = "Dear customer, your account %1 shows a balance of %2 euros as of day %3 and %4 loyalty points; please pay %5 euros by day %6 quoting reference %7 and invoice %8."
	)
	changed := []rune(chinese)
	changed[len(changed)-1] = '她'
	formLetter := func(digits string) string {
		text := form
		for i, d := range strings.Fields(digits) {
			text = strings.ReplaceAll(text, "%"+string(rune('1'+i)), d)
		}
		return text
	}
	cases := []struct {
		name     string
		a, b     string
		together bool
		// compared is false if both texts are in rejected/.
		compared bool
	}{
		{"identical", long, long, true, true},
		{"only case and punctuation differ", long, strings.ToUpper(strings.ReplaceAll(long, " ", " - ")), true, true},
		{"composed and decomposed accents", "Élève où déjà naïve façon crème brûlée à la carte", "E\u0301le\u0300ve ou\u0300 de\u0301ja\u0300 nai\u0308ve fac\u0327on cre\u0300me bru\u0302le\u0301e a\u0300 la carte", true, true},
		{"identical, 3 words", "see you tomorrow", "see you tomorrow", true, true},
		{"identical, 1 word", "thanks", "thanks", true, true},
		{"3 words, another order", "one two three", "three two one", false, true},
		{"1 word and 3", "thanks", "thanks a lot", false, true},
		{"two empty texts", "", "", false, false},
		{"two texts without a word", "!!! ???", "... ---", false, false},
		{"the same text without a word", ":-)", ":-)", false, false},
		{"identical Chinese, no spaces", chinese, chinese, true, true},
		{"Chinese, one character changed", chinese, string(changed), true, true},
		{"same form letter, all numbers differ", formLetter("101 20 3 44 15 6 907 1008"), formLetter("555 61 17 98 12 29 330 7421"), false, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "two.jsonl")
			writeJSONL(t, path, []string{c.a, c.b})
			config := ask(t, path)
			config.AllowEmpty = true
			r := run(t, config)
			together := len(rows[records.Clustered](t, r, "clusters")) == 2
			if together != c.together {
				t.Errorf("put together: %v, want %v", together, c.together)
			}
			rejected := rows[records.Rejected](t, r, "rejected")
			if want := 0; c.compared && len(rejected) != want {
				t.Errorf("%d rows in rejected, want none", len(rejected))
			}
			if !c.compared {
				if len(rejected) != 2 || rejected[0].Raw != nil || rejected[0].Reason != records.ReasonNoToken {
					t.Errorf("rejected %+v, want both texts, without a token", rejected)
				}
				corpus := read(t, filepath.Join(r.Dir, "corpus", "two.jsonl"))
				if strings.Count(corpus, "\n") != 2 {
					t.Errorf("the corpus holds %q, want both texts", corpus)
				}
			}
		})
	}
}

// TestGrownText: --max-doc-bytes limits the normalised text, however it grows.
func TestGrownText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grown.jsonl")
	grown := strings.Repeat("\ufdfa", 100) // each takes 3 bytes, and 33 when it is normalised
	writeJSONL(t, path, []string{grown, "a text of some words", "a text of some words", grown, grown[3:]})
	for name, change := range map[string]func(*dedup.Config){
		"minhash":   func(*dedup.Config) {},
		"classic":   func(c *dedup.Config) { c.Signature, c.Bands, c.Rows = "classic", 1, 1 },
		"salted":    func(c *dedup.Config) { c.Signature = "salted" },
		"complete":  func(c *dedup.Config) { c.Method = job.Complete },
		"exact":     func(c *dedup.Config) { c.Method = job.Exact; c.Same = "set" },
		"min-words": func(c *dedup.Config) { c.MinWords = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			config := ask(t, path)
			config.MaxDocBytes = 1000
			change(&config)
			r := run(t, config)
			rejected := rows[records.Rejected](t, r, "rejected")
			if len(rejected) != 3 {
				t.Fatalf("%d rows in rejected, want 3", len(rejected))
			}
			for _, row := range rejected {
				if row.Reason != records.ReasonTooLarge || !strings.Contains(row.Detail, "--max-doc-bytes is 1000") {
					t.Errorf("rejected %+v", row)
				}
			}
			if removed := rows[records.Removed](t, r, "removed"); len(removed) != 1 {
				t.Errorf("%d removed, want 1", len(removed))
			}
			if corpus := read(t, filepath.Join(r.Dir, "corpus", "grown.jsonl")); strings.Count(corpus, "\n") != 4 {
				t.Errorf("the corpus holds %q", corpus)
			}
		})
	}
}

// Real collections have many documents without words; none may be taken for a copy of another, whatever the shingles.
func TestWordlessTextsStayApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wordless.jsonl")
	writeJSONL(t, path, []string{"", " ", "\n\n", "...", "***", "…", "—", "?!", "\u200b", "\u00a0"})
	for _, shingle := range []string{"word:5", "char:9", "byte:13"} {
		config := ask(t, path, "--shingle="+shingle)
		config.AllowEmpty = true
		r := run(t, config)
		if n := r.Run.Counts.NotCompared; n != 10 {
			t.Errorf("%s: %d of 10 texts were not compared", shingle, n)
		}
		if n := r.Run.Counts.Corpus; n != 10 {
			t.Errorf("%s: %d of 10 texts are in the corpus", shingle, n)
		}
	}
}
