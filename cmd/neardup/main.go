// Command neardup finds near-duplicate documents.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/beamcli"
	_ "github.com/neardup/neardup/internal/collector"
	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/internal/logging"
	"github.com/neardup/neardup/internal/manual"
	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

func main() {
	abortFatal()
	reserve := make([]byte, heapReserve)
	status := run(os.Args[1:], os.Stdin, terminal.Output(os.Stdout), os.Stderr)
	runtime.KeepAlive(reserve)
	os.Exit(status)
}

// heapReserve is a part of the heap that is never touched. The collector runs when the heap has doubled, so it skips
// the first 64 MB, at the price of up to 32 MB of memory. Collecting those took 8 % of the CPU of a job on 100,000
// reviews.
const heapReserve = 32 << 20

// run runs one command line and returns its exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	own, options := beamcli.Split(args)
	if keepsAll(args) {
		own, options = args, nil
	}
	if own = hyphens(own); len(own) > 0 && own[0] == "help" && misspelt(own) {
		own = append(slices.DeleteFunc(own[1:], func(arg string) bool { return arg == "-h" || arg == "--help" }), "--help")
	}
	slog.SetDefault(logging.Early(own).Logger(stderr))
	if beamcli.IsWorker(args) {
		interruptWorker()
		limitWorker()
		go func() {
			beamcli.AwaitBoot()
			os.Exit(0)
		}()
		return exit(beamcli.Work(args))
	}
	runtime.MemProfileRate = 0
	ctx := interruptible(stderr)
	var cli commands
	parser, err := newParser(&cli, own, stdout, stderr)
	if err != nil {
		return exit(err)
	}
	if len(own) > 0 && own[0] == manual.CompleteWord {
		for _, line := range manual.Complete(listed(parser.Model), own[1:]) {
			fmt.Fprintln(stdout, line)
		}
		return 0
	}
	if misspelt(own) {
		parser.Model.DefaultCmd = nil
	}
	command, status := (*kong.Context)(nil), -1
	own, passed, err := passedOn(parser.Model, own)
	options = append(passed, options...)
	if err == nil {
		own = inputsFirst(parser.Model, configfile.Args(parser, own))
		command, status, err = parse(parser, own)
	}
	if err == nil && status < 0 {
		err = cli.heeds(passed)
	}
	if err == nil || cli.Log.JSON() { // a job file may ask for JSON, too
		slog.SetDefault(cli.Log.Logger(stderr))
	}
	if status >= 0 {
		return status
	}
	if err == nil {
		err = cli.run(ctx, command, options, streams{In: stdin, Out: stdout, Err: stderr, Raw: stderr, Quiet: cli.Log.Quiet})
	}
	if err != nil && (cli.asJSON() || slices.Contains(own, "--json")) { // --json may not have been parsed
		printFailure(stdout, err)
	}
	return exit(err)
}

// run runs the command that was parsed, with Beam's options.
func (c *commands) run(ctx context.Context, command *kong.Context, options []string, s streams) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = job.Panicked(p)
		}
	}()
	if err := beamcli.Init(options); err != nil {
		return &job.UsageError{Reason: err}
	}
	if err := c.Stores.use(); err != nil {
		return configfile.Locate(command, err)
	}
	limit(command.Selected())
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	command.BindTo(ctx, (*context.Context)(nil))
	command.Bind(command.Model)
	if c.Log.JSON() || c.Log.Quiet {
		s.Err = io.Discard // no progress line
	}
	s.Progress = newDisplay(s.Err)
	if c.Caller > 0 {
		s.Progress.always = true
		signal.Ignore(syscall.SIGPIPE)
		go endWith(os.NewFile(uintptr(c.Caller), "caller"))
	}
	err = job.Cause(ctx, command.Run(s))
	if usage := (*job.UsageError)(nil); errors.As(err, &usage) {
		err = configfile.Locate(command, err)
	}
	return err
}

// heeds returns an error if an option that only Beam knows is given without Dataflow.
func (c *commands) heeds(options []string) error {
	for _, option := range options {
		name, _, _ := strings.Cut(option, "=")
		if name != "--worker_binary" && !c.Dedup.Runner.Traits().OnlyBuckets && !c.Plan.Runner.Traits().OnlyBuckets {
			return withHelp(fmt.Errorf("unknown flag %s; if it is a Beam option, it needs --runner dataflow", name), "dedup")
		}
	}
	return nil
}

// asJSON reports whether results are printed as JSON.
func (c *commands) asJSON() bool {
	for _, command := range reflect.ValueOf(c).Elem().Fields() {
		if asked := command.FieldByName("JSON"); asked.IsValid() && asked.Bool() {
			return true
		}
	}
	return false
}

// streams are where a command reads and writes: results go to Out, progress to Err if that is a terminal, and other
// messages to slog's default logger. Raw is for text that other programs read, whatever the format of the log.
type streams struct {
	In            io.Reader
	Out, Err, Raw io.Writer
	Progress      *display
	Quiet         bool // do not print a summary
}

// asks reports whether the command can ask a user.
func (s streams) asks() bool {
	in, ok := s.In.(*os.File)
	return ok && terminal.Watched(in) && terminal.Watched(s.Err)
}

// parse parses the command line. A status of 0 or more means that there is nothing else to do, as after --help.
func parse(parser *kong.Kong, args []string) (command *kong.Context, status int, err error) {
	status = -1
	parser.Exit = func(code int) { status = code }
	command, err = parser.Parse(args)
	if status >= 0 {
		return nil, status, nil
	}
	var inFile *configfile.Error
	if errors.As(err, &inFile) {
		return nil, status, &job.UsageError{Reason: inPlainWords(inFile)}
	}
	var mistake *kong.ParseError
	if errors.As(err, &mistake) {
		err = inPlainWords(err)
		if parser.Model.DefaultCmd == nil && subcommand(mistake.Context) == "" {
			err = errors.New(strings.Replace(err.Error(), "unexpected argument", "no command, file or folder is named", 1))
		}
		err = configfile.Locate(mistake.Context, err)
		if name := subcommand(mistake.Context); slices.Contains(naming, name) &&
			strings.HasPrefix(err.Error(), "unknown flag -") {
			err = fmt.Errorf("%w; write -- before an id that begins with -", err)
		}
		err = withHelp(err, subcommand(mistake.Context))
	}
	return command, status, err
}

// plainWords maps patterns of kong's messages to the words that users read instead.
var plainWords = [][2]string{
	{`expected \w+ value but got "EOL" \(<EOL>\)|missing value, expecting ".*"`, "a value is missing"},
	{`: expected (?:u?int|float) value but got "(-\.?\d.*)" \(\w+ flag\)(; perhaps try .*)?`, " $1: must not be negative"},
	{`expected \w+ value but got (".*") \(\w+ flag\)(; perhaps try .*)?`, "a value is missing before $1"},
	{`expected a valid \d+ bit u?int but got (".*")`, "must be a whole number, not $1"},
	{`expected a counter but got (".*")`, "must be a whole number, not $1"},
	{`expected a float but got (".*")(?: \(string\))?`, "must be a number, not $1"},
	{`expected duration but got (".*?")(:.*)?$`, "must be a duration such as 90s or 2h, not $1"},
	{`expected "<key>=<value>" but got (".*")`, "must be NAME=VALUE, not $1"},
	{` can't be used together$`, " cannot be used together; use one"},
	{`bool value (must be .*) but got (".*")`, "$1, not $2"},
	{`^expected "(<\S+>) (<\S+>).*"$`, "the arguments $1 and $2 are missing"},
	{`^expected "(<.*>)"$`, "the argument $1 is missing"},
	{`^expected (?:one of )?(".*)`, "give a subcommand: $1"},
	{`^missing flags: (.*)`, "set $1"},
	{`^flag (--\S+) applies to the default command "(.*)", not "(.*)"$`, "$1 before $3 counts as a flag of $2; put it after $3"},
	{`^(set --.*), (--\S+)$`, "$1 and $2"},
	{`(; use .*), prism or direct$`, "$1 or direct"}, // prism is only for tests
	{`^(set --\w+)=(\w+)`, "$1 $2"},
	{`^(set --\w+ \w+ and --\w+)=(\w+)$`, "$1 $2"},
	{`^(un\w+ \w+ -{0,2}\S{1,2}), did you mean .*`, "$1"}, // a short name resembles any other
}

// inPlainWords returns an error of kong's in users' words.
func inPlainWords(err error) error {
	text := err.Error()
	for _, words := range plainWords {
		text = regexp.MustCompile(words[0]).ReplaceAllString(text, words[1])
	}
	if of := regexp.MustCompile(`^(\S+) must be one of ("",)?(".*") but got (".*")$`).FindStringSubmatch(text); of != nil {
		text = of[1] + ": " + of[4] + " is unknown; use " +
			records.Or(strings.Split(strings.NewReplacer(`"prism",`, "", `"`, "").Replace(of[3]), ",")...)
	}
	if strings.HasPrefix(text, "give a subcommand") {
		text = strings.ReplaceAll(text, `"`, "")
	}
	if of := regexp.MustCompile(`^(un\w+ \w+ \S+), did you mean (.*)\?$`).FindStringSubmatch(text); of != nil {
		text = of[1] + " (did you mean " + strings.ReplaceAll(of[2], `"`, "") + "?)"
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

func subcommand(c *kong.Context) string {
	if c == nil || c.Selected() == nil {
		return ""
	}
	names := []string{c.Selected().Name}
	for above := c.Selected().Parent; above != nil && above.Type == kong.CommandNode; above = above.Parent {
		names = append([]string{above.Name}, names...)
	}
	return strings.Join(names, " ")
}

// withHelp makes a usage error name the help to read.
func withHelp(err error, subcommand string) error {
	command := strings.TrimSpace("neardup " + subcommand)
	return &job.UsageError{Reason: fmt.Errorf("%w; see %s --help", err, command)}
}

// runError is an error with the record of the run that it ended.
type runError struct {
	error
	run *records.Run
}

func (e *runError) Unwrap() error { return e.error }

// printFailure prints an error in the form of --json. It ignores write errors, because the log has the error too.
func printFailure(w io.Writer, err error) {
	status := job.Status(err)
	var failed any = records.Failure{Status: "failed", Error: err.Error(), Exit: status}
	if e := (*runError)(nil); errors.As(err, &e) && e.run != nil {
		e.run.Status, e.run.Error, e.run.Exit = "failed", cmp.Or(e.run.Error, err.Error()), status
		failed = e.run
	}
	output.JSON(w, failed)
}

// exit logs an error and returns its exit status.
func exit(err error) int {
	if err != nil {
		slog.Error(err.Error())
	}
	return job.Status(err)
}
