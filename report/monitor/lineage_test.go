package monitor

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/records"
)

var (
	run    = Run{ID: "0199a1b2-0000-7000-8000-000000000001", Namespace: "lake", Job: "nightly", Inputs: []string{"/data/in", "gs://bucket/day=1/*.jsonl", "-"}, Output: "s3://user:word@bucket/out/"}
	record = records.Run{
		Version: "v1", Error: "no space", Input: records.RunInput{Files: 2, Bytes: 99}, Counts: records.Counts{Records: 7, Corpus: 5},
		Running: []byte(`{"environment_config":"secret","labels":{"key":"secret"}}`),
	}
)

// decoded returns an event as a reader of its file decodes it.
func decoded(t *testing.T, e Event) map[string]any {
	t.Helper()
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); strings.Contains(text, "secret") || strings.Contains(text, "word") {
		t.Errorf("%s tells secrets", text)
	}
	var event map[string]any
	if err := json.Unmarshal(data, &event); err != nil {
		t.Fatal(err)
	}
	return event
}

// at follows a path of names into nested objects.
func at(event any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		object, ok := event.(map[string]any)
		if !ok {
			return nil
		}
		event = object[name]
	}
	return event
}

// Every event and every facet has what the specification requires.
func TestRequired(t *testing.T) {
	for _, kind := range []string{Start, Complete, Fail} {
		var of *records.Run
		if kind != Start {
			of = &record
		}
		event := decoded(t, run.Event(kind, time.Date(2026, 11, 22, 6, 0, 0, 5e8, time.FixedZone("", 3600)), of))
		for path, want := range map[string]any{
			"eventType": kind, "eventTime": "2026-11-22T05:00:00.5Z", "run.runId": run.ID, "job.namespace": "lake", "job.name": "nightly",
			"producer": producer, "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
		} {
			if got := at(event, path); got != want {
				t.Errorf("%s: %s is %v, want %v", kind, path, got, want)
			}
		}
		facets := 0
		for _, path := range []string{"run.facets", "job.facets"} {
			for name, facet := range at(event, path).(map[string]any) {
				facets++
				if at(facet, "_producer") != producer || !strings.HasPrefix(at(facet, "_schemaURL").(string), "https://openlineage.io/spec/facets/") {
					t.Errorf("%s: facet %s: %v", kind, name, facet)
				}
			}
		}
		if want := map[string]int{Start: 1, Complete: 2, Fail: 3}[kind]; facets != want {
			t.Errorf("%s: %d facets, want %d", kind, facets, want)
		}
		if message := at(event, "run.facets.errorMessage.message"); (message == "no space") != (kind == Fail) {
			t.Errorf("%s: the error is %v", kind, message)
		}
	}
}

// Datasets are named by the specification's rules: files by their paths, objects by bucket and key.
func TestDatasets(t *testing.T) {
	event := decoded(t, run.Event(Complete, time.Now(), &record))
	inputs := []any{
		map[string]any{"namespace": "file", "name": "/data/in"},
		map[string]any{"namespace": "gs://bucket", "name": "day=1/*.jsonl"},
	}
	if got := event["inputs"]; !reflect.DeepEqual(got, inputs) {
		t.Errorf("inputs %v, want %v", got, inputs)
	}
	out := event["outputs"].([]any)[0]
	if at(out, "namespace") != "s3://bucket" || at(out, "name") != "out" || at(out, "outputFacets.outputStatistics.rowCount") != 5. {
		t.Errorf("output %v", out)
	}
	one := Run{Inputs: []string{"/data/in"}}
	event = decoded(t, one.Event(Complete, time.Now(), &record))
	if got := at(event["inputs"].([]any)[0], "inputFacets.inputStatistics.rowCount"); got != 7. {
		t.Errorf("%v records of one input", got)
	}
	if got := event["outputs"]; !reflect.DeepEqual(got, []any{}) {
		t.Errorf("outputs %v of a run without one", got)
	}
}
