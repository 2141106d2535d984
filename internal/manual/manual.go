// Package manual writes what a shell and man know of a command line: completion and a man page, from kong's model.
package manual

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// A command is a subcommand that does something, by its words.
type command struct {
	*kong.Node
	path  string // config init
	usual bool   // what is done without a subcommand
}

// commands returns the subcommands, in order.
func commands(app *kong.Application) (all []command) {
	for _, node := range app.Leaves(true) {
		path := node.Name
		for above := node.Parent; above.Parent != nil; above = above.Parent {
			path = above.Name + " " + path
		}
		all = append(all, command{node, path, node.Tag.Default != ""})
	}
	return all
}

// own returns the flags of a command that are not of all.
func (c command) own() (flags []*kong.Flag) {
	for _, group := range c.AllFlags(true) {
		for _, flag := range group {
			if !common(c.Node, flag) {
				flags = append(flags, flag)
			}
		}
	}
	return flags
}

// common reports whether a flag is one of all commands.
func common(node *kong.Node, flag *kong.Flag) bool {
	for node.Parent != nil {
		node = node.Parent
	}
	for _, f := range node.Flags {
		if f == flag {
			return true
		}
	}
	return false
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

// Shells are those that Completion writes for.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Completion returns the script by which a shell completes the command line.
func Completion(app *kong.Application, shell string) (script string, err error) {
	switch shell {
	case "bash":
		return bash(app), nil
	case "zsh":
		return zsh(app), nil
	case "fish":
		return fish(app), nil
	}
	return "", fmt.Errorf("no completion for %q; the shells are %s", shell, strings.Join(Shells(), ", "))
}
