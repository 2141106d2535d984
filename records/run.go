package records

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Manifest lists the files of a finished run; readers should read no others. It is byte-identical in every run of the
// same job.
type Manifest struct {
	Version int            `json:"version"`
	Files   []ManifestFile `json:"files"` // by path
}

// ManifestFile is a Parquet or corpus file of the output.
type ManifestFile struct {
	Path   string `json:"path"` // below the output, with slashes
	Bytes  int64  `json:"bytes"`
	Rows   int64  `json:"rows"` // rows of a table, records of a corpus file
	SHA256 string `json:"sha256"`
}

// Run is the content of run.json: a job's settings, what it chose and what it found.
type Run struct {
	Status   string    `json:"status" doc:"'done', 'failed', 'planned' for a forecast, or 'submitted' for a job that continues on a cluster"`
	Error    string    `json:"error,omitempty" doc:"what went wrong"`
	Exit     int       `json:"exit" doc:"the [exit status](reference.md)"`
	Files    []string  `json:"files,omitempty" doc:"list of files that a failed run left beside 'run.json'"`
	Job      string    `json:"job" doc:"id of the run"`
	Version  string    `json:"version" doc:"version of neardup"`
	Started  time.Time `json:"started" doc:"when the run began"`
	Seconds  float64   `json:"seconds" doc:"how long the run took"`
	Runner   string    `json:"runner" doc:"name of the runner"`
	InForce  InForce   `json:"in_force"`
	Jobs     []string  `json:"runner_jobs,omitempty" doc:"list of ids of the run's jobs on the cluster"`
	Warnings []string  `json:"warnings,omitempty" doc:"list of warnings that the run also printed on standard error"`
	Page     bool      `json:"page,omitempty" doc:"'true' if the run wrote 'report.html'"`

	// From is the finished output that the run decided again; nil if it read the input.
	From *From `json:"from,omitempty"`

	Input RunInput `json:"input"`
	// References describes what else inputs were compared with; nil if there were no references.
	References *RunReferences `json:"references,omitempty"`
	// Parameters are the settings, and Given the fields that were set explicitly to their defaults, if that matters.
	Parameters Spec     `json:"parameters" doc:"values of the flags that decide the result, with '_' for '-' in their names. 'neardup dedup --config run.json' repeats the run"`
	Given      []string `json:"given,omitempty" doc:"list of flags that were given with their default value, if that matters"`
	// Running has the flags that do not affect the results, by name, without those that were not given.
	Running json.RawMessage `json:"running,omitempty" doc:"the other flags that were given, such as 'output' and 'workers'"`
	Chosen  Chosen          `json:"chosen"`
	Formats Formats         `json:"formats"`

	// Forecast is what a plan expects of the run; only in a dry run.
	Forecast *Forecast `json:"forecast,omitempty" doc:"from 'plan': what a run is expected to read, send and need ([how accurate this is](howto/plan.md))"`

	Counts Counts `json:"counts"`
	// NotCompared counts documents that are not compared, by reason.
	NotCompared map[string]int64 `json:"not_compared,omitempty" doc:"number of documents for each [reason](formats.md#documents-not-compared)"`

	// NoColumn lists sources with documents that have no text column: first those in which no document has one, at most
	// MostSources.
	NoColumn []NoColumn `json:"no_text_column,omitempty"`

	// UnreadValues lists the columns with a rule for numbers or dates that have other values.
	UnreadValues []UnreadValues `json:"unread_values,omitempty" doc:"list of columns with values that a 'within' rule of '--match' cannot read"`

	Recall *Recall `json:"recall,omitempty"`
	// Passages is what a run of passages found.
	Passages *PassagesFound `json:"passages,omitempty"`
	// Comparison is the result of compare, in an output with its tables.
	Comparison *Comparison `json:"comparison,omitempty" doc:"from 'compare': [what it found](#comparison)"`
	// Steps are the runner's counters of each step, for information: they count all attempts.
	Steps map[string]int64 `json:"steps,omitempty" doc:"counters of the steps, for tuning neardup"`
	// Stages is the runner's report on its work, if it gives one.
	Stages []Stage `json:"stages,omitempty" doc:"costs of the stages, for tuning neardup"`
	CPU    float64 `json:"cpu_seconds,omitempty" doc:"CPU time of the process"`
	Peak   int64   `json:"peak_memory_bytes,omitempty" doc:"maximum memory of the process"`
	// Retries is the number of requests to object stores that this process repeated.
	Retries int64 `json:"storage_retries,omitempty" doc:"requests to a store that were sent again"`
}

// Command returns the command that wrote the output.
func (r *Run) Command() string {
	switch {
	case r.Comparison != nil:
		return "compare"
	case r.Passages != nil:
		return "passages"
	case r.Parameters.Method == "study":
		return "study"
	default:
		return "dedup"
	}
}

// NoColumn is a source with documents that have no text column: a file, or a folder of files with one record each.
type NoColumn struct {
	Source    string `json:"source" doc:"a source with documents that have no text column; the first 20 are listed"`
	Documents int64  `json:"documents" doc:"these documents"`
	Of        int64  `json:"of" doc:"all documents of the source"`
	Columns   string `json:"columns,omitempty" doc:"columns of the first of these documents"`
}

// MostSources is the maximum number of sources in a list.
const MostSources = 20

// Whole reports whether no document of the source has a text column. A single document says nothing about its source.
func (n *NoColumn) Whole() bool { return n.Documents == n.Of && n.Of > 1 }

// UnmarshalJSON reads a run of any version. Parameters of earlier versions that no longer exist go to Running.
func (r *Run) UnmarshalJSON(data []byte) error {
	type plain Run
	read := plain{Parameters: Default()}
	data, err := onePolicy(data)
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	if err != nil {
		return err
	}
	var earlier struct{ Parameters, Running map[string]any }
	if err := json.Unmarshal(data, &earlier); err != nil {
		return err
	}
	if words, _ := earlier.Parameters["tokens"].(string); words != "" && words != "none" {
		read.Parameters.Normalize += "," + words
	}
	delete(earlier.Parameters, "tokens")
	known := Fields(read.Parameters)
	for name, value := range earlier.Parameters {
		if _, ok := known[name]; !ok && value != usualEarlier[name] {
			if earlier.Running == nil {
				earlier.Running = map[string]any{}
			}
			earlier.Running[name] = value
			read.Running = nil
		}
	}
	if read.Running == nil && earlier.Running != nil {
		var err error
		if read.Running, err = json.Marshal(earlier.Running); err != nil {
			return err
		}
	}
	*r = Run(read)
	return nil
}

// onePolicy converts the parameter keep to a list, from the single policy of earlier versions.
func onePolicy(data []byte) ([]byte, error) {
	var run, parameters map[string]json.RawMessage
	if err := json.Unmarshal(data, &run); err != nil || run["parameters"] == nil {
		return data, err
	}
	if err := json.Unmarshal(run["parameters"], &parameters); err != nil {
		return nil, err
	}
	keep := parameters["keep"]
	if len(keep) == 0 || keep[0] != '"' {
		return data, nil
	}
	parameters["keep"] = append(append(json.RawMessage("["), keep...), ']')
	var err error
	if run["parameters"], err = json.Marshal(parameters); err != nil {
		return nil, err
	}
	return json.Marshal(run)
}

// usualEarlier has the defaults of parameters of earlier versions.
var usualEarlier = map[string]any{"modified_before": "", "skip_unknown": false, "max_id_bytes": 4096.}

// InForce holds the limits of the runner, requested or default.
type InForce struct {
	// maximum of bundles at a time; unknown for a cluster, unless it was set
	Workers int   `json:"workers,omitempty" doc:"number of workers"`
	Memory  int64 `json:"memory_bytes,omitempty" doc:"memory limit"` // of the process; only the local runner has one
	// From says what sets Memory, as in "set by --memory".
	From string `json:"memory_from,omitempty" doc:"what sets the memory limit"`
}

// Failure describes a job that failed before it had a record, in the first fields of Run.
type Failure struct {
	Status string `json:"status"` // always "failed"
	Error  string `json:"error"`
	Exit   int    `json:"exit"`
}

// Counts counts what a run found and wrote.
type Counts struct {
	Records     int64 `json:"records" doc:"records read, including unreadable ones"`
	Unreadable  int64 `json:"unreadable" doc:"unreadable records"`
	NotCompared int64 `json:"not_compared" doc:"documents that were not compared"`
	NoColumn    int64 `json:"no_text_column" doc:"those of them without a text column"`
	Pairs       int64 `json:"pairs" doc:"rows of 'pairs'"`
	NearPairs   int64 `json:"near_pairs" doc:"near pairs among them"`
	// Copies counts the other rows: pairs of a copy, removed or not, and its representative.
	Copies int64 `json:"copies" doc:"copies among them"`
	// AllPairs is the number of pairs of all compared documents, and ComparedPairs the number of pairs that were joined.
	// Both are 0 if the runner does not count them, or if all were joined.
	AllPairs      int64 `json:"all_pairs" doc:"all pairs, n·(n−1)/2; 0 if not counted"`
	ComparedPairs int64 `json:"compared_pairs" doc:"compared pairs; 0 if not counted"`
	// PairsPartial counts the clusters of crowds, and those of long ids.
	PairsPartial int64 `json:"pairs_partial" doc:"clusters whose 'partial' is true"`
	Clusters     int64 `json:"clusters" doc:"number of clusters"`
	Removed      int64 `json:"removed" doc:"removed documents"`
	Identical    int64 `json:"identical" doc:"documents removed as 'identical'"`
	Equal        int64 `json:"equal" doc:"documents removed as 'equal'"`
	SameSet      int64 `json:"same_set" doc:"documents removed as 'same-set'"`
	Symbols      int64 `json:"differ_in_symbols" doc:"removed copies that differ from the kept document in symbols; '--from' does not count them"`
	Numbers      int64 `json:"differ_in_numbers" doc:"removed documents that differ from the kept document in numbers, as '--match-numbers' compares them; '--from' does not count them"`
	Near         int64 `json:"near" doc:"documents removed as 'near'"`
	Chained      int64 `json:"chained" doc:"removed documents that form no pair with the kept one"`
	Corpus       int64 `json:"corpus" doc:"records in 'corpus/'"`
}

// UnreadValues counts the documents whose value a rule cannot read, and has the first such value with its place.
type UnreadValues struct {
	Column    string `json:"column" doc:"the column"`
	Documents int64  `json:"documents" doc:"how many documents have a value that is not a number or a date"`
	First     string `json:"first" doc:"the first such value, and its place"`
}

// PassagesFound has the settings and results of a run of passages.
type PassagesFound struct {
	Length int `json:"length" doc:"minimum number of words in a passage"`
	// Whole is the unit of passages, if not runs of words: lines or paragraphs.
	Whole        string `json:"whole,omitempty" doc:"value of '--whole'"`
	PlannedBytes int64  `json:"planned_bytes" doc:"bytes that the first read was expected to send"`
	MostBytes    int64  `json:"most_bytes" doc:"expected bytes on the disk if all words are repeated"`
	Passages     int64  `json:"passages" doc:"rows of 'passages'"`
	Documents    int64  `json:"documents" doc:"rows of 'coverage'; with '--against', documents that contain an item"`
	Words        int64  `json:"words" doc:"words in all documents"`
	Repeated     int64  `json:"repeated" doc:"those of them in passages"`
	Copies       int64  `json:"copies" doc:"documents of at least 'length' words with the same text as an earlier one"`
	Short        int64  `json:"short" doc:"documents with fewer words than 'length'"`
	// Broken counts distinct repeated runs of Length words whose first occurrence is partly in a passage.
	Broken int64 `json:"broken" doc:"distinct runs of 'length' words whose first occurrence is partly in a passage"`
	// Cut is the unit that was cut: none, words or sentences. Seams counts the places where a text continues after a cut,
	// and Uncut the documents whose text cannot be cut because it is not one string.
	Cut   string `json:"cut" doc:"what was cut: 'none', 'words' or 'sentences'"`
	Seams int64  `json:"seams" doc:"places where a text continues after a cut"`
	Uncut int64  `json:"uncut" doc:"documents whose text cannot be cut"`
	// DropCovered is the minimum share of words in passages for which documents were dropped, and Dropped their number.
	DropCovered float64 `json:"drop_covered,omitempty" doc:"value of '--drop-covered'"`
	Dropped     int64   `json:"dropped,omitempty" doc:"documents that were dropped"`
	// Items describes the items that were searched for instead of passages; then Documents counts those that contain one.
	Items *ItemsFound `json:"items,omitempty"`
	// Sources lists the sources with the most words in passages, at most MostSources.
	Sources []SourceRepeated `json:"sources,omitempty"`
}

// ItemsFound describes the items that were searched for in documents, and the results.
type ItemsFound struct {
	Items   int64   `json:"items" doc:"number of items"`
	Words   int64   `json:"words" doc:"words in all items"`
	Short   int64   `json:"short" doc:"items that are too short to be searched for"`
	Share   float64 `json:"share" doc:"value of '--item-share'"`
	Pairs   int64   `json:"pairs" doc:"rows of 'contaminated'"`
	Dropped int64   `json:"dropped" doc:"documents that were dropped"`
}

// SourceRepeated says how much of a source is in passages: of a file, or a folder of files with one document each.
type SourceRepeated struct {
	Source   string `json:"source" doc:"a source; the 20 with the most words in passages are listed"`
	Words    int64  `json:"words" doc:"its words"`
	Repeated int64  `json:"repeated" doc:"those of them in passages"`
}

// Share returns the share of its words that are in passages.
func (s SourceRepeated) Share() float64 { return float64(s.Repeated) / float64(s.Words) }

// Recall is what is known about the share of the near pairs that the run found. It leaves out pairs of crowds, which
// the run did not search for.
type Recall struct {
	Crowds int64 `json:"crowds,omitempty" doc:"large groups; recall excludes their pairs"`
	// Exact means that all pairs that may be similar were compared: the recall is 1.
	Exact     bool             `json:"exact,omitempty" doc:"'true' if neardup compared every pair that may be similar"`
	Estimated *EstimatedRecall `json:"estimated,omitempty"`
	Measured  *MeasuredRecall  `json:"measured,omitempty"`
}

// EstimatedRecall is an estimate from the pairs found, by the probability of each to share a bucket.
type EstimatedRecall struct {
	Found int64   `json:"found" doc:"near pairs found"`
	True  float64 `json:"true" doc:"estimated number of all near pairs"`
	*RecallInterval
}

// RecallInterval is a recall, found / true, and its 95 % interval. Without true pairs there is neither.
type RecallInterval struct {
	Recall float64 `json:"recall" doc:"'found' / 'true'"`
	*Interval
}

// Interval is the interval of a share. It is nil if too little is known about how found and missed pairs differ.
type Interval struct {
	Low  float64 `json:"low" doc:"lower end of the 95 % interval"`
	High float64 `json:"high" doc:"upper end"`
}

// MeasuredRecall is the recall of the pairs of a sample, which was compared with all documents.
type MeasuredRecall struct {
	Sample  int64 `json:"sample" doc:"documents in the sample"`
	Crowded int64 `json:"crowded" doc:"documents left out of the sample because they are in large groups"`
	True    int64 `json:"true" doc:"near pairs of these documents with any document"`
	Found   int64 `json:"found" doc:"those of them that are in 'pairs'"`
	// OneFamily means that the true pairs connect all their documents: they say nothing about other groups, so there is no
	// interval.
	OneFamily bool `json:"one_family,omitempty" doc:"'true' if these pairs connect all their documents, so that there is no interval"`
	*RecallInterval
}

// Stage is the cost of one fused stage of the pipeline.
type Stage struct {
	Name     string  `json:"name"` // name of its first transform
	Elements int64   `json:"elements"`
	Written  int64   `json:"written"`               // elements sent to another stage
	Bytes    int64   `json:"bytes"`                 // of the elements written
	Element  int64   `json:"largest_element_bytes"` // of the elements written
	Group    int64   `json:"largest_group_bytes"`   // of the groups read, their values
	Spilled  int64   `json:"spilled_bytes"`
	CPU      float64 `json:"cpu_seconds"`
	Seconds  float64 `json:"seconds"`
}

// RunInput says what was read. Root is the folder that all sources are relative to.
type RunInput struct {
	Root    string `json:"root" doc:"the folder that all sources are relative to"`
	Files   int    `json:"files" doc:"number of files"`
	Bytes   int64  `json:"bytes" doc:"size of the files, as listed"`
	Splits  int    `json:"splits" doc:"number of splits"`
	Skipped int    `json:"skipped,omitempty" doc:"files of other formats, which were skipped"`
	Decoded int64  `json:"decoded,omitempty" doc:"files in encodings other than UTF-8"`
	// Encodings lists the encodings that were detected; in a plan, in the files of its sample.
	Encodings []FileEncoding `json:"encodings,omitempty"`
	// Versions is a SHA-256 of the paths, sizes and versions of all files.
	Versions string `json:"versions,omitempty" doc:"hash of the paths, sizes and versions of all files"`
}

// From names a finished output.
type From struct {
	Job    string `json:"job" doc:"'job' of the output that '--from' read"`
	Output string `json:"output" doc:"path of that output"`
}

// RunReferences says what was read of references, which no other count includes.
type RunReferences struct {
	Files   int   `json:"files" doc:"files of '--against'; only keys of 'references' count them"`
	Bytes   int64 `json:"bytes" doc:"size of these files"`
	Records int64 `json:"records" doc:"records in these files"`
	// NotCompared counts documents without a text column or a text, or with too large a text; NoColumn counts only the
	// first.
	Unreadable  int64 `json:"unreadable" doc:"unreadable records in these files"`
	NotCompared int64 `json:"not_compared" doc:"references that were not compared"`
	NoColumn    int64 `json:"no_text_column" doc:"those of them without a text column"`
	// Removed counts the inputs removed in favour of a reference, and PairsCompared the compared pairs of two references,
	// by the runner's counters: it must be 0.
	Removed       int64 `json:"removed" doc:"documents removed in favour of a reference"`
	PairsCompared int64 `json:"pairs_compared" doc:"compared pairs of two references; expected to be 0"`
	// Index is nil unless the references are from an index.
	Index *IndexMissed `json:"index,omitempty"`
}

// IndexMissed says how many pairs of documents kept in an index earlier runs have missed. To count them, some pairs in
// components of this run are compared.
type IndexMissed struct {
	Compared int64 `json:"compared" doc:"with an index: compared pairs of kept documents that resemble the same document of this run"`
	Missed   int64 `json:"missed" doc:"those of them that are similar, and that earlier runs missed"`
}

// Chosen has the parameters that neardup derived from the input and the flags, and why.
type Chosen struct {
	Bands     int `json:"bands" doc:"number of bands"`
	Rows      int `json:"rows" doc:"rows per band"`
	Pieces    int `json:"pieces,omitempty" doc:"pieces of a SimHash signature"`
	Signature int `json:"signature" doc:"length of a signature, in values or bits"`
	// ExpectedRecall is the probability that a pair whose similarity is exactly the threshold shares a bucket; more
	// similar pairs have a higher one.
	ExpectedRecall float64 `json:"expected_recall" doc:"probability of finding a pair at the threshold"`
	// Documents is the planner's estimate of their number.
	Documents int64 `json:"documents" doc:"estimated number of documents"`
	// BackgroundEdges is the expected number of edges per document to unrelated documents.
	BackgroundEdges float64 `json:"background_edges" doc:"expected number of candidates per document among unrelated documents"`
	// JoinBytes estimates the maximum of bytes of sets that the method complete sends and reads.
	JoinBytes int64  `json:"join_bytes,omitempty" doc:"estimated maximum number of bytes of shingle sets that '--method complete' sends and reads"`
	Reason    string `json:"reason" doc:"why neardup chose these values; values that a method does not use are 0"`
	// Rule is the column whose similarity rule yields the candidates, or "" if there is a text.
	Rule string `json:"rule,omitempty" doc:"with '--match' and no '--text': the column that candidates come from"`
	// Copies counts the sampled documents that the search cannot distinguish from an earlier one, though they are not
	// identical; Symbols counts those of them that differ in symbols.
	Copies  int64 `json:"sampled_copies" doc:"copies in the sample that are not exact duplicates"`
	Symbols int64 `json:"sampled_differ_in_symbols" doc:"those of them that differ in symbols"`
}

// Formats has the ids of everything that determines output bytes; data with different ids never mix.
type Formats struct {
	Text      string `json:"text" doc:"[format id](formats.md#format-ids) of texts"` // normaliser, tokeniser, shingle hash
	Signature string `json:"signature" doc:"format id of signatures"`                // constants and rounds of the signature
	Tables    string `json:"tables" doc:"format id of tables"`                       // schemas
}

// Tables is the format id of the output tables' schemas.
const Tables = "neardup-tables-3"

// Example is a pair with the texts of its documents.
type Example struct {
	Pair  Pair   `json:"pair"`
	TextA string `json:"-"`
	TextB string `json:"-"`
	// FateA and FateB say what became of each: "kept" or "removed", or "" if that is not known.
	FateA string `json:"fate_a"`
	FateB string `json:"fate_b"`
	// OnlyA and OnlyB are the words that the other text lacks.
	OnlyA []string `json:"only_a,omitempty"`
	OnlyB []string `json:"only_b,omitempty"`
}

// OfAll returns a clause such as "1 of 12 records is unreadable". of is a noun in the singular.
func OfAll(n, all int64, of, what string) string {
	verb := "are"
	if n == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s of %s %s %s", Count(n), Plural(all, of), verb, what)
}

// Unreadable returns a clause about unreadable records. first says where the first of them is, and why.
func Unreadable(n, all int64, of, first string) string {
	where := "; the first is in "
	if n == 1 {
		where = "; it is in "
	}
	return OfAll(n, all, of, "unreadable") + where + first
}

// Count formats a number with commas between thousands.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Or joins the words that a user can choose from: "a, b or c".
func Or[T ~string](words ...T) string {
	var b strings.Builder
	for i, word := range words {
		switch {
		case i > 0 && i == len(words)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(word))
	}
	return b.String()
}

// Plural returns a number with a noun, in the plural unless it is 1.
func Plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(int64(n)) + " " + noun + "s"
}
