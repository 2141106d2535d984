// Package job holds what the jobs dedup, query, compare and others share: their settings, the plan that follows from
// these and the input, and how they launch and interrupt a pipeline.
//
// A records.Spec, which Compile parses once into typed values, says what a job computes; a How says how it runs. The
// fields of both are at once the flags of the command line and the keys of a job file.
package job

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
)

// How says how a job runs, and where its output goes. Nothing in it affects the content of the output.
type How struct {
	Output string `short:"o" placeholder:"DIR" help:"Folder for the results: new, empty, or left by an unfinished run; with --overwrite also a finished output. Required except with --dry-run." group:"Output"`
	Running
	Remote
	Cloud
	Scheduled
	DryRun bool `help:"Print the plan (the expected reads, shuffle, memory and time) and exit. neardup reads an input of up to 12 MB whole, and a sample of a larger one." group:"Running"`
	Replacing
	WaitLock    time.Duration `default:"0s" placeholder:"DURATION" help:"Time to wait for another run's lock on the output, as in 90s or 2h (default: ${default})." group:"Running"`
	Resume      Resume        `default:"auto" enum:"${resumes}" placeholder:"WHEN" help:"Whether to keep a failed run's work, so that the same command can continue it: always, never (remove what an earlier run left) or auto (keep it if the input exceeds 8 GiB or 8 million documents) (default: ${default})." group:"Running"`
	ForceUnlock bool          `help:"Take the lock of the output from the run that holds it; that run then stops at its next step with status 3." group:"Running"`
}

// Scheduled holds what schedulers set for a job on any runner.
type Scheduled struct {
	JobName string `placeholder:"NAME" help:"Name of the job, for a cluster and for --lineage-file; Dataflow accepts lower-case letters, digits and hyphens (default: neardup; on Dataflow, with random letters)." group:"Running"`
}

// Replacing says whether a finished output is replaced.
type Replacing struct {
	Overwrite     bool `help:"Replace a finished output once the new one is complete; until then the old one stays." group:"Output"`
	WeakOverwrite bool `help:"Like --overwrite, but also on an object store without conditional DELETE, such as MinIO. No other program may write to the output meanwhile." group:"Output"`
}

// Replaces reports whether a finished output is replaced.
func (r Replacing) Replaces() bool { return r.Overwrite || r.WeakOverwrite }

// Resume says whether a run is divided into phases, so that another can continue it.
type Resume string

// Values of --resume.
const (
	resumeAuto   Resume = "auto"
	ResumeAlways Resume = "always"
	ResumeNever  Resume = "never"
)

// ParseResume returns a value of --resume, by default auto.
func ParseResume(name string) (Resume, error) {
	resume := cmp.Or(Resume(name), resumeAuto)
	if !slices.Contains(resumes, resume) {
		return "", &UsageError{Field: "resume", Value: name, Reason: fmt.Errorf("%q is unknown; use %s", name,
			records.Or(resumes...))}
	}
	return resume, nil
}

var resumes = []Resume{resumeAuto, ResumeAlways, ResumeNever}

// Record returns h as run.json has it: the flags that differ from their default, by name with _ for -.
func (h How) Record() json.RawMessage {
	set := map[string]any{}
	note(set, reflect.ValueOf(h))
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(set) // strings, numbers, and maps of strings always encode
	return data.Bytes()
}

func note(set map[string]any, of reflect.Value) {
	for field, value := range of.Fields() {
		_, hidden := field.Tag.Lookup("hidden")
		switch {
		case field.Anonymous:
			note(set, value)
		case hidden || field.Tag.Get("kong") == "-" || value.IsZero() || fmt.Sprint(value) == field.Tag.Get("default"):
		case field.Type == reflect.TypeFor[time.Duration]():
			set[flagName(field)] = value.Interface().(time.Duration).String()
		default:
			set[flagName(field)] = value.Interface()
		}
	}
}

// flagName returns the name of a field's flag in the form that files use.
func flagName(field reflect.StructField) string {
	if name := field.Tag.Get("name"); name != "" {
		return strings.ReplaceAll(name, "-", "_")
	}
	var name strings.Builder
	for i, r := range field.Name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			name.WriteByte('_')
		}
		name.WriteString(strings.ToLower(string(r)))
	}
	return name.String()
}

// Running says how a job runs.
type Running struct {
	Runner  Runner        `default:"local" enum:"${runners}" placeholder:"RUNNER" help:"Beam runner: local (all cores, bounded memory) or direct (Beam's own), in this process; flink, spark or portable on a cluster, through --job-server; or dataflow, for dedup and plan only. Beam's class names work too; DirectRunner means local (default: ${default})." group:"Running"`
	Workers int           `aliases:"parallelism" placeholder:"N" help:"Number of parallel workers; --parallelism is the same (default: one per core, or the cluster's setting)." group:"Running"`
	Memory  records.Bytes `placeholder:"SIZE" help:"Memory limit of the process with the local runner, at least 256MB (default: half of the container's limit or, without one, of this machine's memory)." group:"Running"`
	TempDir string        `placeholder:"DIR" help:"Folder for temporary files; --temp-location is the same, but makes the folder, except on Dataflow (default: a hidden folder in or beside the output, or the system's temporary folder)." group:"Running"`

	// SplitBytes is the size of the ranges in which large files are read. Results do not depend on it. 0: the default.
	SplitBytes int64 `kong:"-"`
	// GroupBytes is about how large a group is. Results do not depend on it. 0: the default.
	GroupBytes int64 `kong:"-"`
	// SliceRows is about how many rows of a table one worker sorts at most. Results do not depend on it. 0: the default.
	SliceRows int64 `kong:"-"`
	// Stdin is the file that the input - stands for.
	Stdin io.Reader `kong:"-"`
	// Usual is the memory budget of this process with the local runner if Memory is 0.
	Usual memory.Budget `kong:"-"`
	// Planned, if set, is called before the first pipeline with what each reads.
	Planned func(pipelines [][]Read) `kong:"-"`
}

// Budget returns the memory budget of this process; runners other than the local one have no default.
func (r *Running) Budget() memory.Budget {
	switch {
	case r.Memory > 0:
		return memory.Asked(int64(r.Memory), "--memory")
	case r.Runner.Traits().Bounded:
		return r.Usual
	default:
		return memory.Budget{}
	}
}

// KeepTo sets the usual budget, and returns the budget in force and the runner that it is for.
func (r *Running) KeepTo(usual memory.Budget) (memory.Budget, Runner) {
	r.Usual = usual
	return r.Budget(), r.Runner
}

// Remote says where and how a job runs on a cluster.
type Remote struct {
	JobServer   string `aliases:"job-endpoint,flink-job-server" placeholder:"HOST:PORT" help:"Beam job server of the cluster, for --runner flink, spark or portable; --job-endpoint is the same." group:"Cluster"`
	Environment string `placeholder:"KIND[:CONFIG]" help:"Environment for the steps of a job on a cluster: loopback (this process), process:COMMAND (a boot program on the workers' machines), external:HOST:PORT (a worker pool at this address) or docker:IMAGE (default: loopback, if the job server is on this machine)." group:"Cluster"`

	FlinkOption map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Option for the cluster's Beam runner, as in execution_mode_for_batch=BATCH_FORCED; repeat for several. The job server must know the option." group:"Cluster"`
	FlinkREST   string            `name:"flink-rest" placeholder:"HOST:PORT" help:"Flink's REST interface, which serves the web UI. neardup checks the cluster's settings before the job starts, and shows progress (default: port 8081 of the job server's machine, if Flink answers there)." group:"Cluster"`
}

// CheckRemote returns a *UsageError for flags that a runner does not support.
func (r *Remote) CheckRemote(by Runner) error {
	switch runner := by.Traits(); {
	case !runner.OnCluster && r.JobServer+r.Environment != "":
		return Usage("--job-server and --environment are for jobs on a cluster; add --runner flink")
	case !runner.REST && (len(r.FlinkOption) > 0 || r.FlinkREST != ""):
		return Usage("--flink-option and --flink-rest are for jobs on Flink; add --runner flink")
	}
	return nil
}

// Values of --method.
const (
	MinHash  = "minhash"
	SimHash  = "simhash"
	Complete = "complete"
	Exact    = "exact"
)

// Measures of similarity, the values of --compare.
const (
	Jaccard = "jaccard"
	Cosine  = "cosine"
	Overlap = "overlap"
	// Containment is the share of the smaller set that is also in the larger one.
	Containment = "containment"
)

// Values of --vectors: the entries of SimHash's random vectors.
const (
	Normal = "normal"
	Sign   = "sign"
)

// Values of --cluster: which documents of a cluster are kept.
const (
	Star       = "star"
	Components = "components"
)

// Values of --invalid-utf8: what to do with a record whose text is not UTF-8.
const (
	rejectInvalid = "reject"
	keepInvalid   = "keep"
)

// choices lists the valid values of fields that have a fixed set of them. "" selects none, if it is the default.
var choices = map[string][]string{
	"format":       source.Formats(),
	"invalid_utf8": {rejectInvalid, keepInvalid},
	"method":       {MinHash, SimHash, Complete, Exact},
	"same":         Strings(copies.All()...),
	"signature":    Strings(signature.Families()...),
	"compare":      {Jaccard, Cosine, Overlap, Containment},
	"weights":      Strings(vector.Unit, vector.TF, vector.TFIDF),
	"vectors":      {Normal, Sign},
	"cluster":      {Star, Components},
	"write":        Strings(output.Parts()...),
}

// Vars returns the values of variables in the tags of flags, so that each list of names, and each default, is defined
// once.
func Vars() map[string]string {
	vars := records.DefaultVars()
	maps.Copy(vars, map[string]string{
		"formats":        Listed(choices["format"]...),
		"invalid":        Names(choices["invalid_utf8"]...),
		"methods":        Names(choices["method"]...),
		"signatures":     Names(choices["signature"]...),
		"sames":          Names(choices["same"]...),
		"measures":       Names(choices["compare"]...),
		"weights":        Names(choices["weights"]...),
		"vectors":        Names(choices["vectors"]...),
		"parts":          Names(choices["write"]...),
		"clusters":       Names(choices["cluster"]...),
		"normalizations": Listed(textnorm.Steps()...),
		"runners":        Names(runnerNames()...),
		"resumes":        Names(resumes...),
	})
	return vars
}

// Strings returns the values of an enum as plain strings.
func Strings[T ~string](values ...T) (plain []string) {
	for _, v := range values {
		plain = append(plain, string(v))
	}
	return plain
}

// Names returns the values of an enum as a tag lists them.
func Names[T ~string](values ...T) string { return strings.Join(Strings(values...), ",") }

// Listed returns the values of an enum as a message lists them.
func Listed[T ~string](values ...T) string { return strings.Join(Strings(values...), ", ") }

// UsageError is a mistake in the settings.
type UsageError struct {
	// Field is the wrong flag in the form that files use, and Value its value, which the message shows once; Field is ""
	// if no single flag is wrong.
	Field, Value string
	// Reason says what is wrong, and what to do.
	Reason error
}

func (e *UsageError) Error() string {
	if e.Field == "" {
		return e.Reason.Error()
	}
	flag := flagOf(e.Field)
	if e.Value != "" && !strings.Contains(e.Reason.Error(), strconv.Quote(e.Value)) {
		flag += " " + e.Value
	}
	return flag + ": " + e.Reason.Error()
}

// flagOf returns the flag of a field.
func flagOf(field string) string { return "--" + strings.ReplaceAll(field, "_", "-") }

func (e *UsageError) Unwrap() error { return e.Reason }

// Status returns the exit status.
func (e *UsageError) Status() int { return 2 }

// Usage returns a *UsageError.
func Usage(format string, args ...any) error {
	return &UsageError{Reason: fmt.Errorf(format, args...)}
}
