// Package manual writes shell completions and a man page from kong's model of a command line.
package manual

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// A command is a subcommand without children.
type command struct {
	*kong.Node
	path string // such as config init
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

// own returns the flags of a command that are not global.
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

// names returns the forms of a flag on the command line, including the one that turns it off.
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

// values returns the values that a flag or an argument may have, or nil if they are not listed.
func values(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}

// brief returns the first sentence of a help text, cut to the width of a menu.
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
