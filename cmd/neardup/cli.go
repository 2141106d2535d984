package main

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/internal/logging"
	"github.com/neardup/neardup/internal/manual"
	"github.com/neardup/neardup/pipelines/compare"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/diff"
	"github.com/neardup/neardup/pipelines/export"
	"github.com/neardup/neardup/pipelines/query"
	"github.com/neardup/neardup/pipelines/study"
)

// commands are the subcommands, one file each.
type commands struct {
	Log    logging.Flags `embed:""`
	Stores storeFlags    `embed:""`

	PrintVersion kong.VersionFlag `name:"version" help:"Print the version."`

	Dedup      dedupCmd      `cmd:"" default:"withargs" help:"Find near-duplicate documents and write a deduplicated corpus. This is the default command."`
	Finish     finishCmd     `cmd:"" help:"Wait for a Dataflow job that dedup left running, and publish its output."`
	Query      queryCmd      `cmd:"" help:"Find the documents nearest to one, by its id or its text."`
	Report     reportCmd     `cmd:"" help:"Draw report.html of a finished dedup output again."`
	Study      studyCmd      `cmd:"" help:"Measure what preprocessing does to similarity: every pair of a small collection, with and without spaces, stop words and endings."`
	Compare    compareCmd    `cmd:"" help:"Find the similar pairs of a small collection in several ways, and print how they agree."`
	Show       showCmd       `cmd:"" help:"Show the cluster of a document of a finished output: who is in it, and why each was kept or removed."`
	Export     exportCmd     `cmd:"" help:"Write the tables of a finished output as CSV, as JSON Lines or as SQL views."`
	Curve      curveCmd      `cmd:"" help:"Draw how likely bands and rows are to find a pair, by its similarity."`
	Diff       diffCmd       `cmd:"" help:"Compare two documents: the words that differ and, with --measures, every similarity and distance."`
	Eval       evalCmd       `cmd:"" help:"Measure a finished output by a truth file: precision, recall, F1 and adjusted Rand index."`
	Config     configCmd     `cmd:"" help:"Job files."`
	Completion completionCmd `cmd:"" help:"Print a script for completion of commands, flags and values in a shell."`
	Man        manCmd        `cmd:"" help:"Print the man page."`
	Version    versionCmd    `cmd:"" help:"Print the version and the ids of the formats it writes."`
}

// BeforeResolve has flags come from the environment, too.
func (c *commands) BeforeResolve(ctx *kong.Context) error { return configfile.Environment(ctx) }

func newParser(cli *commands, stdout, stderr io.Writer) (*kong.Kong, error) {
	return kong.New(cli,
		kong.Name("neardup"),
		kong.Description("Finds near-duplicate documents: every reported pair is verified exactly, and the recall is yours to choose.\n\nExit status: 0 done, 1 failed, 2 wrong usage, 3 output exists or is locked, 4 too many unreadable records or no document to compare, 5 more would be removed than --max-removed allows, 129, 130, 131 or 143 interrupted.\n\nEach flag may also come from the environment, --threshold as NEARDUP_THRESHOLD, or from a --config file; the command line overrides the environment, which overrides the file. Underscores in flags are hyphens."),
		kong.Vars(dedup.Vars()), kong.Vars(compare.Vars()), kong.Vars(query.Vars()), kong.Vars(study.Vars()), kong.Vars(export.Vars()), kong.Vars(diff.Vars()),
		kong.Vars{"version": "neardup " + dedup.Version(), "shells": strings.Join(manual.Shells(), ",")},
		kong.Writers(stdout, stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
	)
}

// example is the end of a command's help: how it is called.
func example(lines ...string) string {
	text := "Example:\n"
	if len(lines) > 1 {
		text = "Examples:\n"
	}
	for _, line := range lines {
		text += "\n    " + line
	}
	return text
}
