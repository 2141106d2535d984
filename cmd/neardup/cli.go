package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/pipelines/dedup"
)

// commands are the subcommands, one file each.
type commands struct {
	Dedup   dedupCmd   `cmd:"" help:"Find near-duplicate documents, and write the corpus without them."`
	Query   queryCmd   `cmd:"" help:"Find the documents nearest to one, by its id or its text."`
	Compare compareCmd `cmd:"" help:"Find the similar pairs of a small collection in several ways, and print how they agree."`
	Version versionCmd `cmd:"" help:"Print the version and the ids of the formats it writes."`
}

func newParser(cli *commands, stdout, stderr io.Writer) (*kong.Kong, error) {
	return kong.New(cli,
		kong.Name("neardup"),
		kong.Description("Finds near-duplicate documents: every reported pair is verified exactly, and the recall is yours to choose.\n\nExit status: 0 done, 1 failed, 2 wrong usage, 3 output exists or is locked, 4 too many unreadable records."),
		kong.Vars(dedup.Vars()),
		kong.Configuration(loadTOML),
		kong.Writers(stdout, stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
	)
}

// jobFile is a --config file: values for flags, by their names.
type jobFile map[string]any

func loadTOML(r io.Reader) (kong.Resolver, error) {
	values := jobFile{}
	if _, err := toml.NewDecoder(r).Decode(&values); err != nil {
		return nil, err
	}
	return values, nil
}

// Validate refuses keys that are no flag.
func (f jobFile) Validate(app *kong.Application) error {
	var names []string
	err := kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			names = append(names, flag.Name)
		}
		return next(nil)
	})
	if err != nil {
		return err
	}
	for key := range f {
		if !slices.Contains(names, key) {
			return fmt.Errorf("unknown key %q; keys are the names of flags: %s", key, strings.Join(names, ", "))
		}
	}
	return nil
}

// Resolve returns the file's value for a flag.
func (f jobFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	switch value := f[flag.Name].(type) {
	case int64, float64: // as on the command line: a size or a tolerance may be a bare number
		return fmt.Sprint(value), nil
	default:
		return value, nil
	}
}
