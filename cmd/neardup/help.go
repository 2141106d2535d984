package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/memory"
)

var (
	// most are the flags of dedup that -h shows.
	most = []string{
		"text", "id", "threshold", "recall", "shingle", "method", "keep", "output", "overwrite", "dry-run", "workers", "memory",
	}
	// idle are the flags of dedup that say what becomes of a job or of its results, which plan does not heed.
	idle = []string{
		"output", "write", "no-text", "dry-run", "overwrite", "weak-overwrite", "wait-lock", "force-unlock", "metrics-file",
		"lineage-file",
	}
	// pure are the commands that read no corpus and no output: they reach no store, and have nothing to log.
	pure = []string{"curve", "init", "completion", "man", "version"}
)

// hideFlags hides what the help of plan does not show.
func hideFlags(k *kong.Kong) error {
	for _, command := range k.Model.Children {
		for _, flag := range command.Flags {
			flag.Hidden = flag.Hidden || command.Name == "plan" && slices.Contains(idle, flag.Name)
		}
	}
	return nil
}

// helpsHere are helps of shared flags for a command that runs in this process only.
var helpsHere = map[string]string{
	"runner":   "Beam runner: local (all cores, bounded memory) or Beam's direct; DirectRunner means local (default: local).",
	"workers":  "Number of parallel workers; --parallelism is the same (default: one per core).",
	"temp-dir": "Folder for temporary files; --temp-location is the same, but makes the folder (default: a hidden folder in or beside the output, or the system's).",
}

// tailorHelp gives shared flags the helps that are true of a command.
func tailorHelp(k *kong.Kong) error {
	k.Model.HelpFlag.Help = "Show help."
	for _, command := range k.Model.Leaves(false) {
		remote := slices.ContainsFunc(command.Flags, func(flag *kong.Flag) bool { return flag.Name == "job-server" })
		for _, flag := range command.Flags {
			switch help, other := helpsHere[flag.Name]; {
			case other && !remote:
				flag.Help = help
			case flag.Name == "pieces" && command.Name == "query":
				flag.Help = "Number of pieces of a SimHash signature: compare only documents with an equal piece at the same position " +
					"(default: all documents are compared)."
			}
		}
	}
	return nil
}

// helpHere prints help: of dedup and plan after -h the flags that most runs need, and else those that the command heeds,
// those of stores last. It says how much memory this process would be kept to: that depends on the machine.
func helpHere(options kong.HelpOptions, c *kong.Context) error {
	command, common := c.Selected(), c.Model.Flags
	if command == nil {
		command = c.Model.Node
	}
	own := command.Flags
	defer func() { c.Model.Flags, command.Flags = common, own }() // which kong goes through after help, too
	short := (command.Name == "dedup" || command.Name == "plan") && !slices.Contains(c.Args, "--help")
	for _, flag := range c.Flags() {
		if rule, _, found := strings.Cut(flag.Help, " (default: "); found && flag.Name == "memory" {
			usual := memory.Usual(machine, goMemLimit)
			flag.Help = fmt.Sprintf("%s (default: %d MB, %s).", rule, usual.Bytes/1e6, usual.From)
		}
		far := isStores(flag) || flag.Name == "verbose" || flag.Name == "quiet"
		flag.Hidden = flag.Hidden || far && slices.Contains(pure, command.Name) || short && !slices.Contains(most, flag.Name)
	}
	c.Model.Flags = slices.DeleteFunc(slices.Clone(common), isStores)
	if command != c.Model.Node { // whose commands show the flags of stores, each
		stores := slices.DeleteFunc(slices.Clone(common), func(flag *kong.Flag) bool { return !isStores(flag) })
		command.Flags = slices.Concat(own, stores)
	}
	if err := kong.DefaultHelpPrinter(options, c); err != nil || !short {
		return err
	}
	_, err := fmt.Fprintf(c.Stdout, "\nAll flags: %s --help\n", command.FullPath())
	return err
}

// isStores reports whether a flag says how stores are reached.
func isStores(flag *kong.Flag) bool { return flag.Group != nil && flag.Group.Title == "Stores" }
