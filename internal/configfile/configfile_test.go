package configfile

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// size parses its own text, like sizes and tolerances.
type size int

func (s *size) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%dK", (*int)(s))
	if err != nil {
		return fmt.Errorf("%q is not a size such as 5K", text)
	}
	return nil
}

type job struct {
	Threshold float64 `default:"0.8"`
	MaxRows   int
	Method    string `default:"minhash" enum:"minhash,exact"`
	Size      size
	Force     bool
	Text      []string `sep:"none"`
	Write     []string `default:"a,b" enum:"a,b,c"`
	Floor     bool     `hidden:""`
	Config    Flag
}

func (c *cli) BeforeResolve(ctx *kong.Context) error { return Environment(ctx) }

type cli struct {
	Verbose int `type:"counter" short:"v"`
	Dedup   job `cmd:""`
	Query   struct {
		Nearest int
		Config  Flag
	} `cmd:""`
	Compare struct {
		Nearest int
		Methods string
	} `cmd:""`
}

// parse parses a command line with a job file.
func parse(t *testing.T, job string, args ...string) (c cli, context *kong.Context, err error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "job.toml"), []byte(job), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	parser, err := kong.New(&c, kong.Name("neardup"))
	if err != nil {
		t.Fatal(err)
	}
	context, err = parser.Parse(Args(parser, args))
	return c, context, err
}

func TestMistakes(t *testing.T) {
	for job, want := range map[string]string{
		"# a comment\n\ntreshold = 1\n":  `job.toml:3: unknown key "treshold"; did you mean "threshold"?`,
		"max_row = 1":                    `job.toml:1: unknown key "max-row"; did you mean "max-rows"?`,
		"max_rows = 1\nmax-rows = 2":     `job.toml:2: max-rows and max_rows are the same key; drop one`,
		"force = true\r\nzebra = 1":      `job.toml:2: unknown key "zebra"; keys are the names of flags; see neardup dedup --help`,
		"text = '''\na\nb'''\nfoce = 1":  `job.toml:4: unknown key "foce"; did you mean "force"?`,
		"text = [\n'a',\n'b']\nx-y = 1":  `job.toml:4: unknown key "x-y"; keys are the names of flags; see neardup dedup --help`,
		"floor = true":                   `job.toml:1: unknown key "floor"; keys are the names of flags; see neardup dedup --help`,
		"flor = true":                    `job.toml:1: unknown key "flor"; keys are the names of flags; see neardup dedup --help`,
		"config = 'b.toml'":              `job.toml:1: a job file cannot set --config; remove this line`,
		"help = true":                    `job.toml:1: a job file cannot set --help; remove this line`,
		"\n[jobs]\nforce = true\n":       `job.toml:2: unknown key "jobs"; keys are the names of flags; see neardup dedup --help`,
		"b = 1\na = 1":                   `job.toml:1: unknown key "b"; keys are the names of flags; see neardup dedup --help`,
		"methods = 'x'":                  `job.toml:1: "methods" is a key of neardup compare, not of dedup`,
		"\n\n\nnearest = 3":              `job.toml:4: "nearest" is a key of neardup query and compare, not of dedup`,
		"threshold = 'high'":             `job.toml:1: threshold: expected a float but got "high"`,
		"threshold = [0.8]":              `job.toml:1: threshold: must be a number, not an array`,
		"threshold.x = 0.8":              `job.toml:1: threshold: must be a number, not a table`,
		"\nmax-rows = 1.5":               `job.toml:2: max-rows: expected a valid 64 bit int but got "1.5"`,
		"method = 'fast'":                `job.toml:1: method: "fast" is unknown; use minhash or exact`,
		"method = true":                  `job.toml:1: method: must be a string or a number, not true`,
		"write = ['a', 'd']":             `job.toml:1: write: "d" is unknown; use a, b or c`,
		"write = [['a']]":                `job.toml:1: write: must be a string or an array of strings, not an array`,
		"force = 'yes'":                  `job.toml:1: force: must be true or false, not "yes"`,
		"size = 7":                       `job.toml:1: size: "7" is not a size such as 5K`,
		"method = 1979-05-27":            `job.toml:1: method: must be a string or a number, not a date or a time`,
		"verbose = true":                 `job.toml:1: verbose: must be a number, not true`,
		"force = true\nforce = true":     `job.toml:2: force is set twice; drop one`,
		"force = true\nmethod = ":        `job.toml:2: the value is missing or malformed; a job file is TOML, as in threshold = 0.8`,
		"method = 'a\nforce = true":      `job.toml:1: the closing quote is missing`,
		"text = \"\"\"a":                 `job.toml:1: the closing quote is missing`,
		"text = ['a'":                    `job.toml:1: a comma or the closing bracket is missing`,
		"text = ['a' 'b']":               `job.toml:1: a comma or the closing bracket is missing`,
		"text = 'a'; method = 1":         `job.toml:1: more text follows the value; write one key per line`,
		"method = \"C:\\data\"":          `job.toml:1: "\" has a special meaning in double quotes; use single quotes, as in 'C:\data'`,
		"max-rows = 9223372036854775808": `job.toml:1: the number is too large`,
		"force = Yes":                    `job.toml:1: write true or false in lower case, or put text in quotes`,
		"\nmethod: exact":                `job.toml:2: this line is not a key with a value; a job file is TOML, as in threshold = 0.8`,
		`{"method": "exact"}`:            `job.toml is JSON, but not a run.json of neardup; a job file is TOML`,
		strings.Repeat("#", 1<<20+1):     `--config job.toml is larger than 1 MiB; is it a job file?`,
	} {
		_, _, err := parse(t, job, "dedup", "--config", "job.toml")
		if mistake := (*Error)(nil); !errors.As(err, &mistake) || err.Error() != want {
			t.Errorf("%.40q:\n got %v\nwant %v", job, err, want)
		}
	}
}

// A pipe without a writer is not waited for; one with a writer is a job file like others.
func TestPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	_, _, err := parse(t, "", "dedup", "--config", pipe)
	if want := "--config " + pipe + " is a pipe that nothing writes to; give a job file"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("max-rows = 7\n"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, _, err := parse(t, "", "dedup", "--config", fmt.Sprintf("/dev/fd/%d", r.Fd()))
	if err != nil || c.Dedup.MaxRows != 7 {
		t.Errorf("max-rows %d, %v", c.Dedup.MaxRows, err)
	}
}

// An endless file is refused.
func TestEndlessFile(t *testing.T) {
	_, _, err := parse(t, "", "dedup", "--config", "/dev/zero")
	if want := "--config /dev/zero is larger than 1 MiB; is it a job file?"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, _, err = parse(t, "", "dedup", "--config", "nowhere.toml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want that it does not exist", err)
	}
}

func TestValues(t *testing.T) {
	const all = `
		threshold = 0.9
		max_rows = 1_000
		method = "exact"
		size = "5K"
		force = true
		text = ["a,b", "c"]
		write = "b,c"
		verbose = 2`
	c, _, err := parse(t, all, "dedup", "--config", "job.toml", "--method", "minhash", "--text", "d")
	if err != nil {
		t.Fatal(err)
	}
	want := job{Threshold: 0.9, MaxRows: 1000, Method: "minhash", Size: 5, Force: true, Text: []string{"d"}, Write: []string{"b", "c"}}
	c.Dedup.Config = Flag{}
	if diff := cmp.Diff(want, c.Dedup, cmp.AllowUnexported(Flag{})); diff != "" || c.Verbose != 2 {
		t.Errorf("verbose %d, want 2; -want +got:\n%s", c.Verbose, diff)
	}
	if c, _, err = parse(t, all, "dedup", "--config", "job.toml"); err != nil || !cmp.Equal(c.Dedup.Text, []string{"a,b", "c"}) {
		t.Errorf("text %q, %v", c.Dedup.Text, err)
	}
}

// TestByteOrderMark: a job file may begin with the mark that some editors write.
func TestByteOrderMark(t *testing.T) {
	if c, _, err := parse(t, "\uFEFFmax-rows = 3\n", "dedup", "--config", "job.toml"); err != nil || c.Dedup.MaxRows != 3 {
		t.Errorf("max-rows %d, error %v; want 3", c.Dedup.MaxRows, err)
	}
}

// A whole number above a million is not formatted as a float with an exponent, which a text parser would refuse.
func TestScalar(t *testing.T) {
	for value, want := range map[any]string{"x": "x", int64(-3): "-3", 1.5e9: "1500000000", 0.1: "0.1"} {
		if got, ok := scalar(value); got != want || !ok {
			t.Errorf("%v: %q, %v, want %q", value, got, ok, want)
		}
	}
}

// A later error about a value has its line, if the file set it.
func TestLocate(t *testing.T) {
	for text, want := range map[string]string{
		"--threshold 7: too large":         "job.toml:2: --threshold 7: too large",
		"dedup: --threshold: too large":    "job.toml:2: dedup: --threshold: too large",
		"--method x: needs --threshold":    "--method x: needs --threshold",
		"--max-rows and --threshold clash": "--max-rows and --threshold clash",
		"no output; add --output DIR":      "no output; add --output DIR",
		"broken":                           "broken",
	} {
		_, context, err := parse(t, "\nthreshold = 7\nmethod = 'exact'", "dedup", "--config", "job.toml", "--method", "minhash")
		if err != nil {
			t.Fatal(err)
		}
		cause := errors.New(text)
		if got := Locate(context, cause); got.Error() != want || !errors.Is(got, cause) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	_, context, err := parse(t, "", "compare")
	if err != nil {
		t.Fatal(err)
	}
	if got := Locate(context, errors.New("--threshold")); got.Error() != "--threshold" {
		t.Errorf("without a file: %q", got)
	}
}

// The command line takes precedence over the environment, and that over the file, which it may name.
func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"NEARDUP_CONFIG": "job.toml", "NEARDUP_THRESHOLD": "0.5", "NEARDUP_FORCE": "true", "NEARDUP_TEXT": "a b\nc,d\n",
		"NEARDUP_WRITE": "c,b", "NEARDUP_VERBOSE": "2", "NEARDUP_METHOD": "", "NEARDUP_NEAREST": "not of dedup",
	} {
		t.Setenv(name, value)
	}
	c, context, err := parse(t, "threshold = 0.1\nmax-rows = 3\nmethod = 'exact'", "dedup", "--threshold", "0.7")
	if err != nil {
		t.Fatal(err)
	}
	c.Dedup.Config = Flag{}
	want := job{Threshold: 0.7, MaxRows: 3, Method: "exact", Force: true, Text: []string{"a b", "c,d"}, Write: []string{"c", "b"}}
	if diff := cmp.Diff(want, c.Dedup, cmp.AllowUnexported(Flag{})); diff != "" || c.Verbose != 2 {
		t.Errorf("verbose %d, want 2; -want +got:\n%s", c.Verbose, diff)
	}
	for text, want := range map[string]string{
		"--text x: none":    "NEARDUP_TEXT: --text x: none",
		"--max-rows 3: few": "job.toml:2: --max-rows 3: few",
		"--threshold 1":     "--threshold 1",
	} {
		if got := Locate(context, errors.New(text)); got.Error() != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if c, _, err := parse(t, "threshold = 0.1", "dedup"); err != nil || c.Dedup.Threshold != 0.5 {
		t.Errorf("threshold %v, %v; want that of the environment", c.Dedup.Threshold, err)
	}
	if c, _, err := parse(t, "threshold = 0.1\n[", "dedup", "--config", "/dev/null"); err != nil || c.Dedup.Threshold != 0.5 {
		t.Errorf("the file of the command line is not read in place of the environment's: %v", err)
	}
}

func TestMistakesInEnvironment(t *testing.T) {
	for entry, want := range map[string]string{
		"NEARDUP_THRESHOLD=high":  `NEARDUP_THRESHOLD: expected a float but got "high"`,
		"NEARDUP_FORCE=yes":       `NEARDUP_FORCE: must be true or false, not "yes"`,
		"NEARDUP_METHOD=fast":     `NEARDUP_METHOD: "fast" is unknown; use minhash or exact`,
		"NEARDUP_WRITE=a,d":       `NEARDUP_WRITE: "d" is unknown; use a, b or c`,
		"NEARDUP_CONFIG=/missing": `--config /missing: file does not exist; check the path`,
	} {
		name, value, _ := strings.Cut(entry, "=")
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			_, _, err := parse(t, "", "dedup")
			if mistake := (*Error)(nil); !errors.As(err, &mistake) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %v", err, want)
			}
		})
	}
}

// Only a variable that almost has a flag's name causes a warning: Kubernetes sets others for a service.
func TestMisspeltVariable(t *testing.T) {
	var out strings.Builder
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	for _, name := range []string{"NEARDUP_TRESHOLD", "NEARDUP_PORT", "NEARDUP_SERVICE_HOST", "NEARDUP_NEAREST"} {
		t.Setenv(name, "1")
	}
	if _, _, err := parse(t, "", "dedup"); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "NEARDUP_TRESHOLD matches no flag; did you mean NEARDUP_THRESHOLD?") {
		t.Errorf("%q", got)
	}
}
