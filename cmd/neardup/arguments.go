package main

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// hyphens returns arguments with a hyphen for each underscore in the name of a flag, as schedulers write them.
func hyphens(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		out[i] = arg
		if strings.HasPrefix(name, "--") {
			out[i] = strings.ReplaceAll(name, "_", "-") + arg[len(name):]
		}
	}
	return out
}

// inputsFirst returns arguments with the inputs before the flags: the parser takes inputs in one stretch only.
func inputsFirst(app *kong.Application, args []string) []string {
	command, rest := app.DefaultCmd, args
	named := func(arg string) bool {
		i := slices.IndexFunc(app.Children, func(c *kong.Node) bool { return c.Name == arg })
		if i >= 0 {
			command = app.Children[i]
		}
		return i >= 0
	}
	if len(args) > 0 && named(args[0]) {
		rest = args[1:]
	}
	if command == nil || len(command.Children) > 0 {
		return args
	}
	valued := map[string]bool{} // by name or letter
	for _, flag := range slices.Concat(app.Flags, command.Flags) {
		for _, name := range append(flag.Aliases, flag.Name, string(flag.Short)) {
			valued[name] = !flag.IsBool() && !flag.IsCounter()
		}
	}
	takesNext := func(arg string) bool {
		if name, ok := strings.CutPrefix(arg, "--"); ok {
			return valued[name]
		}
		letters := strings.TrimLeftFunc(arg[1:], func(r rune) bool { return !valued[string(r)] })
		return len(letters) == 1
	}
	inputs, flags := slices.Clone(args[:len(args)-len(rest)]), []string(nil)
	for len(rest) > 0 && rest[0] != "--" {
		switch arg := rest[0]; {
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			if len(inputs) == 0 && named(arg) {
				return args // flags of all commands go before one
			}
			inputs = append(inputs, arg)
		case takesNext(arg) && len(rest) > 1:
			flags, rest = append(flags, arg, rest[1]), rest[1:]
		default:
			flags = append(flags, arg)
		}
		rest = rest[1:]
	}
	return slices.Concat(inputs, flags, rest)
}

var word = regexp.MustCompile(`^[a-z]+$`)

// misspelt reports whether a command line begins with a word that is no path: what was meant is a subcommand,
// and not an input of the default one.
func misspelt(args []string) bool {
	if len(args) == 0 || !word.MatchString(args[0]) {
		return false
	}
	_, err := os.Lstat(args[0])
	return err != nil
}
