// Package beamcli owns Beam's global flags: they stand after "--" on neardup's command line, and
// a worker that a runner starts gets nothing else.
package beamcli

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"google.golang.org/grpc/grpclog"
)

// Split parts neardup's own arguments from Beam's options after "--".
func Split(args []string) (own, options []string) {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i], args[i+1:]
	}
	return args, nil
}

// IsWorker reports whether a runner started this process as a worker: such a command line has
// no subcommand, only Beam's flags.
func IsWorker(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return name == "worker" && value != "false" && strings.HasPrefix(arg, "-")
	}) && len(args) > 0 && strings.HasPrefix(args[0], "-")
}

// Work runs this process as a worker. It returns only if Beam's flags are wrong.
func Work(args []string) error {
	if err := parse(args); err != nil {
		return err
	}
	beam.Init()
	return nil
}

// AwaitBoot returns when the process that started this worker is gone. A boot program that is ended
// with its job, as Flink does it, leaves its worker behind, which Beam's SDK lets wait for ever, and
// the copy of the binary that it made for this worker: that is removed.
func AwaitBoot() {
	for boot := os.Getppid(); os.Getppid() == boot; time.Sleep(time.Second) {
	}
	if self, err := os.Executable(); err == nil && bootCopy(self) {
		os.RemoveAll(filepath.Dir(self))
	}
}

// bootCopy reports whether a path is one that Beam's boot program copies a worker's binary to.
func bootCopy(path string) bool {
	ok, err := filepath.Match("/tmp/bin[0-9]*/worker", path)
	return ok && err == nil
}

// Init parses Beam's options and initialises Beam for launching pipelines. Beam and its
// in-process runners log through slog's default, which stays what it is.
func Init(options []string) error {
	if err := parse(options); err != nil {
		return err
	}
	initialise()
	logGRPC()
	return nil
}

// Ready initialises Beam for launching pipelines, unless that is done. It reads no options.
func Ready() {
	if !beam.Initialized() {
		once.Do(initialise)
	}
}

var once sync.Once

func initialise() {
	logger := slog.Default()
	beam.Init() // sets a default of its own
	slog.SetDefault(logger)
}

// logGRPC has gRPC, which the runners talk by, log its errors as all else does. They come back as errors
// of the job, too.
func logGRPC() {
	errors := slog.NewLogLogger(slog.Default().Handler(), slog.LevelInfo).Writer()
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, errors))
}

func parse(args []string) error {
	flag.CommandLine.Init("beam options", flag.ContinueOnError)
	flag.CommandLine.SetOutput(io.Discard)
	if err := flag.CommandLine.Parse(args); err != nil {
		return fmt.Errorf("beam option: %w", err)
	}
	if flag.NArg() > 0 {
		return fmt.Errorf("beam option: %q is not an option; inputs come before --", flag.Arg(0))
	}
	return nil
}
