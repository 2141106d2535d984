// Package monitor informs people and systems that watch jobs about a run: by events of OpenLineage 1
// (openlineage.io/spec), and by a file for Prometheus such as node_exporter's textfile collector reads.
package monitor

import (
	"cmp"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/neardup/neardup/records"
)

// Types of events.
const (
	Start    = "START"
	Complete = "COMPLETE"
	Fail     = "FAIL"
)

const (
	producer = "https://github.com/neardup/neardup"
	spec     = "https://openlineage.io/spec/"
)

// Run is the part that all events of one run share.
type Run struct {
	ID        string // a UUID
	Namespace string // of the job
	Job       string
	// Inputs and Output are absolute paths, or URLs of object stores. Output is "" for a run without output.
	Inputs []string
	Output string
}

// Event is an event in its JSON form.
type Event struct {
	Type     string    `json:"eventType"`
	Time     time.Time `json:"eventTime"`
	Producer string    `json:"producer"`
	Schema   string    `json:"schemaURL"`
	Run      subject   `json:"run"`
	Job      subject   `json:"job"`
	Inputs   []dataset `json:"inputs"`
	Outputs  []dataset `json:"outputs"`
}

// subject is a run, identified by ID, or a job, identified by Namespace and Name.
type subject struct {
	ID        string         `json:"runId,omitempty"`
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name,omitempty"`
	Facets    map[string]any `json:"facets"`
}

type dataset struct {
	Namespace    string         `json:"namespace"`
	Name         string         `json:"name"`
	InputFacets  map[string]any `json:"inputFacets,omitempty"`
	OutputFacets map[string]any `json:"outputFacets,omitempty"`
}

// Event returns an event of the run; record is nil at the start. It has no parameters, since some may hold a secret.
func (r *Run) Event(kind string, at time.Time, record *records.Run) Event {
	e := Event{
		Type: kind, Time: at.UTC(), Producer: producer, Schema: spec + "2-0-2/OpenLineage.json#/$defs/RunEvent",
		Run: subject{ID: r.ID, Facets: map[string]any{}},
		Job: subject{Namespace: r.Namespace, Name: r.Job,
			Facets: map[string]any{"jobType": facet("facets/2-0-4/JobTypeJobFacet.json#/$defs/JobTypeJobFacet",
				map[string]any{"processingType": "BATCH", "integration": "NEARDUP", "jobType": "JOB"})}},
		Inputs: []dataset{}, Outputs: []dataset{},
	}
	for _, input := range r.Inputs {
		if input != "-" { // standard input has no name
			e.Inputs = append(e.Inputs, named(input))
		}
	}
	if r.Output != "" {
		e.Outputs = append(e.Outputs, named(r.Output))
	}
	if record == nil {
		return e
	}
	if record.Version != "" {
		e.Run.Facets["processing_engine"] = facet(
			"facets/1-1-1/ProcessingEngineRunFacet.json#/$defs/ProcessingEngineRunFacet",
			map[string]any{"name": "neardup", "version": record.Version})
	}
	if kind == Fail {
		e.Run.Facets["errorMessage"] = facet("facets/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet",
			map[string]any{"message": record.Error, "programmingLanguage": "Go"})
	}
	if n := record.Counts; kind == Complete {
		if len(e.Inputs) == 1 { // counts are totals of all inputs
			e.Inputs[0].InputFacets = map[string]any{"inputStatistics": facet(
				"facets/1-0-0/InputStatisticsInputDatasetFacet.json#/$defs/InputStatisticsInputDatasetFacet",
				map[string]any{"rowCount": n.Records, "size": record.Input.Bytes, "fileCount": record.Input.Files})}
		}
		for i := range e.Outputs {
			e.Outputs[i].OutputFacets = map[string]any{"outputStatistics": facet(
				"facets/1-0-2/OutputStatisticsOutputDatasetFacet.json#/$defs/OutputStatisticsOutputDatasetFacet",
				map[string]any{"rowCount": n.Corpus})}
		}
	}
	return e
}

// facet adds to values the fields that every facet has.
func facet(schema string, values map[string]any) map[string]any {
	values["_producer"], values["_schemaURL"] = producer, spec+schema
	return values
}

// named names the dataset at a path as OpenLineage does: by its bucket and key, or as a file.
func named(name string) dataset {
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok {
		return dataset{Namespace: "file", Name: path.Clean(name)}
	}
	bucket, key, _ := strings.Cut(rest, "/")
	if i := strings.LastIndex(bucket, "@"); i >= 0 { // no store takes a password there, but somebody may write one
		bucket = bucket[i+1:]
	}
	u := url.URL{Scheme: scheme, Host: bucket}
	return dataset{Namespace: u.String(), Name: cmp.Or(strings.Trim(key, "/"), "/")}
}
