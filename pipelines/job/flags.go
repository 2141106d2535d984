// Package job is what the jobs dedup, query and compare share: what all of them are asked, the plan that
// follows from it and the input, and how a pipeline of theirs is launched and interrupted.
//
// The fields of Input, Similarity, Shingles, Search, Running and Remote are at once the flags of the command line
// and the keys of a job file. They are parsed once, into typed values.
package job

import (
	"encoding"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/kernels/wordstep"
	"github.com/neardup/neardup/transforms/signature"
)

// Config is what every job is asked.
type Config struct {
	Input
	Similarity
	Search
	Running
}

// Input says what is read, and what of it is compared.
type Input struct {
	Inputs []string `arg:"" optional:"" name:"input" help:"Files, folders or patterns to read, in order; - is standard input. neardup follows links to folders inside folders, but not for ** in patterns."`

	NamedInputs    []string    `name:"input" sep:"none" placeholder:"PATH" help:"Another input, read after those without a flag; repeat for several." group:"Input"`
	InputsFrom     string      `placeholder:"FILE" help:"File that lists more inputs, one path per line; - is standard input." group:"Input"`
	Include        []string    `sep:"none" placeholder:"GLOB" help:"Read only files that match, or are in a folder that matches; repeat for several patterns. A pattern without a slash is compared with each name in a path below an input folder, a pattern with a slash with the path." group:"Input"`
	Exclude        []string    `sep:"none" placeholder:"GLOB" help:"Skip files that match, or are in a folder that matches; patterns as for --include." group:"Input"`
	ModifiedBefore Moment      `placeholder:"TIME" help:"Read only files last modified before a time: 2026-11-20 (midnight UTC) or 2026-11-20T06:00:00Z. Standard input has none." group:"Input"`
	Format         Format      `help:"Format of the input: ${formats} (default: by file name)." placeholder:"NAME" group:"Input"`
	Text           []string    `default:"text" sep:"none" placeholder:"COLUMN" help:"Text column; repeat to join several columns with a space. Dotted paths reach nested fields (default: ${default})." group:"Input"`
	ID             string      `default:"id" placeholder:"COLUMN" help:"Id column; documents without one are named source@position (default: ${default})." group:"Input"`
	Encoding       Encoding    `default:"utf-8" placeholder:"NAME" help:"Encoding of those JSON, CSV, TSV and text files, and members of tar, that are not UTF-8, by its name in the Encoding Standard: windows-1251, latin1, shift_jis, gbk, koi8-r and so on; utf-16le and utf-16be are for all of them. A byte order mark overrides every name except utf-8; auto follows the mark and, without one, takes UTF-8 (default: ${default})." group:"Input"`
	SkipUnknown    bool        `help:"If a folder has data of several formats, read the format that --format names, or the one with the most bytes, and skip the rest." group:"Input"`
	Delimiter      Delimiter   `default:"," placeholder:"CHARACTER" help:"Separator of CSV values: an ASCII character, or tab (default: ${default})." group:"Input"`
	NoHeader       bool        `help:"The first line of CSV and TSV is data; --text and --id are column numbers, from 1." group:"Input"`
	Limit          int64       `placeholder:"N" help:"Read only the first N readable documents." group:"Input"`
	MaxDocBytes    Bytes       `default:"16MiB" placeholder:"SIZE" help:"Do not compare documents whose text is larger, or becomes larger than this and than twice its size when it is normalised; they stay in the corpus (default: ${default})." group:"Input"`
	MaxIDBytes     Bytes       `default:"4KiB" placeholder:"SIZE" help:"Do not compare documents with a longer id; they stay in the corpus (default: ${default})." group:"Input"`
	MaxWindow      Bytes       `default:"128MiB" placeholder:"SIZE" help:"Refuse compressed files with a larger window and Parquet files with larger pages, because reading holds that much in memory (default: ${default})." group:"Input"`
	InvalidUTF8    InvalidUTF8 `name:"invalid-utf8" default:"reject" enum:"${invalid}" help:"Treatment of a text that is not UTF-8, or begins like UTF-16: reject (the record is unreadable) or keep (compare it unchanged, invalid parts byte by byte; char:9 suits such texts better than words) (default: ${default})." group:"Input"`
	MinWords       int         `placeholder:"N" help:"Do not compare documents with fewer words after normalising; they stay in the corpus." group:"Input"`

	// SplitBytes is the size of the ranges that large files are read in; results do not depend
	// on it. 0: the usual.
	SplitBytes int64 `kong:"-"`

	// GroupBytes is about how large a group is; results do not depend on it. 0: the usual.
	GroupBytes int64 `kong:"-"`
	// Stdin is what the input - reads.
	Stdin io.Reader `kong:"-"`
}

// InvalidUTF8 says what becomes of a record whose text is not UTF-8.
type InvalidUTF8 string

// The ways.
const (
	RejectInvalid InvalidUTF8 = "reject"
	KeepInvalid   InvalidUTF8 = "keep"
)

// Similarity says which documents are similar.
type Similarity struct {
	Threshold Threshold `short:"t" default:"0.8" help:"Minimum similarity to count as near-duplicates, in (0, 1]; Jaccard similarity, unless another measure is chosen." group:"Similarity"`
	Shingles
}

// Shingles says what of documents is compared.
type Shingles struct {
	Shingle   Shingle       `default:"word:5" placeholder:"KIND:K" help:"Shingles (n-grams) to compare: K consecutive words, characters or bytes, as in word:5, char:9, byte:13. char32:9 cuts their hashes to 32 bits. stopword:3 (stopword:3:it for Italian) takes only shingles that begin with a stop word (default: ${default})." group:"Similarity"`
	Normalize Normalization `default:"default" placeholder:"STEPS" help:"none, or a comma list of ${normalizations}. default is NFKC and lower case, without punctuation, symbols, layout and invisible characters (byte:K keeps the last two); keep-symbols also compares punctuation and symbols, and keep-case capitals; other steps are those of default, unless you list some." group:"Similarity"`
	Tokens    Tokens        `default:"none" placeholder:"STEPS" help:"Changes to words before shingling, for shingles of words or characters: none, or a comma list of no-stop-words:LANGUAGE and stem:LANGUAGE (Snowball), as in no-stop-words:en,stem:en (default: ${default})." group:"Similarity"`
}

// Spec says how a text becomes shingles.
func (s *Shingles) Spec() shingle.Spec {
	return shingle.Spec{Shingle: s.Shingle.Config, Normalize: s.Normalize.Policy, Words: s.Tokens.Steps}
}

// Search says how similar documents are searched for.
type Search struct {
	Recall    float64          `default:"0.999" help:"Minimum probability of finding a pair of exactly threshold similarity; more similar pairs have a higher one." group:"Search"`
	Bands     int              `placeholder:"B" help:"Number of bands, with --rows, instead of what --recall would choose." group:"Search"`
	Rows      int              `placeholder:"R" help:"Rows of a band, with --bands." group:"Search"`
	Signature signature.Family `default:"fss" enum:"${signatures}" help:"Kind of signature: fss (Fast Similarity Sketching) or, from textbooks and slower, classic (universal hashing of the shingles' numbers in a dictionary, which takes one more read) or salted (SHA-1 of the shingles' text)." group:"Search"`
	Seed      uint64           `default:"1" help:"Seed of the signature." group:"Search"`
}

// Running says how a job is run.
type Running struct {
	Runner  Runner `default:"local" enum:"${runners}" help:"Beam runner. In this process: local (all cores, bounded memory) or Beam's direct (and prism, in a binary built with the tag prism). On a cluster, for dedup: dataflow, or flink, spark and portable through --job-server. Beam's class names work too; DirectRunner means local." group:"Run"`
	Workers int    `aliases:"parallelism" placeholder:"N" help:"Number of parallel workers: of the local runner (default: one per core), or of a job on a cluster (default: the cluster's setting); also --parallelism." group:"Run"`
	Memory  Bytes  `placeholder:"SIZE" help:"Memory limit of the process with the local runner, at least 256MB (default: half of the container's limit or, without one, of this machine's memory)." group:"Run"`
	TempDir string `placeholder:"DIR" help:"Folder for temporary files (default: a hidden one beside or in an output folder, else the system's)." group:"Run"`

	// Usual is how much memory this process is kept to by the local runner if Memory is 0.
	Usual memory.Budget `kong:"-"`
	// Planned, if set, is called before the first pipeline with what each reads.
	Planned func(pipelines [][]Read) `kong:"-"`
}

// Budget is how much memory this process is kept to; other runners than the local one have no default.
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

// KeepTo sets the usual budget, and returns what is in force and the runner that it is for.
func (r *Running) KeepTo(usual memory.Budget) (memory.Budget, Runner) {
	r.Usual = usual
	return r.Budget(), r.Runner
}

// Remote says where and how a job on a cluster is run.
type Remote struct {
	JobServer   string `aliases:"job-endpoint,flink-job-server" placeholder:"HOST:PORT" help:"Beam job server of the cluster, for --runner flink, spark or portable; also --job-endpoint." group:"Run"`
	Environment string `placeholder:"KIND[:CONFIG]" help:"Environment for the steps of a job on a cluster: loopback (this process), process:COMMAND (a boot program on the workers' machines), external:HOST:PORT (a worker pool there) or docker:IMAGE (default: loopback, if the job server is on this machine)." group:"Run"`
	// The environment by the names, and in the notation, that Beam has for it.
	EnvironmentType   string `placeholder:"KIND" help:"Kind of --environment by itself: LOOPBACK, PROCESS, EXTERNAL or DOCKER." group:"Run"`
	EnvironmentConfig string `placeholder:"CONFIG" help:"Configuration for --environment-type: JSON for PROCESS, as in '{\"command\":\"/opt/neardup/boot\"}'; host:port for EXTERNAL; an image for DOCKER." group:"Run"`

	FlinkOption map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Option for the cluster's Beam runner, as in execution_mode_for_batch=BATCH_FORCED; repeat for several. The job server must know it." group:"Run"`
	FlinkREST   string            `name:"flink-rest" placeholder:"HOST:PORT" help:"Flink's REST interface, which serves the web UI. neardup checks the cluster's settings before the job starts, and shows progress (default: port 8081 of the job server's machine, if a Flink answers there)." group:"Run"`
	WorkerBin   string            `name:"worker-binary" placeholder:"FILE" help:"neardup as a static Linux binary to send to the workers (default: the running binary, if it is one). Runners in this process ignore it." group:"Run"`
}

// Format is a format of the input by its name; "" is that of each file's name.
type Format string

// UnmarshalText reads a name.
func (f *Format) UnmarshalText(text []byte) error {
	for _, name := range source.Formats() {
		if string(text) == name {
			*f = Format(name)
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", text, strings.Join(source.Formats(), ", "))
}

// Encoding is one of text files, by its name; "" is UTF-8.
type Encoding string

// UnmarshalText reads a name.
func (e *Encoding) UnmarshalText(text []byte) error {
	*e = Encoding(text)
	return reading.CheckEncoding(string(text))
}

// Moment is a point in time; the zero Moment is none.
type Moment struct{ time.Time }

// UnmarshalText reads RFC 3339, or a date, which is its midnight in UTC.
func (m *Moment) UnmarshalText(text []byte) (err error) {
	if m.Time, err = time.Parse(time.DateOnly, string(text)); err == nil {
		return nil
	}
	if m.Time, err = time.Parse(time.RFC3339, string(text)); err != nil {
		return fmt.Errorf("%q is not a time; write 2026-11-20 or 2026-11-20T06:00:00Z", text)
	}
	return nil
}

// String is RFC 3339 in UTC, "" for none.
func (m Moment) String() string {
	if m.IsZero() {
		return ""
	}
	return m.UTC().Format(time.RFC3339Nano)
}

// Delimiter stands between two values of CSV: an ASCII character, or "tab"; "" is a comma.
type Delimiter string

// UnmarshalText reads one.
func (d *Delimiter) UnmarshalText(text []byte) error {
	if string(text) == `\t` {
		text = []byte(tab)
	}
	if string(text) != tab && (len(text) != 1 || text[0] > '~' || text[0] < ' ' && text[0] != '\t' || text[0] == '"') {
		return fmt.Errorf("%q cannot separate values; give one ASCII character other than a quote, or the word tab", text)
	}
	*d = Delimiter(text)
	return nil
}

const tab = "tab"

// Byte is the character; 0 is the usual one.
func (d Delimiter) Byte() byte {
	switch d {
	case "":
		return 0
	case tab:
		return '\t'
	default:
		return d[0]
	}
}

// Threshold is the least similarity of a pair.
type Threshold struct{ setsim.Threshold }

// UnmarshalText reads a decimal number.
func (t *Threshold) UnmarshalText(text []byte) error {
	number, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("%q is not a number in (0, 1]", text)
	}
	t.Threshold, err = setsim.ParseThreshold(number)
	return err
}

// Shingle is what texts are cut into.
type Shingle struct{ shingle.Config }

// UnmarshalText reads what shingle.Parse does.
func (s *Shingle) UnmarshalText(text []byte) (err error) {
	s.Config, err = shingle.Parse(string(text))
	return err
}

// Normalization is what is done to a text before it is cut.
type Normalization struct{ textnorm.Policy }

// UnmarshalText reads what textnorm.Parse does.
func (n *Normalization) UnmarshalText(text []byte) (err error) {
	n.Policy, err = textnorm.Parse(string(text))
	return err
}

// Tokens is what becomes of words before a text is cut.
type Tokens struct{ wordstep.Steps }

// UnmarshalText reads what wordstep.Parse does.
func (t *Tokens) UnmarshalText(text []byte) (err error) {
	t.Steps, err = wordstep.Parse(string(text))
	return err
}

var _ = []encoding.TextUnmarshaler{new(Runner), new(Labels), new(Format), new(Encoding), new(Delimiter), new(Threshold), new(Shingle), new(Normalization), new(Tokens), new(Bytes)}

// Vars are the values that the tags of flags refer to: each list of names stands in one place.
func Vars() map[string]string {
	return map[string]string{
		"invalid":        Names(RejectInvalid, KeepInvalid),
		"formats":        strings.Join(source.Formats(), ", "),
		"normalizations": strings.Join(textnorm.Steps(), ", "),
		"signatures":     Names(signature.Families()...),
		"vectors":        Names(Normal, Sign),
		"weights":        Names(vector.Unit, vector.TF, vector.TFIDF),
		"runners":        Names(runnerNames()...),
	}
}

// Names are the values of an enum as a tag lists them.
func Names[T ~string](values ...T) string { return join(values, ",") }

// Listed are the values of an enum as a message lists them.
func Listed[T ~string](values ...T) string { return join(values, ", ") }

func join[T ~string](values []T, separator string) string {
	var names []string
	for _, v := range values {
		names = append(names, string(v))
	}
	return strings.Join(names, separator)
}

// UsageError is a mistake in what was asked.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

// Status is the exit status.
func (e *UsageError) Status() int { return 2 }

// Usage returns a *UsageError.
func Usage(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}

const (
	maxDocBytes = 1 << 30
	maxIDBytes  = 1 << 20
	minWindow   = 8 << 20 // which every reader of zstd must have
	maxWindow   = 1 << 31
)

// Validate returns a *UsageError for what cannot be meant.
func (c *Config) Validate() error {
	if err := CheckPath("--temp-dir", c.TempDir); err != nil {
		return err
	}
	switch {
	case len(c.Inputs) == 0:
		return Usage("no input: give files, folders or patterns, or --inputs-from")
	case len(c.Text) == 0 || slices.Contains(c.Text, ""):
		return Usage("no text column: give --text COLUMN")
	case !(c.Recall > 0 && c.Recall <= 1):
		return Usage("--recall %v: must be above 0 and below 1", c.Recall)
	case c.Recall == 1:
		return Usage("--recall 1: bands cannot guarantee every pair; give a recall below 1, such as 0.9999")
	case (c.Bands == 0) != (c.Rows == 0):
		return Usage("--bands and --rows go together: give both, or neither and --recall")
	case c.Workers < 0:
		return Usage("--workers %d: must be at least 1", c.Workers)
	case c.Memory != 0 && c.Runner.Traits().WorkerMemory != "":
		return Usage("--memory is for the local runner; %s", c.Runner.Traits().WorkerMemory)
	case c.Memory != 0 && c.Memory < memory.Least:
		return Usage("--memory %d: must be at least 256MB", c.Memory)
	case c.Limit < 0:
		return Usage("--limit %d: must be at least 1", c.Limit)
	case c.MaxDocBytes < 1 || c.MaxDocBytes > maxDocBytes:
		return Usage("--max-doc-bytes %d: must be between 1 and %d", c.MaxDocBytes, int64(maxDocBytes))
	case c.MaxIDBytes < 1 || c.MaxIDBytes > maxIDBytes:
		return Usage("--max-id-bytes %d: must be between 1 and %d", c.MaxIDBytes, int64(maxIDBytes))
	case c.MaxWindow < minWindow || c.MaxWindow > maxWindow:
		return Usage("--max-window %d: must be between %d and %d", c.MaxWindow, int64(minWindow), int64(maxWindow))
	case c.Shingle.Kind == shingle.Stop && c.Tokens.Steps != (wordstep.Steps{}):
		return Usage("--tokens %v: --shingle %v begins shingles with stop words as they are; give --shingle word:%d, or --tokens none", c.Tokens, c.Shingle, c.Shingle.K)
	case c.MinWords < 0:
		return Usage("--min-words %d: must be at least 1", c.MinWords)
	}
	return c.CheckMemory(vector.Unit)
}
