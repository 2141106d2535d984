// Command neardup finds near-duplicate documents.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct" //nolint:staticcheck // deprecated, but a second runner to compare with

	"github.com/neardup/neardup/internal/beamcli"
	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/internal/logging"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
)

// Exit statuses.
const (
	statusDone       = 0
	statusFailed     = 1
	statusUsage      = 2
	statusExists     = 3 // the output exists or is locked
	statusUnreadable = 4 // too many unreadable records
)

func main() {
	reserve := make([]byte, heapReserve)
	status := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	runtime.KeepAlive(reserve)
	os.Exit(status)
}

// heapReserve is a part of the heap that is never touched: the collector runs when the heap has
// doubled, and so leaves the first 64 MB alone, at the price of up to 32 MB of memory. Collecting those
// took 8 % of the CPU of a job on 100,000 reviews.
const heapReserve = 32 << 20

// run runs one command line and returns its exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	own, options := beamcli.Split(args)
	slog.SetDefault(logging.Early(own).Logger(stderr))
	if beamcli.IsWorker(args) {
		go func() {
			beamcli.AwaitBoot()
			os.Exit(statusDone)
		}()
		return exit(beamcli.Work(args))
	}
	var cli commands
	parser, err := newParser(&cli, stdout, stderr)
	if err != nil {
		return exit(err)
	}
	command, status, err := parse(parser, own)
	if err == nil || cli.Log.JSON() { // which a job file may say, too
		slog.SetDefault(cli.Log.Logger(stderr))
	}
	if err != nil || status >= 0 {
		return max(status, exit(err))
	}
	if err := beamcli.Init(options); err != nil {
		return exit(&job.UsageError{Err: err})
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// What is being done may take a while to stop; a second interrupt ends the process as usual.
	defer context.AfterFunc(ctx, func() {
		stop()
		logging.Notice("stopping; interrupt again to end at once")
	})()
	command.BindTo(ctx, (*context.Context)(nil))
	if cli.Log.JSON() {
		stderr = io.Discard // no line of progress that is written over
	}
	err = command.Run(streams{stdin, stdout, stderr})
	if usage := (*job.UsageError)(nil); errors.As(err, &usage) {
		err = configfile.Locate(command, err)
	}
	return exit(err)
}

// streams are what a command reads and where it writes: results to Out, and progress to Err if that is a terminal. The rest
// is logged, by slog's default.
type streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// parse parses the command line. A status of 0 or more means that all is done: --help.
func parse(parser *kong.Kong, args []string) (command *kong.Context, status int, err error) {
	status = -1
	parser.Exit = func(code int) { status = code }
	command, err = parser.Parse(args)
	if status >= 0 {
		return nil, status, nil
	}
	var inFile *configfile.Error
	if errors.As(err, &inFile) {
		return nil, status, &job.UsageError{Err: inFile}
	}
	var mistake *kong.ParseError
	if errors.As(err, &mistake) {
		err = configfile.Locate(mistake.Context, err)
		err = withHelp(err, subcommand(mistake.Context))
	}
	return command, status, err
}

func subcommand(c *kong.Context) string {
	if c == nil || c.Selected() == nil {
		return ""
	}
	return c.Selected().Name
}

// withHelp makes a usage error say where help is.
func withHelp(err error, subcommand string) error {
	command := strings.TrimSpace("neardup " + subcommand)
	return &job.UsageError{Err: fmt.Errorf("%w; see %s --help", err, command)}
}

// exit logs an error and returns the exit status it stands for.
func exit(err error) int {
	if err == nil {
		return statusDone
	}
	slog.Error(err.Error())
	var (
		usage      *job.UsageError
		exists     *job.OutputExistsError
		unreadable *dedup.TooManyUnreadableError
	)
	switch {
	case errors.As(err, &usage):
		return statusUsage
	case errors.As(err, &exists):
		return statusExists
	case errors.As(err, &unreadable):
		return statusUnreadable
	default:
		return statusFailed
	}
}
