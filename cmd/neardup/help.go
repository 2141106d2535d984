package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/memory"
)

var (
	// most lists the flags of dedup that -h shows.
	most = []string{
		"text", "id", "threshold", "recall", "shingle", "method", "keep", "output", "overwrite",
		"dry-run", "workers", "memory",
	}
	// idle lists the flags of dedup without effect on plan, because they are about the job or its results.
	idle = []string{
		"output", "write", "no-text", "dry-run", "overwrite", "weak-overwrite", "wait-lock", "force-unlock", "metrics-file",
		"lineage-file",
	}
	// pure lists the commands that read no corpus and no output, so they reach no store and log nothing.
	pure = []string{"curve", "init", "completion", "man", "version"}
)

// hideFlags hides the flags that have no effect on plan, and the one that passages refuses in all but its default.
func hideFlags(k *kong.Kong) error {
	hidden := map[string][]string{"plan": idle, "passages": {"invalid-utf8"}}
	for _, command := range k.Model.Children {
		for _, flag := range command.Flags {
			flag.Hidden = flag.Hidden || slices.Contains(hidden[command.Name], flag.Name)
		}
	}
	return nil
}

// helpsHere has help texts of shared flags for commands that run only in this process.
var helpsHere = map[string]string{
	"runner": "Beam runner: local (all cores, bounded memory) or direct (Beam's own); DirectRunner means " +
		"local (default: local).",
	"workers": "Number of parallel workers; --parallelism is the same (default: one per core).",
	"temp-dir": "Folder for temporary files; --temp-location is the same, but makes the folder (default: a hidden " +
		"folder in or beside the output, or the system's temporary folder).",
}

// tailored has what the help of a shared flag says otherwise for one command.
var tailored = []struct{ command, flag, words, instead string }{
	{"passages", "normalize", " (--shingle byte:K keeps the last two)", ""},
	{"create", "signature", "a slower textbook kind: classic (universal hashing of each shingle's number " +
		"in a dictionary, for which neardup reads the input once more) or salted (SHA-1 of the shingles' text)",
		"salted (slower: SHA-1 of the shingles' text)"},
	{"plan", "json", "Print run.json instead of the summary",
		"Print the plan as JSON, in the form of run.json, instead of text"},
	{"study", "invalid-utf8", "--shingle char:K or byte:K, or --method exact", "--unit char"},
	{"compare", "invalid-utf8", ", or --method exact", ""},
	{"diff", "invalid-utf8", ", or --method exact", ""},
	{"query", "invalid-utf8", ", or --method exact", ""},
	{"query", "pieces", "; neardup compares documents with an equal piece at the same position (default: as " +
		"many as --recall needs, if you give it; otherwise 32, or neardup compares all documents if most would " +
		"share a piece by chance)",
		": compare only documents with an equal piece at the same position (default: compare all documents)"},
}

// tailorHelp sets the help texts of shared flags that differ for a command.
func tailorHelp(k *kong.Kong) error {
	k.Model.HelpFlag.Help = "Show help."
	for _, command := range k.Model.Leaves(false) {
		remote := slices.ContainsFunc(command.Flags, func(flag *kong.Flag) bool { return flag.Name == "job-server" })
		for _, flag := range command.Flags {
			if help, other := helpsHere[flag.Name]; other && !remote {
				flag.Help = help
			}
			for _, t := range tailored {
				if t.command == command.Name && t.flag == flag.Name {
					flag.Help = strings.Replace(flag.Help, t.words, t.instead, 1)
				}
			}
		}
	}
	return nil
}

// helpHere prints help: for dedup and plan with -h, only the flags that most runs need; otherwise all flags that the
// command supports, those of stores last. It prints the memory limit that this process would have, which depends on the
// machine.
func helpHere(options kong.HelpOptions, c *kong.Context) error {
	command, common := c.Selected(), c.Model.Flags
	if command == nil {
		command = c.Model.Node
	}
	own := command.Flags
	defer func() { c.Model.Flags, command.Flags = common, own }() // kong visits these again after help
	short := (command.Name == "dedup" || command.Name == "plan") && !slices.Contains(c.Args, "--help")
	for _, flag := range c.Flags() {
		if rule, _, found := strings.Cut(flag.Help, " (default: "); found && flag.Name == "memory" {
			usual := memory.Usual(machine, goMemLimit)
			flag.Help = fmt.Sprintf("%s (default: %.1f GB, %s).", rule, float64(usual.Bytes)/1e9, usual.From)
		}
		far := isStores(flag) || flag.Name == "verbose" || flag.Name == "quiet"
		flag.Hidden = flag.Hidden || far && slices.Contains(pure, command.Name) || short && !slices.Contains(most, flag.Name)
	}
	if command != c.Model.Node {
		command.Group = nil // groups are for the list of all commands; verbs inherit it
	}
	c.Model.Flags = slices.DeleteFunc(slices.Clone(common), isStores)
	if command != c.Model.Node { // at the top, each command shows the flags of stores
		stores := slices.DeleteFunc(slices.Clone(common), func(flag *kong.Flag) bool { return !isStores(flag) })
		command.Flags = slices.Concat(own, stores)
	}
	if err := kong.DefaultHelpPrinter(options, c); err != nil || !short {
		return err
	}
	_, err := fmt.Fprintf(c.Stdout, "\nAll flags: %s --help\n", command.FullPath())
	return err
}

// isStores reports whether a flag is about access to stores.
func isStores(flag *kong.Flag) bool { return flag.Group != nil && flag.Group.Title == "Stores" }
