package dedup_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	indexes "github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// archive is a folder with a subfolder for each night.
type archive struct {
	dir    string
	nights []string
}

// archiveAtRandom distributes texts over nights, in order: some have long texts, some have no document, or only an
// empty file. Some records have no id, some no text to compare, and some are unreadable.
func archiveAtRandom(t *testing.T, r *rand.Rand, texts []string, nights int) (l archive) {
	t.Helper()
	l.dir = t.TempDir()
	cuts := make([]int, nights)
	for i := range cuts {
		cuts[i] = r.IntN(len(texts) + 1)
	}
	slices.Sort(cuts)
	cuts[nights-1] = len(texts)
	from := 0
	for night, to := range cuts {
		dir := filepath.Join(l.dir, fmt.Sprintf("night%02d", night))
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		l.nights = append(l.nights, dir)
		files := [2][]byte{}
		for i := from; i < to; i++ {
			file := &files[2*(i-from)/(to-from)] // the first half goes to the first file
			switch r.IntN(12) {
			case 0:
				*file = fmt.Appendf(*file, "{broken %d\n", i)
			case 1:
				*file = fmt.Appendf(*file, `{"id":"%d","text":"..."}`+"\n", i)
			case 2:
				title, text, _ := strings.Cut(texts[i], " ")
				*file = fmt.Appendf(*file, `{"title":%q,"text":%q}`+"\n", title, text)
			default:
				*file = fmt.Appendf(*file, `{"id":"%d","text":%q}`+"\n", i, texts[i])
			}
		}
		for i, name := range []string{"a.jsonl", "b.jsonl"} {
			if err := os.WriteFile(filepath.Join(dir, name), files[i], 0o666); err != nil {
				t.Fatal(err)
			}
		}
		from = to
	}
	return l
}

// relatives returns texts of families. Some are halfway between two others, so that the most similar document is often
// not the first.
func relatives(r *rand.Rand, n int) []string {
	texts := family(r, n)
	for j := range texts {
		a, b := strings.Fields(texts[r.IntN(j+1)]), strings.Fields(texts[r.IntN(j+1)])
		if len(a) == len(b) && len(a) > 8 && r.IntN(2) == 0 {
			half := r.IntN(len(a))
			texts[j] = strings.Join(slices.Concat(a[:half], b[half:]), " ")
		}
	}
	return texts
}

// more returns how many cases to try: ten times as many in nightly tests.
func more(cases uint64) uint64 {
	if nightly.On() {
		cases *= 10
	}
	return cases
}

// place identifies a document independently of its id.
type place struct {
	file     string
	position int64
}

// removal is a row of removed/, with places instead of names.
type removal struct {
	KeptBy     place
	KeptID     string
	Reason     string
	Similarity float64 // -1 if there is none
}

// decisions are all decisions of runs about documents.
type decisions struct {
	Removed  map[place]removal
	Rejected map[place]string
	Corpus   map[string]string // by path of the input
}

// add adds the decisions of a run.
func (d *decisions) add(t *testing.T, l *archive, r *output.Finished) {
	t.Helper()
	root := r.Run.Input.Root
	path := func(source string) string {
		if !filepath.IsAbs(source) {
			source = filepath.Join(root, source)
		}
		return strings.TrimPrefix(source, l.dir+"/")
	}
	id := func(id string) string { // made of a source and a position, if there is no id
		if source, at, ok := strings.Cut(id, "@"); ok {
			return path(source) + "@" + at
		}
		return id
	}
	for _, row := range rows[records.Removed](t, r, output.Removed) {
		f := removal{place{path(row.KeptSource), row.KeptPosition}, id(row.KeptID), row.Reason, -1}
		if row.Similarity != nil {
			f.Similarity = *row.Similarity
		}
		d.Removed[place{path(row.Source), row.Position}] = f
	}
	for _, row := range rows[records.Rejected](t, r, output.Rejected) {
		d.Rejected[place{path(row.Source), row.Position}] = row.Reason
	}
	files, err := filepath.Glob(filepath.Join(root, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(root, "*/*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, more...) {
		below, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		corpus, err := os.ReadFile(filepath.Join(r.Dir, "corpus", below))
		if err != nil {
			t.Fatal(err)
		}
		d.Corpus[path(file)] = string(corpus)
	}
}

func none() decisions {
	return decisions{map[place]removal{}, map[place]string{}, map[string]string{}}
}

// grow runs over one night after another, each against the index and added to it. Occasionally it prunes the index.
func (l *archive) grow(t *testing.T, dir string, nights []string, set func(*dedup.Config)) (outputs []*output.Finished) {
	t.Helper()
	for _, night := range nights {
		config := ask(t, night, "--against="+dir, "--append", "--max-rejected=1000000", "--allow-empty")
		set(&config)
		outputs = append(outputs, runOnly(t, config))
		if len(outputs)%3 == 0 {
			if _, err := dedup.PruneIndex(t.Context(), dir, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	return outputs
}

// indexOf makes an index with the settings of a spec.
func indexOf(t *testing.T, of records.Spec) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "index")
	if _, err := dedup.CreateIndex(t.Context(), dir, of, 1000); err != nil {
		t.Fatal(err)
	}
	return dir
}

// whole runs once over all nights, with the settings of the index.
func (l *archive) whole(t *testing.T, of records.Spec) *output.Finished {
	t.Helper()
	config := ask(t, l.dir, "--max-rejected=1000000", "--allow-empty")
	config.Threshold, config.Method, config.Same, config.PairBudget = of.Threshold, of.Method, of.Same, of.PairBudget
	config.Bands, config.Rows, config.MinWords, config.Shingle, config.Text = of.Bands, of.Rows, of.MinWords, of.Shingle, of.Text
	return runOnly(t, config)
}

// specs returns settings whose searches miss nothing.
func specs() map[string]records.Spec {
	specs := map[string]records.Spec{}
	with := func(name, method string, set func(*records.Spec)) {
		of := records.Default()
		of.Method, of.Threshold = method, .6
		set(&of)
		specs[name] = of
	}
	keys := func(of *records.Spec) { of.Bands, of.Rows = 1024, 1 }
	with("minhash", job.MinHash, keys)
	with("minhash, crowds", job.MinHash, func(of *records.Spec) { keys(of); of.PairBudget = 1 })
	with("minhash, min words", job.MinHash, func(of *records.Spec) { keys(of); of.MinWords = 9 })
	with("minhash, two columns", job.MinHash, func(of *records.Spec) { keys(of); of.Text = []string{"title", "text"} })
	with("complete", job.Complete, func(*records.Spec) {})
	with("complete, crowds", job.Complete, func(of *records.Spec) { of.PairBudget = 1 })
	with("complete, characters", job.Complete, func(of *records.Spec) { of.Shingle = "char:5"; of.Threshold = .8 })
	for _, same := range []string{"bytes", "tokens", "set"} {
		with("exact "+same, job.Exact, func(of *records.Spec) { of.Same, of.Threshold = same, records.Default().Threshold })
	}
	return specs
}

// TestNights: nights that use an index remove the same documents as one run over all of them, for the same kept ones,
// with the same similarities and reasons. Each night reports what it cannot read or compare, and each corpus has the
// same bytes.
func TestNights(t *testing.T) {
	others, compared := 0, int64(0) // documents similar to those of other nights, and pairs of an index
	seed := uint64(0)
	for _, name := range slices.Sorted(maps.Keys(specs())) {
		of := specs()[name]
		for range more(1) {
			seed++
			r := rand.New(rand.NewPCG(seed, 45))
			nights := 1 + r.IntN(12)
			if seed%7 == 0 {
				nights = 30
			}
			l := archiveAtRandom(t, r, relatives(r, 20+r.IntN(80)), nights)
			small := r.IntN(2) == 0
			want, got := none(), none()
			want.add(t, &l, l.whole(t, of))
			for _, night := range l.grow(t, indexOf(t, of), l.nights, func(c *dedup.Config) {
				if small {
					c.CellBytes, c.SplitBytes, c.ConnectDocuments = 600, 300, 10
				}
			}) {
				got.add(t, &l, night)
				missed := missedBy(night)
				if compared += missed.Compared; missed.Missed > 0 {
					t.Errorf("%s, seed %d: the index has missed %d pairs", name, seed, missed.Missed)
				}
			}
			if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(place{})); diff != "" {
				t.Errorf("%s, seed %d: %d nights are not one run:\n%s", name, seed, nights, diff)
			}
			for doc, f := range want.Removed {
				night, _, _ := strings.Cut(doc.file, "/")
				if f.Reason == records.ReasonNear && !strings.HasPrefix(f.KeptBy.file, night) {
					others++
				}
			}
		}
	}
	if others < 20 {
		t.Errorf("%d documents resemble those of other nights", others)
	}
	if compared == 0 {
		t.Error("no pair of an index is compared")
	}
}

// missedBy returns what a night reports about pairs that the index missed.
func missedBy(night *output.Finished) records.IndexMissed {
	if of := night.Run.References; of != nil { // else the index is still empty
		return *of.Index
	}
	return records.IndexMissed{}
}

// TestNightsMiss: with few bands, nights decide by the pairs that they list, and lack no pair of a kept document except
// those that no band finds.
func TestNightsMiss(t *testing.T) {
	missed, counted := 0, int64(0)
	for seed := range more(8) {
		r := rand.New(rand.NewPCG(seed, 46))
		of := records.Default()
		of.Threshold, of.Bands, of.Rows = .5, 3+int(seed)%3, 4
		if seed%8 > 5 {
			of.Bands, of.Rows = 60, 2 // these miss nothing
		}
		l := archiveAtRandom(t, r, relatives(r, 100), 1+r.IntN(9))
		all := of
		all.Method, all.Bands, all.Rows, all.PairBudget = job.Complete, 0, 0, 1<<30
		var listed []records.Pair
		got := none()
		told, nights := int64(0), l.grow(t, indexOf(t, of), l.nights, func(*dedup.Config) {})
		for _, night := range nights {
			got.add(t, &l, night)
			listed = append(listed, absolute(t, night)...)
			told += missedBy(night).Missed
		}
		want := star(&l, listed)
		for doc, f := range got.Removed {
			f.KeptID, f.Reason = "", ""
			got.Removed[doc] = f
		}
		if diff := gocmp.Diff(want, got.Removed, gocmp.AllowUnexported(place{})); diff != "" {
			t.Errorf("seed %d: nights do not decide by the pairs that they list:\n%s", seed, diff)
		}
		kept := int64(0) // similar pairs of kept documents
		found := map[[2]place]bool{}
		for _, row := range listed {
			found[between(&l, row)] = true
		}
		for _, row := range absolute(t, l.whole(t, all)) {
			two := between(&l, row)
			_, a := got.Removed[two[0]]
			_, b := got.Removed[two[1]]
			if found[two] || row.Same != nil || a || b {
				continue
			}
			missed++
			kept++
			if pairs := absolute(t, l.alone(t, of, two)); len(pairs) > 0 {
				t.Errorf("seed %d: nights miss %v, which share a band", seed, two)
			}
		}
		if counted += told; told > kept*int64(len(nights)) {
			t.Errorf("seed %d: nights count %d missed pairs, and %d are", seed, told, kept)
		}
	}
	if missed == 0 || counted == 0 {
		t.Errorf("%d pairs are missed, and nights have counted %d", missed, counted)
	}
}

// absolute returns the pairs of a run, with absolute paths.
func absolute(t *testing.T, r *output.Finished) (pairs []records.Pair) {
	for _, row := range rows[records.Pair](t, r, output.Pairs) {
		for _, source := range []*string{&row.SourceA, &row.SourceB} {
			if !filepath.IsAbs(*source) {
				*source = filepath.Join(r.Run.Input.Root, *source)
			}
		}
		pairs = append(pairs, row)
	}
	return pairs
}

func between(l *archive, row records.Pair) [2]place {
	return [2]place{
		{strings.TrimPrefix(row.SourceA, l.dir+"/"), row.PositionA}, {strings.TrimPrefix(row.SourceB, l.dir+"/"), row.PositionB},
	}
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.file, q.file), cmp.Compare(p.position, q.position))
}

// star decides by the definition: a document is removed if an earlier kept one is similar to it, for the most similar
// of these, and a copy like the document that it copies.
func star(l *archive, pairs []records.Pair) map[place]removal {
	type near struct {
		to         place
		similarity float64
	}
	earlier, copyOf := map[place][]near{}, map[place]place{}
	for _, row := range pairs {
		two := between(l, row)
		slices.SortFunc(two[:], place.compare)
		if row.Same != nil {
			copyOf[two[1]] = two[0]
		}
		earlier[two[1]] = append(earlier[two[1]], near{two[0], row.Similarity})
	}
	fates := map[place]removal{}
	for _, doc := range slices.SortedFunc(maps.Keys(earlier), place.compare) {
		if first, ok := copyOf[doc]; ok {
			if f, gone := fates[first]; gone {
				fates[doc] = f
			} else {
				fates[doc] = removal{KeptBy: first, Similarity: 1}
			}
			continue
		}
		best := near{}
		slices.SortFunc(earlier[doc], func(a, b near) int { return a.to.compare(b.to) })
		for _, n := range earlier[doc] {
			if _, gone := fates[n.to]; !gone && n.similarity > best.similarity {
				best = n
			}
		}
		if best.similarity > 0 {
			fates[doc] = removal{KeptBy: best.to, Similarity: best.similarity}
		}
	}
	return fates
}

// alone runs over only two documents.
func (l *archive) alone(t *testing.T, of records.Spec, two [2]place) *output.Finished {
	t.Helper()
	only := archive{dir: t.TempDir()}
	for i, doc := range two {
		line, _, _ := strings.Cut(read(t, filepath.Join(l.dir, doc.file))[doc.position:], "\n")
		if err := os.WriteFile(filepath.Join(only.dir, strconv.Itoa(i)+".jsonl"), []byte(line+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return only.whole(t, of)
}

// spoil replaces a few bytes of a text that goes into JSON by invalid bytes, halves of surrogate pairs, or U+FFFD, so
// that many texts differ only in these.
func spoil(r *rand.Rand, text string) string {
	spoilt := []string{"\xE9", "\xFF\xFE", `\ud800`, `\udc01`, "\uFFFD", `\ufffd\ufffd`}
	for range r.IntN(4) {
		at := r.IntN(len(text))
		if text[at] == 'w' { // not in an escape
			text = text[:at] + spoilt[r.IntN(len(spoilt))] + text[at+1:]
		}
	}
	return text
}

// spoiltArchive makes six nights of texts and returns the texts by place, as JSON has them. Ids and texts of all nights
// but two are spoilt; those of nights 2 and 4 are ASCII.
func spoiltArchive(t *testing.T, r *rand.Rand) (l archive, lines map[place]string) {
	t.Helper()
	const nightly = 10
	l.dir, lines = t.TempDir(), map[place]string{}
	texts := family(r, 6*nightly)
	for night := range 6 {
		var file []byte
		for i := night * nightly; i < (night+1)*nightly; i++ {
			id := fmt.Sprintf("www%d", i)
			if night != 2 && night != 4 {
				if r.IntN(2) == 0 {
					texts[i] = texts[r.IntN(i+1)]
				}
				id, texts[i] = spoil(r, id), spoil(r, texts[i])
			}
			lines[place{fmt.Sprintf("night%d/a.jsonl", night), int64(len(file))}] = texts[i]
			file = fmt.Appendf(file, `{"id":"%s","text":"%s"}`+"\n", id, texts[i])
		}
		dir := filepath.Join(l.dir, fmt.Sprintf("night%d", night))
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), file, 0o666); err != nil {
			t.Fatal(err)
		}
		l.nights = append(l.nights, dir)
	}
	return l, lines
}

// TestNightsKeepBytes: an index keeps the bytes of texts that are not UTF-8, and ids as the tables show them, so nights
// remove what one run over all of them removes. A night of ASCII may name any encoding, and need not accept such texts.
func TestNightsKeepBytes(t *testing.T) {
	invalid, replaced := 0, 0 // documents removed for an invalid text of another night, and for one whose id has U+FFFD
	for seed := range more(4) {
		r := rand.New(rand.NewPCG(seed, 50))
		of := records.Default()
		of.Shingle, of.Threshold = "char:5", .6
		switch seed % 4 {
		case 0:
			of.Bands, of.Rows = 128, 1
		case 1:
			of.Method = job.Complete
		default:
			of.Method, of.Threshold, of.Same = job.Exact, records.Default().Threshold, []string{"bytes", "set"}[seed%2]
		}
		l, lines := spoiltArchive(t, r)
		config := ask(t, l.dir)
		config.Threshold, config.Method, config.Same, config.Shingle = of.Threshold, of.Method, of.Same, of.Shingle
		config.Bands, config.Rows, config.InvalidUTF8 = of.Bands, of.Rows, "keep"
		want, got := none(), none()
		want.add(t, &l, runOnly(t, config))
		for _, night := range l.grow(t, indexOf(t, of), l.nights, func(c *dedup.Config) {
			if night := c.Inputs[0]; night == l.nights[2] || night == l.nights[4] {
				c.Encoding = "latin1"
			} else {
				c.InvalidUTF8 = "keep"
			}
		}) {
			got.add(t, &l, night)
		}
		if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(place{})); diff != "" {
			t.Errorf("seed %d: nights are not one run:\n%s", seed, diff)
		}
		for doc, f := range want.Removed {
			text := lines[f.KeptBy]
			if doc.file != f.KeptBy.file && (strings.Contains(text, `\ud`) || !utf8.ValidString(text)) {
				invalid++
			}
			if strings.Contains(f.KeptID, "\uFFFD") {
				replaced++
			}
		}
	}
	if invalid < 20 || replaced < 20 {
		t.Errorf("%d documents are removed for invalid texts of other nights, %d for ids with U+FFFD", invalid, replaced)
	}
}

// TestDropped: an index from which the last nights are dropped equals one that never had them.
func TestDropped(t *testing.T) {
	for seed := range more(2) {
		r := rand.New(rand.NewPCG(seed, 47))
		of := specs()["complete"]
		l := archiveAtRandom(t, r, relatives(r, 100), 5)
		dir, other := indexOf(t, of), indexOf(t, of)
		grown := l.grow(t, dir, l.nights[:4], func(*dedup.Config) {})
		l.grow(t, other, l.nights[:2], func(*dedup.Config) {})
		for _, night := range grown[2:] {
			if _, err := dedup.DropFromIndex(t.Context(), dir, night.Run.Job); err != nil {
				t.Fatal(err)
			}
		}
		want, got := none(), none()
		for _, night := range l.grow(t, other, l.nights[2:], func(*dedup.Config) {}) {
			want.add(t, &l, night)
		}
		for _, night := range l.grow(t, dir, l.nights[2:], func(*dedup.Config) {}) { // the dropped ones again
			got.add(t, &l, night)
		}
		if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(place{})); diff != "" {
			t.Errorf("seed %d: a dropped night leaves traces:\n%s", seed, diff)
		}
	}
}

// TestRebuilt: an index made from another has the documents kept there, as if it had been given only those, whatever is
// compared now.
func TestRebuilt(t *testing.T) {
	near := 0
	for i, ways := range [][2]string{{"complete", "minhash"}, {"minhash, crowds", "complete"}, {"complete", "exact tokens"}, {"minhash", "minhash, min words"}} {
		r := rand.New(rand.NewPCG(uint64(i), 48))
		from, to := specs()[ways[0]], specs()[ways[1]]
		to.Threshold = max(to.Threshold, .7) // so that nothing is similar to what was kept
		l := archiveAtRandom(t, r, relatives(r, 120), 5)
		dir, other, rebuilt := indexOf(t, from), indexOf(t, to), filepath.Join(t.TempDir(), "index")
		before, after := l.nights[:3], l.nights[3:]
		gone := none()
		for _, night := range l.grow(t, dir, before, func(*dedup.Config) {}) {
			gone.add(t, &l, night)
		}
		given := []string{"threshold", "method", "min_words", "pair_budget"}
		if to.Method == job.MinHash {
			given = append(given, "bands", "rows")
		}
		if to.Same != "" {
			given = append(given, "same")
		}
		x, err := dedup.RebuildIndex(t.Context(), rebuilt, dir, to, 1000, given, job.Running{Runner: job.Local},
			beamtest.Launch("local", local.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		for doc := range gone.Removed { // now it cannot be read
			file := filepath.Join(l.dir, doc.file)
			data := []byte(read(t, file))
			for i := doc.position; data[i] != '\n'; i++ {
				data[i] = '!'
			}
			if err := os.WriteFile(file, data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, night := range l.grow(t, other, before, func(*dedup.Config) {}) {
			if removed := rows[records.Removed](t, night, output.Removed); len(removed) > 0 {
				t.Fatalf("%s to %s: %v resembles what was kept", ways[0], ways[1], removed[0])
			}
		}
		want, got := none(), none()
		for _, night := range l.grow(t, other, after, func(*dedup.Config) {}) {
			want.add(t, &l, night)
		}
		for _, night := range l.grow(t, rebuilt, after, func(*dedup.Config) {}) {
			got.add(t, &l, night)
		}
		if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(place{})); diff != "" {
			t.Errorf("%s to %s: another index decides otherwise:\n%s", ways[0], ways[1], diff)
		}
		near += len(want.Removed)
	}
	if near < 20 {
		t.Errorf("%d documents are removed", near)
	}
}

// TestWaiting: if an output was published while its index could not be changed, readers of the index say that its
// documents are missing, no index is made of it, and prune adds them.
func TestWaiting(t *testing.T) {
	dir := indexOf(t, specs()["minhash"])
	current := filepath.Join(dir, "current.json")
	before := read(t, current)
	night := archiveAtRandom(t, rand.New(rand.NewPCG(7, 49)), family(rand.New(rand.NewPCG(7, 49)), 6), 1).dir
	against := []string{night, "--against=" + dir, "--max-rejected=1000000", "--allow-empty"}
	runOnly(t, ask(t, append(slices.Clip(against), "--append")...))
	x, err := dedup.OpenIndex(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	pending, err := json.Marshal(map[string]any{"segment": x.Segments[0]})
	if err != nil {
		t.Fatal(err)
	}
	run := x.Segments[0].Name
	if err := os.MkdirAll(filepath.Join(dir, "pending"), 0o777); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{current: before, filepath.Join(dir, "pending", run+".json"): string(pending)} {
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	warned := func() bool {
		f := runOnly(t, ask(t, against...))
		return slices.ContainsFunc(f.Run.Warnings, func(w string) bool {
			return strings.Contains(w, run) && strings.Contains(w, "neardup index prune "+dir)
		})
	}
	if !warned() {
		t.Error("a run against the index does not warn")
	}
	_, err = dedup.RebuildIndex(t.Context(), filepath.Join(t.TempDir(), "index"), dir, specs()["minhash"], 1000, nil,
		job.Running{Runner: job.Local}, beamtest.Launch("local", local.Options{}))
	if !errors.As(err, new(*job.UsageError)) {
		t.Errorf("another index is made of it: error %v", err)
	}
	if _, err := dedup.PruneIndex(t.Context(), dir, time.Hour); err != nil {
		t.Fatal(err)
	}
	if warned() {
		t.Error("a run warns although the documents were added")
	}
}

// TestDamagedIndex: a reader names a file that is not what the index lists, and no rewrite copies it as if it were
// intact.
func TestDamagedIndex(t *testing.T) {
	of := specs()["minhash"]
	var nights []string
	for i := range uint64(8) { // segments of about the same size
		r := rand.New(rand.NewPCG(i, 49))
		nights = append(nights, archiveAtRandom(t, r, family(r, 6), 1).dir)
	}
	whole := indexOf(t, of)
	for _, night := range nights {
		runOnly(t, ask(t, night, "--against="+whole, "--append", "--max-rejected=1000000", "--allow-empty"))
	}
	for _, table := range []string{"kept", "keys"} {
		dir := filepath.Join(t.TempDir(), "index")
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "segments", "*", table, "*.parquet"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		file := files[len(files)-1]
		data := []byte(read(t, file))
		data[20] ^= 1 // in a page header
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
		launch := beamtest.Launch("local", local.Options{})
		_, rebuilding := dedup.RebuildIndex(t.Context(), filepath.Join(t.TempDir(), "index"), dir, of, 1000, []string{"bands", "rows"},
			job.Running{Runner: job.Local}, launch)
		_, pruning := dedup.PruneIndex(t.Context(), dir, 0)
		x, err := dedup.OpenIndex(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		_, checking := x.Check(t.Context())
		met := map[string]error{"check": checking, "prune": pruning}
		if table == "kept" {
			met["create --from"] = rebuilding
		} else if rebuilding != nil { // rebuilding reads no keys
			t.Error(rebuilding)
		}
		for who, err := range met {
			if damaged := (*indexes.DamagedError)(nil); !errors.As(err, &damaged) || damaged.Path != file {
				t.Errorf("%s, %s: %v", table, who, err)
			}
		}
	}
}

// TestNightOvertaken: a night whose index another has taken over publishes nothing.
func TestNightOvertaken(t *testing.T) {
	night := archiveAtRandom(t, rand.New(rand.NewPCG(1, 52)), []string{"a few words"}, 1).dir
	dir := indexOf(t, specs()["minhash"])
	config := ask(t, night, "--against="+dir, "--append")
	config.Draw = func(ctx context.Context, _ io.Writer, _ *output.Finished, _ dedup.TextsOf) error {
		w, err := indexes.Lock(ctx, dir, "other", storage.LockOptions{Force: true})
		if err == nil {
			err = errors.Join(w.Recover(ctx), w.Close(ctx))
		}
		return err
	}
	_, err := runJob(t.Context(), config, launch(config))
	if job.Status(err) != 3 {
		t.Errorf("error %v", err)
	}
	if _, err := output.Open(t.Context(), config.Output); err == nil {
		t.Error("the output is published, and not in the index")
	}
}

// TestCancelledUnlocks: what is cancelled while it locks an index, or changes it, leaves no lock.
func TestCancelledUnlocks(t *testing.T) {
	night := archiveAtRandom(t, rand.New(rand.NewPCG(1, 50)), []string{"a few words"}, 1).dir
	dir := indexOf(t, specs()["minhash"])
	for what, do := range map[string]func(ctx context.Context) error{
		"run": func(ctx context.Context) error {
			task, err := dedup.New(t.Context(), ask(t, night, "--against="+dir, "--append"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = task.Run(ctx, beamtest.Launch("local", local.Options{}))
			return err
		},
		"prune": func(ctx context.Context) error { _, err := dedup.PruneIndex(ctx, dir, 0); return err },
	} {
		for n := 1; n <= 60; n++ {
			ctx, cancel := storagetest.EndsAt(t.Context(), n)
			err := do(ctx)
			cancel()
			if err == nil {
				break
			}
			if _, there := os.Lstat(filepath.Join(dir, output.LockFile)); !errors.Is(there, fs.ErrNotExist) {
				t.Errorf("%s, cancelled at %d with %v: the lock %v", what, n, err, there)
			}
		}
	}
}
