// Package beamcli owns Beam's global flags: they stand after "--" on neardup's command line, and
// a worker that a runner starts gets nothing else.
package beamcli

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
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

// Init parses Beam's options and initialises Beam for launching pipelines. Beam and its
// in-process runners log through slog's default, which is silenced: what matters comes back as
// the job's error.
func Init(options []string) error {
	if err := parse(options); err != nil {
		return err
	}
	beam.Init()
	beamlog.SetupLogging("error", "text")
	slog.SetDefault(slog.New(slog.DiscardHandler))
	return nil
}

func parse(args []string) error {
	flag.CommandLine.Init("beam options", flag.ContinueOnError)
	flag.CommandLine.SetOutput(io.Discard)
	if err := flag.CommandLine.Parse(args); err != nil {
		return fmt.Errorf("beam option: %w", err)
	}
	if flag.NArg() > 0 {
		return fmt.Errorf("beam option: %q is not an option; inputs stand before --", flag.Arg(0))
	}
	return nil
}
