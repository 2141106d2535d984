package main

import (
	"io"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/internal/logging"
	"github.com/neardup/neardup/pipelines/compare"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/query"
	"github.com/neardup/neardup/pipelines/study"
)

// commands are the subcommands, one file each.
type commands struct {
	Log    logging.Flags `embed:""`
	Stores storeFlags    `embed:""`

	Dedup   dedupCmd   `cmd:"" default:"withargs" help:"Find near-duplicate documents, and write the corpus without them; what is done without a subcommand."`
	Finish  finishCmd  `cmd:"" help:"Publish the output of a job on Dataflow that a run of dedup has left, once it has ended."`
	Query   queryCmd   `cmd:"" help:"Find the documents nearest to one, by its id or its text."`
	Report  reportCmd  `cmd:"" help:"Draw the page report.html of a finished output of dedup again."`
	Study   studyCmd   `cmd:"" help:"Measure what preprocessing does to similarity: every pair of a small collection, with and without spaces, stop words and endings."`
	Compare compareCmd `cmd:"" help:"Find the similar pairs of a small collection in several ways, and print how they agree."`
	Version versionCmd `cmd:"" help:"Print the version and the ids of the formats it writes."`
}

// BeforeResolve has flags come from the environment, too.
func (c *commands) BeforeResolve(ctx *kong.Context) error { return configfile.Environment(ctx) }

func newParser(cli *commands, stdout, stderr io.Writer) (*kong.Kong, error) {
	return kong.New(cli,
		kong.Name("neardup"),
		kong.Description("Finds near-duplicate documents: every reported pair is verified exactly, and the recall is yours to choose.\n\nExit status: 0 done, 1 failed, 2 wrong usage, 3 output exists or is locked, 4 too many unreadable records or no document to compare, 5 more would be removed than --max-removed allows, 129, 130, 131 or 143 interrupted.\n\nEach flag may also come from the environment, --threshold as NEARDUP_THRESHOLD, or from a --config file; the command line goes before the environment, and that before the file. Underscores in flags are hyphens."),
		kong.Vars(dedup.Vars()), kong.Vars(compare.Vars()), kong.Vars(query.Vars()), kong.Vars(study.Vars()),
		kong.Writers(stdout, stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
	)
}
