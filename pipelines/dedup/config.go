// Package dedup is the main job: documents in, verified near-duplicates and a clean corpus out.
//
// A Config says what is asked (it is at once the command line's flags and the keys of a job
// file), a Plan what follows from it and the input, Build the pipeline, and Run the whole job:
// plan, lock, build, run, check, commit.
package dedup

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/transforms/signature"
	"github.com/neardup/neardup/transforms/verify"
)

// Config is what a user asks of the job.
type Config struct {
	Input
	Output      string    `short:"o" placeholder:"DIR" help:"Folder for the results; must be new, or one of an unfinished run. Required, but for --dry-run." group:"Output" json:"output"`
	MaxRejected Tolerance `default:"0" placeholder:"N|P%" help:"How many unreadable records to accept, a number or a per cent; the job ends with status 4 if there are more (default: ${default})." group:"Input" json:"max_rejected"`

	Similarity

	Method string `default:"minhash" enum:"minhash,exact" help:"minhash (near-duplicates) or exact (copies only: --threshold has no use)." group:"Search" json:"method"`
	Search

	MeasureRecall int `placeholder:"N" help:"Measure the recall: read the input once more and compare N documents, those of smallest set hash, with all others; the summary says how many of their pairs were found." group:"Search" json:"measure_recall"`

	Cluster    string   `default:"star" enum:"star,components" help:"star: a document is removed only if a kept one is threshold similar to it; components: one document of each cluster is kept, and chains of similar documents remove others that do not resemble it." group:"Decision" json:"cluster"`
	Keep       string   `default:"first" placeholder:"POLICY" help:"Which of similar documents is kept: first in input order, longest (bytes of text), max:COLUMN or min:COLUMN (numbers before strings, none last), or prefer:GLOB,... (of the files that the first pattern matches, then the second, then others); ties: first in input order (default: ${default})." group:"Decision" json:"keep"`
	Write      []string `default:"pairs,clusters,removed,rejected,corpus" enum:"pairs,clusters,removed,rejected,corpus" placeholder:"NAME" help:"What to write: any of ${enum} (default: all)." group:"Output" json:"write"`
	PairBudget int      `default:"262144" placeholder:"N" help:"Pairs of a component above which only those of each document with some kept before it are listed." group:"Decision" json:"pair_budget"`

	Running
	Remote

	DryRun      bool `help:"Plan only: list, sample, choose, print." group:"Run" json:"dry_run"`
	Overwrite   bool `help:"Replace a finished output." group:"Run" json:"overwrite"`
	ForceUnlock bool `help:"Take the output's lock from a run that is gone." group:"Run" json:"force_unlock"`

	// CellBytes is the size of the shingle sets that are compared at once in large components;
	// results do not depend on it. 0: by --memory.
	CellBytes int `kong:"-" json:"-"`

	// ConnectDocuments is how many documents one worker connects at most; results do not depend on
	// it. 0: the usual.
	ConnectDocuments int64 `kong:"-" json:"-"`

	// SliceRows is about how many rows of a table one worker sorts at most; results do not depend on
	// it. 0: the usual.
	SliceRows int64 `kong:"-" json:"-"`

	stdin string // the file that standard input is copied to
}

// Input says what is read, and what of it is compared.
type Input struct {
	Inputs []string `arg:"" name:"input" help:"Files, folders or patterns to read, in order; - is standard input." json:"input"`

	Format      string   `help:"Format of the input: ${formats} (default: by file name)." placeholder:"NAME" group:"Input" json:"format"`
	Text        []string `default:"text" sep:"none" placeholder:"COLUMN" help:"Text column; give it again to join several by one blank. Dotted paths reach nested fields (default: ${default})." group:"Input" json:"text"`
	ID          string   `default:"id" placeholder:"COLUMN" help:"Id column; documents without one are named source@position (default: ${default})." group:"Input" json:"id"`
	Limit       int64    `placeholder:"N" help:"Read the first N readable documents only." group:"Input" json:"limit"`
	MaxDocBytes Bytes    `default:"16MiB" placeholder:"SIZE" help:"Texts larger than this are not compared, and stay in the corpus (default: ${default})." group:"Input" json:"max_doc_bytes"`
	MinWords    int      `placeholder:"N" help:"Documents of fewer words than this, after normalising, are not compared, and stay in the corpus." group:"Input" json:"min_words"`

	// SplitBytes is the size of the ranges that large files are read in; results do not depend
	// on it. 0: the usual.
	SplitBytes int64 `kong:"-" json:"-"`
}

// Similarity says which documents are similar.
type Similarity struct {
	Threshold float64 `short:"t" default:"0.8" help:"Jaccard similarity from which two documents are near-duplicates, in (0, 1]." group:"Similarity" json:"threshold"`
	Shingle   string  `default:"word:5" placeholder:"KIND:K" help:"What is compared: sets of K consecutive words, characters or bytes: word:5, char:9, byte:13; char32:9 hashes them to 4 bytes; stopword:3, or stopword:3:it of another language than English, takes a stop word and the words after it only (default: ${default})." group:"Similarity" json:"shingle"`
	Normalize string  `default:"default" placeholder:"STEPS" help:"none, or a comma list of ${normalizations}; default is NFKC, lower case, punctuation out." group:"Similarity" json:"normalize"`
}

// Search says how similar documents are searched for.
type Search struct {
	Recall    float64 `default:"0.999" help:"Least probability of finding a pair of exactly threshold similarity; more similar ones have a higher one." group:"Search" json:"recall"`
	Bands     int     `placeholder:"B" help:"Number of bands, with --rows, instead of what --recall would choose." group:"Search" json:"bands"`
	Rows      int     `placeholder:"R" help:"Rows of a band, with --bands." group:"Search" json:"rows"`
	Signature string  `default:"fss" enum:"fss,classic,salted" help:"Kind of signature: fss (Fast Similarity Sketching) or, of the textbooks and slower, classic (universal hashing of the shingles' numbers in a dictionary, which takes one more read) or salted (SHA-1 of the shingles' text)." group:"Search" json:"signature"`
	Seed      uint64  `default:"1" help:"Seed of the signature." group:"Search" json:"seed"`
}

// Running says how a job is run.
type Running struct {
	Runner  string `default:"local" enum:"local,flink,spark,prism,direct" help:"Beam runner. In this process: local is ours, on all cores and in bounded memory; prism and direct are Beam's. On a cluster, for dedup: flink and spark, by way of --job-server." group:"Run" json:"runner"`
	Workers int    `placeholder:"N" help:"Bundles that the local runner executes at a time (default: one a core); the parallelism of a job on a cluster (default: what the cluster is set to)." group:"Run" json:"workers"`
	Memory  Bytes  `placeholder:"SIZE" help:"Memory that the local runner keeps the process to, at least 256MB (default: half of what the machine or the control group has)." group:"Run" json:"memory"`
	TempDir string `placeholder:"DIR" help:"Folder for temporary files (default: a hidden one in an output folder, else the system's)." group:"Run" json:"temp_dir"`
}

// Remote says where and how a job on a cluster is run.
type Remote struct {
	JobServer   string `aliases:"flink-job-server" placeholder:"HOST:PORT" help:"Beam job server of the cluster, for --runner flink or spark; also --flink-job-server." group:"Run" json:"job_server"`
	Environment string `placeholder:"KIND[:CONFIG]" help:"What runs the steps of a job on a cluster: loopback (this process), process:COMMAND (a boot program on the workers' machines), external:HOST:PORT (a worker pool there) or docker:IMAGE (default: loopback, if the job server is on this machine)." group:"Run" json:"environment"`
	WorkerBin   string `name:"worker-binary" placeholder:"FILE" help:"neardup as a static Linux binary, which is sent to the workers (default: the running one, if it is that)." group:"Run" json:"worker_binary"`
}

// UsageError is a mistake in what was asked: exit status 2.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

func usage(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}

// Validate returns a *UsageError for what cannot be meant.
func (c *Config) Validate() error {
	switch {
	case len(c.Inputs) == 0:
		return usage("no input: give files, folders or patterns")
	case c.Output == "" && !c.DryRun:
		return usage("no output: give --output DIR")
	case c.Format != "" && !slices.Contains(source.Formats(), c.Format):
		return usage("--format %s: not one of %s", c.Format, strings.Join(source.Formats(), ", "))
	case len(c.Text) == 0 || slices.Contains(c.Text, ""):
		return usage("no text column: give --text COLUMN")
	case len(c.Write) == 0:
		return usage("nothing to write: give --write, any of %s", strings.Join(outputs, ", "))
	case !(c.Recall > 0 && c.Recall <= 1):
		return usage("--recall %v: must be above 0 and below 1", c.Recall)
	case c.Recall == 1:
		return usage("--recall 1: no number of bands finds every pair for certain; give a recall below 1, such as 0.9999")
	case (c.Bands == 0) != (c.Rows == 0):
		return usage("--bands and --rows go together: give both, or neither and --recall")
	case c.MeasureRecall < 0 || c.MeasureRecall > maxMeasureRecall:
		return usage("--measure-recall %d: must be between 1 and %d", c.MeasureRecall, maxMeasureRecall)
	case c.MeasureRecall > 0 && c.Method == "exact":
		return usage("--measure-recall: --method exact looks for copies only, and finds them all")
	case c.MeasureRecall > 0 && !c.writes("pairs"):
		return usage("--measure-recall looks for pairs in the table pairs; add it to --write")
	case c.PairBudget < 1:
		return usage("--pair-budget %d: must be at least 1", c.PairBudget)
	case c.Workers < 0:
		return usage("--workers %d: must be at least 1", c.Workers)
	case !c.OnCluster() && c.JobServer+c.Environment+c.WorkerBin != "":
		return usage("--job-server, --environment and --worker-binary are for jobs on a cluster: add --runner flink")
	case c.OnCluster() && c.Memory != 0:
		return usage("--memory is for the local runner; on a cluster it is set where the workers start (docs/flink.md)")
	case c.Memory != 0 && c.Memory < minMemory:
		return usage("--memory %d: must be at least 256MB", c.Memory)
	case c.Limit < 0:
		return usage("--limit %d: must be at least 1", c.Limit)
	case c.MaxDocBytes < 1 || c.MaxDocBytes > maxDocBytes:
		return usage("--max-doc-bytes %d: must be between 1 and %d", c.MaxDocBytes, int64(maxDocBytes))
	case c.MinWords < 0:
		return usage("--min-words %d: must be at least 1", c.MinWords)
	case !slices.Contains(signatures, c.Signature):
		return usage("--signature %s: not one of %s", c.Signature, strings.Join(signatures, ", "))
	case c.Method == "exact" && c.Signature != "fss":
		return usage("--signature %s: --method exact looks for copies only, by one key of a whole signature; drop one of the two", c.Signature)
	case c.Cluster != "star" && c.Cluster != "components":
		return usage("--cluster %s: not one of star, components", c.Cluster)
	case c.Method != "minhash" && c.Method != "exact":
		return usage("--method %s: not one of minhash, exact", c.Method)
	}
	for _, name := range c.Write {
		if !slices.Contains(outputs, name) {
			return usage("--write %s: not one of %s", name, strings.Join(outputs, ", "))
		}
	}
	if _, err := setsim.ParseThreshold(c.Threshold); err != nil {
		return usage("--threshold: %w", err)
	}
	if _, err := c.text(); err != nil {
		return &UsageError{err}
	}
	_, err := parseKeep(c.Keep)
	return err
}

// OnCluster reports whether the job runs on other machines than this one, or might.
func (r *Running) OnCluster() bool { return r.Runner == "flink" || r.Runner == "spark" }

const (
	maxDocBytes = 1 << 30
	minMemory   = 256_000_000
	// Each worker holds the sets of the sample in memory.
	maxMeasureRecall = 100_000
)

// signatures are the names --signature knows.
var signatures = []string{string(signature.FSS), string(signature.Classic), string(signature.Salted)}

// outputs are the names --write knows: the tables, and the corpus.
var outputs = []string{"pairs", "clusters", "removed", "rejected", "corpus"}

func (c *Config) writes(name string) bool { return slices.Contains(c.Write, name) }

// text says how a text becomes shingles.
func (c *Config) text() (spec shingle.Spec, err error) {
	if spec.Shingle, err = shingle.Parse(c.Shingle); err != nil {
		return spec, fmt.Errorf("--shingle: %w", err)
	}
	if spec.Normalize, err = textnorm.Parse(c.Normalize); err != nil {
		return spec, fmt.Errorf("--normalize: %w", err)
	}
	return spec, nil
}

// Source says how the inputs are read.
func (c *Config) Source() source.Options {
	keep, _ := parseKeep(c.Keep) // Validate has the error
	return source.Options{
		Format:      c.Format,
		Fields:      codec.Fields{Text: c.Text, ID: c.ID},
		Rank:        keep.rank,
		MaxDocument: int64(c.MaxDocBytes),
		SplitBytes:  c.SplitBytes,
		Limit:       c.Limit,
		Stdin:       c.stdin,
	}
}

// Tolerance is how many unreadable records a job accepts: a number, or a per cent of all.
type Tolerance sink.Limit

// UnmarshalText reads "12" or "0.5%".
func (t *Tolerance) UnmarshalText(text []byte) error {
	if number, ok := strings.CutSuffix(string(text), "%"); ok {
		percent, err := strconv.ParseFloat(number, 64)
		if err != nil || !(percent >= 0 && percent <= 100) {
			return fmt.Errorf("%q is not a per cent between 0%% and 100%%", text)
		}
		*t = Tolerance{Percent: percent}
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a number of records, or a per cent such as 0.1%%", text)
	}
	*t = Tolerance{Records: n}
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (t Tolerance) MarshalText() ([]byte, error) {
	if t.Percent > 0 {
		return append(strconv.AppendFloat(nil, t.Percent, 'g', -1, 64), '%'), nil
	}
	return strconv.AppendInt(nil, t.Records, 10), nil
}

// Vars are the values that the help texts of Config refer to.
func Vars() map[string]string {
	return map[string]string{
		"formats":        strings.Join(source.Formats(), ", "),
		"normalizations": strings.Join(textnorm.Steps(), ", "),
	}
}

// smallestCell: the smaller the cells, the more often each set is sent.
const smallestCell = 1 << 20

// cellBytes leaves each worker room for two cells as they arrive, as sets and with an index.
func (c *Config) cellBytes() int {
	switch workers := cmp.Or(c.Workers, runtime.GOMAXPROCS(0)); {
	case c.CellBytes > 0:
		return c.CellBytes
	case c.Memory > 0:
		return max(smallestCell, min(int(c.Memory)/(32*workers), verify.DefaultCellBytes))
	default:
		return verify.DefaultCellBytes
	}
}
