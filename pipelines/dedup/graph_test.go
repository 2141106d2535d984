package dedup_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"

	"github.com/neardup/neardup/internal/corpusgen"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// Limits that any cluster can be expected to support.
const (
	largestElement = 1 << 20
	largestGroup   = 64 << 20
)

// builds returns configs for each kind of graph.
func builds(t *testing.T) map[string]dedup.Config {
	usual := ask(t, "../../testdata/tldr")
	all := ask(t, "../../testdata/tldr", "--measure-recall=10", "--keep=longest", "--cluster=components")
	tree := ask(t, "../../testdata/tldr")
	tree.ConnectDocuments = 1
	exact := ask(t, "../../testdata/tldr", "--method=exact")
	complete := ask(t, "../../testdata/tldr", "--method=complete")
	simHash := ask(t, "../../testdata/tldr", "--method=simhash", "--weights=tf-idf", "--pieces=20")
	return map[string]dedup.Config{"usual": usual, "all": all, "tree": tree, "exact": exact, "complete": complete, "simhash": simHash}
}

// The graph needs nothing from a runner that not every one supports: no side inputs, state, timers, splittable DoFns,
// coders of our own or JSON coders.
func TestGraphIsPlain(t *testing.T) {
	for name, config := range builds(t) {
		plan, err := planOf(t, config)
		if err != nil {
			t.Fatal(err)
		}
		p, s := beam.NewPipelineWithRoot()
		dedup.Build(s, plan, output.Folder{Dir: storagetest.RunFolder(t)}, storagetest.RunFolder(t))
		edges, _, err := p.Build()
		if err != nil {
			t.Fatal(err)
		}
		model, err := graphx.Marshal(edges, &graphx.Options{Environment: &pipepb.Environment{Urn: "beam:env:default:v1"}})
		if err != nil {
			t.Fatal(err)
		}
		plain := []string{
			"beam:coder:bytes:v1", "beam:coder:varint:v1", "beam:coder:kv:v1", "beam:coder:iterable:v1",
			"beam:coder:length_prefix:v1", "beam:coder:windowed_value:v1", "beam:coder:global_window:v1",
			"beam:go:coder:cogbklist:v1", // how the SDK writes CoGroupByKey; its parts are coders of this list
		}
		for id, c := range model.GetComponents().GetCoders() {
			urn, payload := c.GetSpec().GetUrn(), c.GetSpec().GetPayload()
			if urn == "beam:go:coder:custom:v1" {
				// The SDK's own coder of int64 is also a custom one.
				if decoded, err := base64.StdEncoding.DecodeString(string(payload)); err == nil && bytes.Contains(decoded, []byte("coderx.encVarIntZ")) {
					continue
				}
			}
			if !slices.Contains(plain, urn) {
				t.Errorf("%s: coder %s is a %s: %s", name, id, urn, payload)
			}
		}
		doFns := 0
		for _, transform := range model.GetComponents().GetTransforms() {
			switch spec := transform.GetSpec(); spec.GetUrn() {
			case "beam:transform:pardo:v1":
				var do pipepb.ParDoPayload
				if err := proto.Unmarshal(spec.GetPayload(), &do); err != nil {
					t.Fatal(err)
				}
				doFns++
				if len(do.GetSideInputs())+len(do.GetStateSpecs())+len(do.GetTimerFamilySpecs()) > 0 || do.GetRestrictionCoderId() != "" {
					t.Errorf("%s: %s has side inputs, state, timers or restrictions", name, transform.GetUniqueName())
				}
			case "beam:transform:impulse:v1", "beam:transform:flatten:v1", "beam:transform:group_by_key:v1", "beam:transform:reshuffle:v1", "":
			default:
				t.Errorf("%s: %s is a %s", name, transform.GetUniqueName(), spec.GetUrn())
			}
		}
		if doFns < 20 {
			t.Errorf("%s: %d DoFns", name, doFns)
		}
	}
}

// walk runs the job with the local runner and checks the limits at every edge of the graph.
func walk(t *testing.T, name string, config dedup.Config, document int64) {
	t.Helper()
	var report local.Report
	run, err := runJob(context.Background(), config, watched(config, &report))
	if err != nil {
		t.Fatal(err)
	}
	checkEdges(t, name, report, document)
	signed := run.Steps["sign/documents"] - run.Steps["sign/collapsed"]
	each := func(step string) float64 { return float64(run.Steps["shuffled/"+step]) / float64(signed) }
	t.Logf("%s: %d documents signed, %d bands; bytes shuffled for each: bands %.1f (%.2f a band), edges %.1f, sets %.1f",
		name, signed, run.Chosen.Bands, each("bands"), each("bands")/float64(run.Chosen.Bands), each("edges"), each("sets"))
	// An entry has 9 bytes; blocks of a few documents are mostly header.
	if most := 11 * float64(run.Chosen.Bands); signed > 1000 && each("bands") > most {
		t.Errorf("%s: %.1f bytes of band entries for each document, at most %.0f are expected", name, each("bands"), most)
	}
}

// watched starts the local runner and keeps its report on the last pipeline.
func watched(config dedup.Config, report *local.Report) job.Launch {
	return func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
		options := local.Options{Workers: config.Workers, Memory: int64(config.Memory), TempDir: temp}
		result, err := local.Execute(local.WithOptions(ctx, options), p)
		if err != nil {
			return nil, nil, err
		}
		*report = result.(*local.Result).Report()
		return result, nil, nil
	}
}

// checkEdges checks the limits. The reader sends a document as one element, and does not group them: elements of those
// stages may exceed the limit by a document.
func checkEdges(t *testing.T, name string, report local.Report, document int64) {
	var element, group int64
	for _, s := range report.Stages {
		element, group = max(element, s.Element), max(group, s.Group)
		most := int64(largestElement)
		if strings.HasPrefix(s.Name, "source.Read/") {
			most += document
		}
		if s.Element > most || s.Group > largestGroup {
			t.Errorf("%s: stage %s writes elements of up to %d bytes and reads groups of up to %d", name, s.Name, s.Element, s.Group)
		}
	}
	t.Logf("%s: largest element %d bytes, largest group %d", name, element, group)
	if element == 0 || group == 0 {
		t.Errorf("%s: nothing was measured", name)
	}
}

// generatedFile writes a corpus without holding it in memory.
func generatedFile(t *testing.T, spec corpusgen.Spec) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "generated.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := corpusgen.Write(f, spec); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// No element exceeds 1 MB and no group 64 MB, with a million documents in nightly tests: with copies of all kinds,
// copies of one page only, and a crowd.
func TestElementsAndGroups(t *testing.T) {
	documents := 20_000
	if nightly.On() {
		documents = 1_000_000
	}
	for name, spec := range map[string]corpusgen.Spec{
		"half copies": {Copies: 0.5}, "one page": {Copies: 0.9, OnePage: true}, "crowd": {Crowd: documents / 10, CrowdEdits: 0.02},
	} {
		spec.Documents, spec.Seed, spec.Near, spec.Edits = documents, 1, 0.02, 0.01
		for _, limit := range []int64{0, 1000} {
			config := ask(t, generatedFile(t, spec), "--memory=1GB")
			config.ConnectDocuments = limit
			walk(t, name, config, 0)
		}
	}
}

// The same holds with more rows of a table than most corpora have: components just below the pair budget, copies with a
// long path, and short lines without a word.
func TestElementsAndGroupsOfRows(t *testing.T) {
	if !nightly.On() {
		t.Skip("takes a minute; NEARDUP_NIGHTLY=1 runs it")
	}
	root := t.TempDir()
	families := filepath.Join(root, "families.jsonl")
	var texts []string
	for family := range 11 {
		for i := range 718 { // 257,403 pairs, the budget is 262,144
			var text strings.Builder
			for word := range 60 {
				fmt.Fprintf(&text, "w%dx%d ", family, word)
			}
			texts = append(texts, fmt.Sprint(text.String(), "variant", i))
		}
	}
	writeJSONL(t, families, texts)
	walk(t, "families", ask(t, families, "--shingle=word:1"), 0)

	deep := filepath.Join(root, strings.Repeat(strings.Repeat("d", 50)+"/", 4))
	if err := os.MkdirAll(deep, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{"copies.txt": "one and the same line\n", "marks.txt": "!\n"} {
		path := filepath.Join(deep, name)
		if err := os.WriteFile(path, bytes.Repeat([]byte(line), 1_000_000), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	walk(t, "lines", ask(t, filepath.Join(root, strings.Repeat("d", 50)), "--format=lines", "--memory=1GB"), 0)
	broken := filepath.Join(root, "broken.jsonl")
	readable := []byte("{\"text\":\"a run compares one document at least\"}\n")
	if err := os.WriteFile(broken, append(readable, bytes.Repeat([]byte("{\"id\":7\n"), 1_000_000)...), 0o666); err != nil {
		t.Fatal(err)
	}
	walk(t, "broken", ask(t, broken, "--max-rejected=100%", "--memory=1GB"), 0)
}

// The same holds if most pages are connected.
func TestElementsAndGroupsOfPages(t *testing.T) {
	if nightly.On() {
		c := allPages(t)
		c.config.Shingle, c.config.Threshold = "char:5", 0.5
		walk(t, c.name, c.config, 0)
	}
	config := ask(t, "../../testdata/tldr", "--shingle=char:5", "--threshold=0.5")
	config.PairBudget = 1000
	walk(t, "bundled pages", config, 0)
}

// The same holds for texts and records that are larger than an element may be.
func TestElementsOfLargeDocuments(t *testing.T) {
	var long strings.Builder
	for i := range 200_000 { // a set of 1.6 MB
		fmt.Fprintf(&long, "%d ", i)
	}
	var texts []string
	for i := range 3 {
		texts = append(texts, fmt.Sprint(long.String(), "the end, ", i))
	}
	path := filepath.Join(t.TempDir(), "large.jsonl")
	writeJSONL(t, path, texts)
	broken := filepath.Join(t.TempDir(), "broken.jsonl")
	if err := os.WriteFile(broken, []byte(strings.Repeat(`{"id": "`+strings.Repeat("x", 3<<20)+"\n", 3)), 0o666); err != nil {
		t.Fatal(err)
	}
	walk(t, "large documents", ask(t, path, broken, "--max-rejected=3"), int64(len(texts[0])))
}
