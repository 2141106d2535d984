package main

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/internal/logging"
	"github.com/neardup/neardup/internal/manual"
	"github.com/neardup/neardup/pipelines/compare"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/diff"
	"github.com/neardup/neardup/pipelines/export"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/pipelines/query"
	"github.com/neardup/neardup/pipelines/study"
)

// globals are the flags of every command.
type globals struct {
	Log    logging.Flags `embed:""`
	Stores storeFlags    `embed:""`
	Gone   goneFlags     `embed:""`

	Caller uint64 `hidden:"" help:"Descriptor of a pipe from a program that shows progress itself; the run ends when that does."`

	PrintVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// BeforeResolve refuses flags of one value that are given twice, and reads flags from the environment.
func (*globals) BeforeResolve(ctx *kong.Context) error {
	given := map[*kong.Flag]bool{}
	for _, path := range ctx.Path {
		flag := path.Flag
		if flag != nil && given[flag] && !flag.IsCumulative() && !flag.IsCounter() && !flag.IsBool() {
			return fmt.Errorf("--%s takes one value but is given more than once; give it once", flag.Name)
		}
		given[flag] = true
	}
	return configfile.Environment(ctx)
}

// commands has the subcommands, one file each.
type commands struct {
	globals

	Dedup      dedupCmd      `cmd:"" group:"Find duplicates" default:"withargs" help:"Find near-duplicate documents and write a deduplicated corpus. This is the default command."`
	Plan       planCmd       `cmd:"" group:"Find duplicates" help:"Forecast a run of dedup from a sample of its input: what it reads and shuffles, its parameters, memory and time."`
	Passages   passagesCmd   `cmd:"" group:"Find duplicates" help:"Find repeated passages: runs of words that also occur earlier, in the same document or another. neardup lists both places."`
	Index      indexCmd      `cmd:"" group:"Find duplicates" help:"Manage an index of what earlier runs have kept and removed, for dedup --against."`
	Show       showCmd       `cmd:"" group:"Look at an output" help:"Show a document's cluster in a finished output: which documents it holds, and why each was kept or removed. For an output of passages, show the passages of the document."`
	Report     reportCmd     `cmd:"" group:"Look at an output" help:"Rebuild report.html from a finished output of dedup or passages."`
	Export     exportCmd     `cmd:"" group:"Look at an output" help:"Write the tables of a finished output as CSV, as JSON Lines or as SQL views."`
	Eval       evalCmd       `cmd:"" group:"Look at an output" help:"Measure a finished output against a truth file, or against an exact comparison of a sample with all documents: precision, recall, F1 and adjusted Rand index."`
	Query      queryCmd      `cmd:"" group:"Look at documents" help:"Find the documents nearest to a given document or text."`
	Diff       diffCmd       `cmd:"" group:"Look at documents" help:"Compare two documents: the words that differ and, with --measures, every similarity and distance."`
	Study      studyCmd      `cmd:"" group:"Try methods on a small collection" help:"Measure how preprocessing changes similarity: compare every pair of a small collection with and without spaces, stop words and stemming."`
	Compare    compareCmd    `cmd:"" group:"Try methods on a small collection" help:"Find the similar pairs of a small collection with several methods, and print how far they agree."`
	Curve      curveCmd      `cmd:"" group:"Try methods on a small collection" help:"Plot the probability that bands and rows find a pair, by similarity."`
	Config     configCmd     `cmd:"" group:"About neardup" help:"Write job files for --config."`
	Completion completionCmd `cmd:"" group:"About neardup" help:"Print a shell script that completes commands, flags and values."`
	Man        manCmd        `cmd:"" group:"About neardup" help:"Print the man page."`
	Version    versionCmd    `cmd:"" group:"About neardup" help:"Print the version and the ids of the formats that neardup writes."`
	Finish     finishCmd     `cmd:"" group:"In the cloud" help:"Wait for a Dataflow job that dedup left running, and publish its output."`
}

// alone returns the command that args begin with, for a parser without the others: for dedup, it takes a quarter of the
// time to build. It returns nil if the parser needs all commands: to choose among them, to print them, or to know which
// have a key of a job file or a variable.
func (c *commands) alone(args []string) kong.Option {
	if len(args) == 0 || slices.Contains([]string{"config", "index", manual.CompleteWord, "man"}, args[0]) ||
		configfile.Used(args) {
		return nil
	}
	for field, command := range reflect.ValueOf(c).Elem().Fields() {
		if _, ok := field.Tag.Lookup("cmd"); ok && strings.ToLower(field.Name) == args[0] {
			return kong.DynamicCommand(args[0], field.Tag.Get("help"), "", command.Addr().Interface())
		}
	}
	return nil
}

// newParser returns a parser for the command line args, or for any command line if args is empty.
func newParser(cli *commands, args []string, stdout, stderr io.Writer) (*kong.Kong, error) {
	options := []kong.Option{
		kong.Name("neardup"),
		kong.Description("Finds near-duplicate documents: every reported pair is verified exactly, and you choose the " +
			"recall.\n\nExit status 0: success; 1: failure (try again); 2: wrong usage, or another error that a person must " +
			"fix; 3: output exists or is locked. Exit status 4: too many unreadable records, or no document to compare; 5: " +
			"more removals than --max-removed allows; 129, 130, 131 or 143: interrupted.\n\nEach flag can also be set in " +
			"the environment (--threshold as NEARDUP_THRESHOLD) or, for commands with --config, in that file; the command " +
			"line overrides the environment, which overrides the file. Underscores in flag names count as hyphens."),
		expanded(job.Vars(), compare.Vars(), query.Vars(), study.Vars(), export.Vars(), diff.Vars()),
		kong.Vars{"version": "neardup " + dedup.Version()},
		kong.Writers(stdout, stderr),
		kong.PostBuild(hideFlags),
		kong.PostBuild(tailorHelp),
		kong.PostBuild(showExamples),
		kong.Help(helpHere),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
	}
	if command := cli.alone(args); command != nil {
		return kong.New(&cli.globals, append(options, command)...)
	}
	return kong.New(cli, options...)
}

// expanded replaces variables in the tags of flags and arguments. kong.Vars visits all variables again for each flag,
// which took a fifth of a start.
func expanded(vars ...map[string]string) kong.Option {
	var pairs []string
	for _, values := range vars {
		for name, value := range values {
			pairs = append(pairs, "${"+name+"}", value)
		}
	}
	replacer := strings.NewReplacer(pairs...)
	return kong.PostBuild(func(k *kong.Kong) error {
		return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
			if v, ok := node.(*kong.Value); ok {
				v.Default, v.Enum, v.Help = replacer.Replace(v.Default), replacer.Replace(v.Enum), replacer.Replace(v.Help)
			}
			return next(nil)
		})
	})
}

// listed returns app with an enum for flags whose values are checked elsewhere, and without the runner for tests.
func listed(app *kong.Application) *kong.Application {
	vars := job.Vars()
	names := map[string]string{
		"format": vars["formats"], "same": vars["sames"], "compare": vars["measures"], "table": export.Vars()["exported"],
		"keep": "first,longest,max:,min:,prefer:,none",
	}
	_ = kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if v, ok := node.(*kong.Value); ok && (v.Target.Kind() == reflect.String || v.IsSlice()) {
			v.Enum = strings.Replace(cmp.Or(v.Enum, names[v.Name]), string(job.Prism)+",", "", 1)
		}
		return next(nil)
	})
	return app
}

// examples has example calls of each command.
var examples = map[string][]string{
	"compare": {
		"neardup compare news.jsonl --methods brute-force,minhash --plot compare.svg",
		"neardup compare news.jsonl --methods minhash --truth pairs.csv",
	},
	"init":  {"neardup config init", "neardup config init query -o query.toml"},
	"curve": {"neardup curve --bands 20 --rows 5", "neardup curve --bands 4 --rows 4 --d1 .2 --d2 .6 --svg curve.svg"},
	"dedup": {
		"neardup news/ -o out",
		"neardup news/*.csv --text title --text body --keep longest --dry-run",
		"neardup 'crawl/*.jsonl.gz' --text body --threshold 0.7 -o s3://bucket/out",
	},
	"diff": {
		"neardup diff old.txt new.txt",
		"neardup diff a17 b4 news/ --text body --measures",
		"neardup diff news.jsonl@0 news.jsonl@1734 news.jsonl",
	},
	"eval": {
		"neardup eval out --truth pairs.csv --texts 3",
		"neardup eval out --truth labels.jsonl --list 100",
		"neardup eval out --sample 1000",
	},
	"export": {
		"neardup export out --format csv --excel -o tables",
		"neardup export out --format jsonl --table removed -o - | head",
		"neardup export out --format sql -o views",
	},
	"finish": {"neardup finish gs://bucket/out"},
	"completion": {
		"source <(neardup completion bash)",
		"neardup completion fish > ~/.config/fish/completions/neardup.fish",
	},
	"man": {"neardup man | man -l -", "neardup man > /usr/local/share/man/man1/neardup.1"},
	"passages": {
		"neardup passages news/ -o out",
		"neardup passages 'crawl/*.jsonl.gz' --text body --length 20 -o out",
	},
	"plan":    {"neardup plan news/", "neardup plan 'crawl/*.jsonl.gz' --text body --threshold 0.7"},
	"query":   {"neardup query news/ --of a17", "neardup query news/ --file draft.txt --min-similarity 0.5"},
	"show":    {"neardup show out a2", "neardup show out news/2024.jsonl@1734"},
	"study":   {"neardup study essays/ --format files -o study"},
	"version": {"neardup version"},
}

// showExamples ends the help of each command with its examples.
func showExamples(k *kong.Kong) error {
	for _, command := range k.Model.Leaves(false) {
		title := "Example:\n"
		if len(examples[command.Name]) > 1 {
			title = "Examples:\n"
		}
		for _, line := range examples[command.Name] {
			command.Detail += title + "\n    " + line
			title = ""
		}
	}
	return nil
}
