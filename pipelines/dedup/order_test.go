package dedup_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/internal/corpusgen"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/output"
	comparing "github.com/neardup/neardup/pipelines/compare"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/eval"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/pipelines/passages"
	"github.com/neardup/neardup/pipelines/query"
	"github.com/neardup/neardup/pipelines/study"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// A wire returns the records that are packed in a block.
type wire func(block []byte) (all []string, err error)

// each returns the wire of records that are read one after another.
func each(read func(*blocks.Decoder)) wire {
	return func(block []byte) (all []string, err error) {
		d := blocks.NewDecoder(block)
		for !d.Done() {
			at := len(block) - d.Left()
			read(d)
			all = append(all, string(block[at:len(block)-d.Left()]))
		}
		return all, d.Err()
	}
}

// fixed returns the wire of records of a fixed size.
func fixed(size int) wire { return each(func(d *blocks.Decoder) { d.Fixed(size) }) }

// entries is the wire of band entries, which depend on the header before them.
func entries(block []byte) (all []string, err error) {
	decoded, err := blocks.DecodeBands(nil, block)
	for _, e := range decoded {
		all = append(all, fmt.Sprint(e))
	}
	return all, err
}

// wires returns the wires of DoFns' outputs, nil where a value is one record, as in all outputs of DoFns that are not
// listed. Records of units end in their lengths, of the given size.
func wires(length int) map[string][]wire {
	documents := each(func(d *blocks.Decoder) { d.Document() })
	numbers := each(func(d *blocks.Decoder) { d.Numbers(nil) })
	tableRows := each(func(d *blocks.Decoder) { d.RowPart() })
	packedRows := func(block []byte) ([]string, error) {
		rows, err := s2.Decode(nil, block)
		if err != nil {
			return nil, err
		}
		return tableRows(rows)
	}
	profiles := each(func(d *blocks.Decoder) { d.Profile() })
	setParts := each(func(d *blocks.Decoder) { d.ComponentPart() })
	sizedParts := each(func(d *blocks.Decoder) { d.Bytes() })
	copied := each(func(d *blocks.Decoder) { d.Copy() })
	verdicts := each(func(d *blocks.Decoder) { d.Verdict() })
	nearPairs := each(func(d *blocks.Decoder) {
		d.Fixed(16)
		d.Uvarint()
		d.Uvarint()
		if matches := d.Uvarint(); matches > 0 {
			d.Fixed(8 * int(matches-1))
		}
	})
	keys, edges, members, questions := fixed(8), fixed(16), fixed(20), fixed(20)
	shingles := each(func(d *blocks.Decoder) { d.Uint64(); d.Uvarint() })
	found := each(func(d *blocks.Decoder) { d.Fixed(16); d.Uvarint() })
	hashed, firsts, counts := fixed(24), fixed(24), fixed(24)
	ordered := each(func(d *blocks.Decoder) { d.Bytes() })
	return map[string][]wire{
		"source.readFn":          {documents, documents, tableRows, keys, nil, tableRows},
		"source.identity":        {documents},
		"source.fetchFn":         {documents},
		"source.wantedFn":        {documents},
		"passages.chooseFn":      {fixed(16), firsts, members, tableRows, nil},
		"passages.repeatedFn":    {members},
		"passages.gramsFn":       {fixed(28 + length), fixed(20 + length), ordered, ordered, nil},
		"passages.firstsFn":      {fixed(24 + length)},
		"passages.numberFn":      {fixed(20 + length)},
		"passages.coverFn":       {fixed(28 + length)},
		"passages.passagesFn":    {ordered, ordered, nil},
		"passages.originsFn":     {ordered, ordered},
		"passages.joinFn":        {ordered},
		"passages.mostFn":        {ordered},
		"passages.tablesFn":      {tableRows, tableRows, tableRows, keys, ordered, nil},
		"passages.searchFn":      {tableRows, tableRows, ordered, keys, nil},
		"sink.dropFn":            {ordered},
		"passages.repeatsFn":     {tableRows},
		"signature.longEnoughFn": {documents, tableRows},
		"signature.signFn":       {entries, firsts, members, tableRows},
		"signature.copiesFn":     {documents, firsts, members, tableRows},
		"signature.setsFn":       {sizedParts, firsts, members, tableRows},
		"signature.valuesFn":     {numbers, tableRows},
		"signature.keysFn":       {entries},
		"frequencies.countFn":    {shingles, nil},
		"signature.lookupFn":     {numbers, tableRows},
		"signature.numberFn":     {numbers},
		"signature.classicFn":    {numbers},
		"candidates.bucketsFn":   {edges},
		"candidates.copiesFn":    {members},
		"candidates.copyKeysFn":  {keys},
		"candidates.tokensFn":    {entries, entries},
		"candidates.knownFn":     {edges, keys},
		"components.spreadFn":    {edges},
		"components.forestFn":    {edges},
		"components.membersFn":   {members},
		"components.blocksFn":    {edges},
		"components.openFn":      {edges, questions},
		"components.hookFn":      {edges, edges},
		"components.contractFn":  {edges},
		"components.askFn":       {edges, questions},
		"components.answerFn":    {edges},
		"components.resolveFn":   {edges},
		"components.countFn":     {edges, counts},
		"components.totalFn":     {counts, members},
		"components.labelledFn":  {members},
		"sets.setsFn":            {setParts, profiles, copied, nil, profiles, nil},
		"sets.profilesFn":        {copied},
		"sets.summariseFn":       {profiles, profiles},
		"spool.allFn":            {nil, edges},
		"verify.joinFn":          {nearPairs, nil, profiles, nil},
		"verify.cellPairFn":      {nearPairs, nil},
		"verify.connectFn":       {edges},
		"crowds.tellFn":          {nil, nil, nearPairs, nil, nil},
		"crowds.passFn":          {nearPairs, nearPairs},
		"decide.decideFn":        {tableRows, tableRows, tableRows, keys, verdicts, nil},
		"decide.firstsFn":        {verdicts},
		"decide.spreadFn":        {tableRows, tableRows, tableRows, keys, nil},
		"nearest.bucketFn":       {members},
		"recall.smallestFn":      {hashed},
		"recall.chooseFn":        {members},
		"recall.probeFn":         {hashed},
		"recall.uniquePairsFn":   {edges},
		"baseline.setsFn":        {numbers},
		"baseline.bruteFn":       {edges},
		"baseline.sendFn":        {numbers},
		"baseline.pairsFn":       {keys},
		"baseline.byDocumentFn":  {numbers},
		"baseline.distinctFn":    {numbers, edges},
		"baseline.verifyFn":      {edges},
		"baseline.bucketRowsFn":  {tableRows},
		"baseline.pairRowsFn":    {tableRows},
		"baseline.foundFn":       {keys, found},
		"overlap.featuresFn":     {numbers, nil},
		"overlap.gatherFn":       {numbers},
		"segment.rowsFn":         {tableRows, tableRows},
		"replay.similarFn":       {profiles, nearPairs, nearPairs, copied},
		"replay.profilesFn":      {profiles},
		"replay.rejectedFn":      {tableRows, keys, nil},
		"sink.aboutFn":           {tableRows},
		"sink.keyRowsFn":         {tableRows},
		"sink.sliceFn":           {tableRows},
		"sink.listedFn":          {keys},
		"sink.packFn":            {packedRows},
		"sink.runFn":             {tableRows},
	}
}

// combines lists DoFns that combine the values of a bundle, and why other bundles give the same result.
var combines = map[string]string{
	"frequencies.countFn": "counts; their sums are the same",
	"exchange.writeFn":    "files; what is in them is the same",
	"recall.smallestFn":   "one key; the smallest of the smallest are the smallest of all",
	"nearest.similarFn":   "one key; the nearest of the nearest are the nearest of all",
	"nearest.estimateFn":  "one key; the same",
	"nearest.lookupFn":    "one key; the same",
	"passages.chooseFn":   "facts; their sums are the same",
	"passages.gramsFn":    "counts of origins, and facts; their sums are the same",
	"passages.passagesFn": "the same",
	"passages.originsFn":  "the first of the first are the first of all",
	"passages.tablesFn":   "facts; their sums are the same",
	"passages.searchFn":   "facts; their sums are the same",
}

// The output of each DoFn for a key does not depend on the order of its bundle and of the values of a group nor, unless
// it combines, on what else is in the bundle. A job whose keys get values from two attempts has the same result. Every
// registered DoFn is tested.
func TestOrderDecidesNothing(t *testing.T) {
	wired := wires(0)
	orders := &beamtest.Orders{
		Records: func(fn string, output int, value []byte) ([]string, error) {
			if bytes.Contains(value, []byte(`{"kind":"kept"`)) {
				return nil, nil // file names depend on bundles; the content is compared where it is read
			}
			if bytes.Contains(value, []byte(`{"kind":"passages"`)) {
				return nil, nil // counts depend on bundles, and are added up
			}
			if of := wired[fn]; of != nil && of[output] != nil {
				return of[output](value)
			}
			return []string{string(value)}, nil
		},
		Combines: func(fn string) bool { return combines[fn] != "" },
		Passes:   func(fn string) bool { return strings.HasPrefix(fn, "exchange.") && fn != "exchange.writeFn" },
		Differs:  func(fn string, err error) { t.Errorf("%s: %v", fn, err) },
	}
	usual := beamtest.Launch("local", local.Options{})
	reordered := func(ctx context.Context, p *beam.Pipeline, _ string) (beam.PipelineResult, []records.Stage, error) {
		result, err := orders.Run(ctx, p)
		return result, nil, err
	}
	pages, packed, broken, chain := orderedInputs(t)
	const small = 30_000 // size of a split, so that there are many

	for _, way := range []struct {
		flags  []string
		change func(*dedup.Config)
	}{
		{[]string{pages}, func(*dedup.Config) {}},
		{
			[]string{
				pages, packed, broken, "--max-rejected=10", "--min-words=4", "--shingle=char:5", "--threshold=.6", "--bands=12", "--rows=4",
				"--pair-budget=100", "--keep=longest", "--measure-recall=300",
			},
			func(c *dedup.Config) { c.CellBytes, c.SliceRows, c.Workers = 100_000, 100, 100 },
		},
		{
			[]string{chain, "--shingle=char:5", "--threshold=.5", "--bands=30", "--rows=2", "--cluster=components", "--resume=always"},
			func(c *dedup.Config) { c.ConnectDocuments = 100 },
		},
		{[]string{pages, packed, broken, "--max-rejected=10", "--min-words=4", "--runner=flink", allParts}, func(c *dedup.Config) { c.GroupBytes = 5000 }},
		{[]string{pages, "--bands=10", "--rows=4"}, func(c *dedup.Config) { c.CellBytes = 2000 }},
		{[]string{pages, packed, broken, "--max-rejected=10", "--resume=always", allParts}, func(*dedup.Config) {}},
		{[]string{pages, "--method=exact"}, func(*dedup.Config) {}},
		{[]string{pages, "--text=text", "--shingle=char:5", "--threshold=.5", "--match=text=word:1,.3", "--match=id=within:1,missing-ok"}, func(*dedup.Config) {}},
		{[]string{pages, packed, broken, "--method=complete", "--drop-not-compared", "--max-rejected=10", "--shingle=char:5", "--threshold=.6"}, func(c *dedup.Config) { c.CellBytes = 2000 }},
		{[]string{pages, packed, "--method=complete", "--shingle=char:5", "--threshold=.5", "--keep=longest", "--pair-budget=100"}, func(*dedup.Config) {}},
		{[]string{pages, "--method=exact", "--same=set", "--keep=longest"}, func(*dedup.Config) {}},
		{[]string{pages, "--signature=salted", "--bands=10", "--rows=4"}, func(*dedup.Config) {}},
		{[]string{pages, "--signature=classic", "--bands=10", "--rows=4"}, func(*dedup.Config) {}},
		{[]string{pages, "--method=simhash", "--pieces=19", "--compare=cosine", "--weights=tf-idf", "--measure-recall=100"}, func(c *dedup.Config) { c.CellBytes = 2000 }},
		{[]string{pages, "--method=simhash", "--weights=tf-idf", "--bits=99", "--keep=longest", "--pair-budget=100"}, func(*dedup.Config) {}},
	} {
		result := func(launch job.Launch) map[string]string {
			config := ask(t, way.flags...)
			config.SplitBytes = small
			way.change(&config)
			if _, err := runJob(t.Context(), config, launch); err != nil {
				t.Fatalf("%v: %v", way.flags, err)
			}
			finished, err := output.Open(t.Context(), config.Output)
			if err != nil {
				t.Fatal(err)
			}
			return promised(t, finished)
		}
		sameOutput(t, fmt.Sprint(way.flags), result(usual), result(reordered))
	}
	buckets := []string{"--bands=20", "--rows=2"}
	for _, flags := range [][]string{
		{"--of=osx/aa"}, {"--of=same"}, append(buckets, "--of=osx/cat"), append(buckets, "--file=text", "--signature=classic", "--sort=estimate"),
	} {
		result := func(launch job.Launch) string {
			var config query.Config
			parse(t, &config, query.Vars(), append(flags, pages, broken, "--shingle=word:1", "--nearest=3")...)
			config.Content, config.SplitBytes = strings.NewReader("Print the name of the working directory."), small
			task, err := query.New(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := task.Run(t.Context(), launch)
			if (err != nil) != (config.Of == "same") { // several documents have this id
				t.Fatalf("query %v: %v", flags, err)
			}
			data, _ := json.Marshal(answer)
			return fmt.Sprintf("%s, %v", data, err)
		}
		if want, got := result(usual), result(reordered); got != want {
			t.Errorf("query %v: %s, want %s", flags, got, want)
		}
	}
	items := filepath.Join(t.TempDir(), "items.jsonl")
	if err := os.WriteFile(items, []byte(read(t, filepath.Join(pages, "again.jsonl"))), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, more := range [][]string{
		{"--length=5", "--cut=words"}, {"--length=5", "--cut=words", "small groups"}, {"--length=5", "--drop-covered=.5", "--cut=words"},
		{"--length=5", "--cut=words", "--against=" + items}, {"--length=5", "--drop-contaminated", "--against=" + items},
		{"--whole=lines", "--cut=words"}, {"--whole=paragraphs", "--drop-covered=.5"}, {"--whole=lines", "--cut=sentences", "small groups"},
	} {
		result := func(launch job.Launch) map[string]string {
			var config passages.Config
			if strings.HasPrefix(more[0], "--whole") {
				wired = wires(4)
			}
			flags, groups := slices.Clone(more), more[len(more)-1] == "small groups"
			if groups {
				flags = flags[:len(flags)-1]
			}
			parse(t, &config, job.Vars(), append(flags, pages, packed, broken, "--max-rejected=10", "--output="+filepath.Join(t.TempDir(), "out"))...)
			if config.SplitBytes = small; groups {
				config.GroupBytes = 5000
			}
			task, err := passages.New(config)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := task.Run(t.Context(), launch); err != nil {
				t.Fatal(err)
			}
			finished, err := output.Open(t.Context(), config.Output)
			if err != nil {
				t.Fatal(err)
			}
			return promised(t, finished)
		}
		sameOutput(t, fmt.Sprint("passages ", more), result(usual), result(reordered))
	}
	comparison := func(launch job.Launch) *records.Comparison {
		var config comparing.Config
		parse(t, &config, comparing.Vars(), pages, "--bands=10", "--rows=4", "--methods=brute-force,signatures,minhash",
			"--output="+filepath.Join(t.TempDir(), "out"), "--write=buckets,candidates,pairs")
		config.SplitBytes = small
		task, err := comparing.New(config)
		if err != nil {
			t.Fatal(err)
		}
		found, err := task.Run(t.Context(), launch)
		if err != nil {
			t.Fatal(err)
		}
		for i := range found.Methods {
			m := &found.Methods[i]
			m.Seconds, m.CPU, m.Peak = 0, 0, nil
			m.Buckets, m.Candidates = nil, nil // from counters, which this runner does not have
		}
		return found
	}
	if diff := cmp.Diff(comparison(usual), comparison(reordered)); diff != "" {
		t.Errorf("compare:\n%s", diff)
	}
	studying := func(launch job.Launch) *records.Study {
		var config study.Config
		parse(t, &config, study.Vars(), filepath.Join(pages, "again.jsonl"), "--vary=replicas", "--signatures=16", "--signature=salted")
		config.SplitBytes = small
		task, err := study.New(config)
		if err != nil {
			t.Fatal(err)
		}
		found, err := task.Run(t.Context(), launch)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if diff := cmp.Diff(studying(usual), studying(reordered)); diff != "" {
		t.Errorf("study:\n%s", diff)
	}
	finished := ask(t, pages)
	if _, err := runJob(t.Context(), finished, usual); err != nil {
		t.Fatal(err)
	}
	again := func(launch job.Launch) map[string]string {
		config := ask(t, "--from="+finished.Output, "--threshold=.85", "--max-rejected=100%")
		config.Given = []string{"threshold"}
		if _, err := runJob(t.Context(), config, launch); err != nil {
			t.Fatal(err)
		}
		decided, err := output.Open(t.Context(), config.Output)
		if err != nil {
			t.Fatal(err)
		}
		return promised(t, decided)
	}
	sameOutput(t, "decided again", again(usual), again(reordered))
	nights := func(launch job.Launch) (sums []string) {
		dir := indexOf(t, records.Default())
		for _, night := range []string{packed, pages} {
			config := ask(t, night, "--against="+dir, "--append")
			config.SplitBytes, config.GroupBytes = small, 1_000 // so that each band has several shards
			if _, err := runJob(t.Context(), config, launch); err != nil {
				t.Fatal(err)
			}
		}
		x, err := dedup.OpenIndex(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range x.Segments {
			for _, f := range s.Files {
				sums = append(sums, f.SHA256)
			}
		}
		return sums
	}
	if diff := cmp.Diff(nights(usual), nights(reordered)); diff != "" {
		t.Errorf("nights of an index:\n%s", diff)
	}
	evaluation := func(launch job.Launch) *records.Evaluation {
		found, err := eval.Evaluate(t.Context(), eval.Config{Output: finished.Output, Sample: 300, Seed: 1, List: 20}, launch)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if diff := cmp.Diff(evaluation(usual), evaluation(reordered)); diff != "" {
		t.Errorf("eval:\n%s", diff)
	}

	names := registered(t)
	for _, name := range names {
		if !orders.Fed[name] {
			t.Errorf("%s is registered, and was not fed what could be in another order: let one of these jobs use it", name)
		}
	}
	for name := range orders.Fed {
		if !slices.Contains(names, name) {
			t.Errorf("%s was fed, and registered does not find it", name)
		}
	}
}

// orderedInputs returns a folder with copies, near-duplicates and a crowd; a compressed file that is worth spreading;
// records that are rejected, some of them in parts; and documents each of which is only similar to the next, which need
// many rounds.
func orderedInputs(t *testing.T) (pages, packed, broken, chain string) {
	root := t.TempDir()
	pages, packed, broken = filepath.Join(root, "pages"), filepath.Join(root, "packed.jsonl.gz"), filepath.Join(root, "broken.jsonl")
	chain = filepath.Join(root, "chain.jsonl")
	spec := mixture
	spec.Documents, spec.Crowd, spec.CrowdEdits = 300, 60, 0.02
	most := 700 // number of compressed pages
	if nightly.On() {
		spec.Documents, most = 600, 2030
	}
	var generated, zipped bytes.Buffer
	if err := corpusgen.Write(&generated, spec); err != nil {
		t.Fatal(err)
	}
	w, err := gzip.NewWriterLevel(&zipped, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	column := fmt.Sprintf(`{"beside": %q, `, strings.Repeat("x", 1000)) // a large file with short texts
	for _, line := range slices.Collect(strings.Lines(read(t, "../../testdata/tldr/linux.jsonl")))[:most] {
		fmt.Fprint(w, column+line[1:])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var links strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&links, `{"id": "chain%d", "text": "`, i)
		for word := range 9 {
			fmt.Fprint(&links, hash.Mix(uint64(3*i+word)), " ")
		}
		links.WriteString(`"}` + "\n")
	}
	if err := os.Mkdir(pages, 0o777); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		filepath.Join(pages, "generated.jsonl"): generated.String(),
		filepath.Join(pages, "again.jsonl"):     strings.Join(slices.Collect(strings.Lines(generated.String()))[:200], ""),
		filepath.Join(pages, "osx.jsonl"):       read(t, "../../testdata/tldr/osx.jsonl"),
		chain:                                   links.String(),
		packed:                                  zipped.String(),
		broken: `{"id": "short", "text": "too few words"}` + "\n" + `{"id": "mark", "text": "!"}` + "\n" + `{"id": "none"}` + "\n" +
			strings.Repeat(`{"id": "same", "text": "the same text again and again"}`+"\n"+`{"id": "cut", "text": "`+strings.Repeat("x", 700<<10)+"\n", 3),
	} {
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return pages, packed, broken, chain
}

func parse(t *testing.T, config any, vars kong.Vars, args ...string) {
	t.Helper()
	parser, err := kong.New(config, vars)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
}

// registered returns the DoFns that the module registers, as "package.name".
func registered(t *testing.T) (names []string) {
	t.Helper()
	registration := regexp.MustCompile(`(?:flow\.Register\[(\w+)[^(]*\]\(\)|beam\.RegisterFunction\((\w+)\))`)
	for _, folder := range []string{"io", "transforms", "pipelines"} {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			code := read(t, path)
			found := registration.FindAllStringSubmatch(code, -1)
			if n := strings.Count(code, "beam.RegisterDoFn(") + strings.Count(code, "flow.Register[") + strings.Count(code, "beam.RegisterFunction("); n != len(found) {
				t.Errorf("%s: %d of %d registrations are understood", path, len(found), n)
			}
			for _, groups := range found {
				names = append(names, filepath.Base(filepath.Dir(path))+"."+groups[1]+groups[2])
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}
