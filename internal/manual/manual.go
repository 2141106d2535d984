// Package manual writes what a shell and man know of a command line: completion and a man page, from kong's model.
package manual

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// A command is a subcommand that does something, by its words.
type command struct {
	*kong.Node
	path string // config init
}

// commands returns the subcommands, in order.
func commands(app *kong.Application) (all []command) {
	for _, node := range app.Leaves(true) {
		path := node.Name
		for above := node.Parent; above.Parent != nil; above = above.Parent {
			path = above.Name + " " + path
		}
		all = append(all, command{node, path})
	}
	return all
}

// own returns the flags of a command that are not of all.
func (c command) own() []*kong.Flag {
	root := c.Node
	for root.Parent != nil {
		root = root.Parent
	}
	return slices.DeleteFunc(slices.Concat(c.AllFlags(true)...), func(flag *kong.Flag) bool {
		return slices.Contains(root.Flags, flag)
	})
}

// takesValue reports whether a flag has a value.
func takesValue(flag *kong.Flag) bool { return !flag.IsBool() && !flag.IsCounter() }

// names are those of a flag on the command line, the one that turns it off included.
func names(flag *kong.Flag) []string {
	all := []string{"--" + flag.Name}
	if flag.Short != 0 {
		all = append(all, "-"+string(flag.Short))
	}
	if flag.Tag.Negatable != "" {
		all = append(all, "--no-"+flag.Name)
	}
	return all
}

// values are those that a flag or an argument may have, nil if they are not listed.
func values(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}

// brief is the first sentence of a help, as far as a menu has room for it.
func brief(help string) string {
	const most = 72
	if end := strings.IndexAny(help, ":;(."); end > 0 {
		help = strings.TrimSpace(help[:end])
	}
	if len(help) > most {
		help = help[:strings.LastIndexByte(help[:most], ' ')] + " ..."
	}
	return help
}
