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

// Init parses Beam's options and initialises Beam. In a worker it does not return. Of Beam's own
// logs only warnings are shown; logger is slog's default afterwards.
func Init(options []string, logger *slog.Logger) error {
	beamlog.SetupLogging("warn", "text")
	slog.SetDefault(logger)
	flag.CommandLine.Init("beam options", flag.ContinueOnError)
	flag.CommandLine.SetOutput(io.Discard)
	if err := flag.CommandLine.Parse(options); err != nil {
		return fmt.Errorf("beam option: %w", err)
	}
	if flag.NArg() > 0 {
		return fmt.Errorf("beam option: %q is not an option; inputs stand before --", flag.Arg(0))
	}
	beam.Init()
	return nil
}
