package main

import (
	"os"
	"regexp"
	"strings"
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
