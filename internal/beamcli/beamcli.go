// Package beamcli owns Beam's global flags: they follow "--" on neardup's command line, and are the only arguments of a
// worker that a runner starts.
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

// Split separates neardup's own arguments from Beam's options after "--".
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

// AwaitBoot returns when the process that started this worker has ended. A boot program that ends with its job, as on
// Flink, leaves behind its worker, which Beam's SDK lets wait for ever, and the copy of the binary that it made for the
// worker. AwaitBoot removes that copy.
func AwaitBoot() {
	for boot := os.Getppid(); os.Getppid() == boot; time.Sleep(time.Second) {
	}
	if self, err := os.Executable(); err == nil && bootCopy(self) {
		os.RemoveAll(filepath.Dir(self))
	}
}

// bootCopy reports whether a path is one to which Beam's boot program copies a worker's binary.
func bootCopy(path string) bool {
	ok, err := filepath.Match("/tmp/bin[0-9]*/worker", path)
	return ok && err == nil
}

// Init parses Beam's options and initialises Beam for launching pipelines. Beam and its in-process runners log to
// slog's default logger, which Init leaves unchanged.
func Init(options []string) error {
	if err := parse(options); err != nil {
		return err
	}
	initialise()
	logGRPC()
	return nil
}

// Ready initialises Beam for launching pipelines, unless it is initialised already. It reads no options.
func Ready() {
	if !beam.Initialized() {
		once.Do(initialise)
	}
}

var once sync.Once

func initialise() {
	logger := slog.Default()
	beam.Init() // replaces slog's default logger
	slog.SetDefault(logger)
}

// logGRPC makes gRPC, by which the runners communicate, log its errors like everything else. They are also in the error
// of the job.
func logGRPC() {
	errors := slog.NewLogLogger(slog.Default().Handler(), slog.LevelInfo).Writer()
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, errors))
}

func parse(args []string) error {
	flag.CommandLine.Init("beam options", flag.ContinueOnError)
	flag.CommandLine.SetOutput(io.Discard)
	if err := flag.CommandLine.Parse(args); err != nil {
		if name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); unknown {
			return fmt.Errorf("beam option: --%s is unknown; drop it", name)
		}
		return fmt.Errorf("beam option: %w", err)
	}
	if flag.NArg() > 0 {
		return fmt.Errorf("beam option: %q is not an option; inputs come before --", flag.Arg(0))
	}
	return nil
}
