package peers

import (
	"hash/maphash"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/bench/internal/process"
)

// judge agrees with counting by definition, with two nested loops over all pairs.
func TestJudge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few elements and many sets, so that there are pairs of all similarities.
		sets := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []uint64 {
			missing := rapid.SliceOfN(rapid.Uint64Range(0, 20), 0, 4).Draw(t, "missing")
			var set []uint64
			for e := range uint64(rapid.SampledFrom([]int{0, 3, 15, 20}).Draw(t, "size")) {
				if !slices.Contains(missing, e) {
					set = append(set, e)
				}
			}
			return set
		}), 1, 40).Draw(t, "sets")
		ids := map[string]int{}
		for n := range sets {
			ids[strconv.Itoa(n)] = n
		}
		a := newAnswer(ids)
		label := make([]int, len(sets))
		for n := range sets {
			label[n] = n
		}
		for range rapid.IntRange(0, 30).Draw(t, "joins") {
			x, y := rapid.IntRange(0, len(sets)-1).Draw(t, "x"), rapid.IntRange(0, len(sets)-1).Draw(t, "y")
			if err := a.join(strconv.Itoa(x), strconv.Itoa(y)); err != nil {
				t.Fatal(err)
			}
			from, to := label[x], label[y]
			for n := range label {
				if label[n] == from {
					label[n] = to
				}
			}
			if err := a.remove(strconv.Itoa(x)); err != nil {
				t.Fatal(err)
			}
		}

		var want quality
		for x := range sets {
			right := false
			for y := range sets {
				shared := 0
				for _, e := range sets[x] {
					if slices.Contains(sets[y], e) {
						shared++
					}
				}
				union := len(sets[x]) + len(sets[y]) - shared
				if x == y || union == 0 || 5*shared < 4*union {
					continue
				}
				together := label[x] == label[y]
				right = right || together
				if x > y {
					continue
				}
				want.Pairs++
				if together {
					want.PairsFound++
				}
				if 10*shared < 9*union {
					want.Near++
					if together {
						want.NearFound++
					}
				}
			}
			if a.removed[x] {
				want.Removed++
				if right {
					want.RemovedRightly++
				}
			}
		}
		nothing := newAnswer(ids)
		got := judge(sets, []*answer{a, nothing})
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(quality{Pairs: want.Pairs, Near: want.Near}, got[1]); diff != "" {
			t.Error("an answer without a cluster:", diff)
		}
	})
}

// Shingles have five words, or all words if there are fewer.
func TestShinglesOf(t *testing.T) {
	seed := maphash.MakeSeed()
	for text, want := range map[string][]string{
		"":              nil,
		"a":             {"a"},
		"a b c d":       {"a b c d"},
		"a b c d e":     {"a b c d e"},
		"aa b c d e ff": {"aa b c d e", "b c d e ff"},
	} {
		var hashes []uint64
		for _, s := range want {
			hashes = append(hashes, maphash.String(seed, s))
		}
		if got := shinglesOf(seed, []byte(text)); !slices.Equal(got, hashes) {
			t.Errorf("%q: %d shingles, not those of %q", text, len(got), want)
		}
	}
}

// Documents are found by id, in any order of lines, and the same words have the same name.
func TestWordSets(t *testing.T) {
	ids := map[string]int{"x": 0, "y": 1, "z": 2}
	write := func(lines string) string {
		path := filepath.Join(t.TempDir(), "words.txt")
		if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	name, sets, err := wordSets(write("y\ta b c d e f\nz\t\nx\ta b c d e\n"), ids)
	if err != nil {
		t.Fatal(err)
	}
	if len(sets[0]) != 1 || len(sets[1]) != 2 || len(sets[2]) != 0 || !slices.Contains(sets[1], sets[0][0]) {
		t.Errorf("sets %v", sets)
	}
	if other, _, err := wordSets(write("y\ta b c d e g\nz\t\nx\ta b c d e\n"), ids); err != nil || other == name {
		t.Errorf("other words have the name %s, too (%v)", other, err)
	}
	for _, lines := range []string{"x\ta\ny\tb\n", "x\ta\ny\tb\nother\tc\n"} {
		if _, _, err := wordSets(write(lines), ids); err == nil {
			t.Errorf("%q is no file of these documents, and was taken", lines)
		}
	}
}

// Articles without a body are left out; entities and ISO 8859-1 are decoded.
func TestArticles(t *testing.T) {
	got := articles([]byte("<!DOCTYPE lewis SYSTEM \"lewis.dtd\">\n" +
		"<REUTERS TOPICS=\"YES\" OLDID=\"5544\" NEWID=\"1\">\n<TEXT><TITLE>T</TITLE><BODY>a &lt;b> caf\xe9\n &#3;</BODY></TEXT>\n</REUTERS>\n" +
		"<REUTERS NEWID=\"2\">\n<TEXT>no body</TEXT>\n</REUTERS>\n" +
		"<REUTERS NEWID=\"3\"><BODY>c</BODY></REUTERS>\n"))
	want := []document{{"1", "a <b> café\n \x03"}, {"3", "c"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A table lists the measurements in which a peer is better, and only these.
func TestLosses(t *testing.T) {
	we := tool{Name: "neardup", ours: true, read: readResults}
	run := func(cpu, wall float64, peak int64) []process.Taken {
		return []process.Taken{{CPU: cpu + 1, Wall: wall + 1, Peak: peak + 1<<30}, {CPU: cpu, Wall: wall, Peak: peak}}
	}
	m := measured{corpus{Name: "c", TextBytes: 1e6}, []cell{
		{Tool: "neardup", tool: we, Runs: run(2, 5, 64<<20), Quality: &quality{Pairs: 10, PairsFound: 9}},
		{Tool: "thrifty", Runs: run(1, 6, 64<<20), Quality: &quality{Pairs: 10, PairsFound: 9}},
		{Tool: "thorough", Runs: run(3, 4, 99<<20), Quality: &quality{Pairs: 10, PairsFound: 10, Removed: 1}},
		{Tool: "stopped", Runs: run(1, 1, 1), Failed: "stopped after 1s"},
	}}
	got := table{Corpora: []measured{m}}.losses()
	want := []string{
		"c, CPU s: neardup 2.00; thrifty 1.00",
		"c, wall s: neardup 5.00; thorough 4.00",
		"c, share of pairs missed: neardup 0.10000; thorough 0.00000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var b strings.Builder
	if err := m.write(&b); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"| neardup | 2.00 | 3.00 | 2000.0 | 5.00 | 6.00 | 64 | 0.9000 of 10 | – of 0 | 0 | – |",
		"| stopped | stopped after 1s | | | | | 0 | | | | |",
	} {
		if !strings.Contains(b.String(), row+"\n") {
			t.Errorf("there is no row %s in\n%s", row, b.String())
		}
	}
}
