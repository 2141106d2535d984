package configfile

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/terminal"
)

// width is the maximum width of comments.
const width = 80

// Template returns a job file for a command, entirely commented out: each flag with its help and, after # without a
// space, its default. The command must accept a job file.
func Template(app *kong.Application, command *kong.Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Job file of %s %s. To set a flag, remove the # before its name and\n"+
		"# write a value. Put text in quotes, and lists in brackets: [\"a\", \"b\"].\n", app.Name, command.Name)
	settable := flagsOf(command)
	flags := slices.DeleteFunc(slices.Concat(command.AllFlags(true)...), func(flag *kong.Flag) bool {
		return settable[flag.Name] != flag
	})
	order := map[string]int{} // of groups, by their first flags
	for i, flag := range slices.Backward(flags) {
		order[titleOf(flag)] = i
	}
	slices.SortStableFunc(flags, func(f, g *kong.Flag) int { return cmp.Compare(order[titleOf(f)], order[titleOf(g)]) })
	title := ""
	for _, flag := range flags {
		if titleOf(flag) != title {
			title = titleOf(flag)
			fmt.Fprintf(&b, "\n## %s\n", title)
		}
		b.WriteString("\n")
		help := Lists.Replace(flag.Help)
		if flag.IsMap() {
			help = strings.ReplaceAll(help, "give a list", "give a table")
		}
		for _, line := range terminal.Wrap(help, width-len("# ")) {
			fmt.Fprintf(&b, "# %s\n", line)
		}
		if value, ok := setting(flag); ok {
			fmt.Fprintf(&b, "#%s = %s\n", flag.Name, value)
		} else {
			wanted := flag.FormatPlaceHolder()
			if flag.IsBool() {
				wanted = "true or false"
			}
			fmt.Fprintf(&b, "# %s = %s (no default)\n", flag.Name, wanted)
		}
	}
	return b.String()
}

// Lists changes what help says of flags that may be repeated, for keys whose values may be lists.
var Lists = strings.NewReplacer(
	"repeat the flag to", "give a list to", "Repeat the flag to", "Give a list to",
	"repeat for", "give a list for", "Repeat for", "Give a list for", "repeat to", "give a list to",
)

// titleOf returns the title of a flag's group.
func titleOf(flag *kong.Flag) string {
	if flag.Group == nil {
		return ""
	}
	return flag.Group.Title
}

// Takes reports whether a command accepts a job file.
func Takes(command *kong.Node) bool {
	return slices.ContainsFunc(slices.Concat(command.AllFlags(true)...), namesFile)
}

// setting returns the default of a flag in TOML, or false if it has none. Defaults are printable ASCII, which TOML
// quotes as Go does.
func setting(flag *kong.Flag) (string, bool) {
	switch {
	case flag.IsBool() && !flag.IsCounter():
		return strconv.FormatBool(flag.Default == "true"), flag.Target.Kind() != reflect.Pointer // a pointer may be neither
	case flag.IsCounter():
		return "0", true
	case !flag.HasDefault:
		return "", false
	case flag.IsSlice():
		values := []string{flag.Default}
		if flag.Tag.Sep != -1 {
			values = strings.Split(flag.Default, string(flag.Tag.Sep))
		}
		for i, v := range values {
			values[i] = strconv.Quote(v)
		}
		return "[" + strings.Join(values, ", ") + "]", true
	case decimal.MatchString(flag.Default):
		return flag.Default, true
	default:
		return strconv.Quote(flag.Default), true
	}
}

// decimal matches a number of TOML that a flag's default may be, such as 0.999.
var decimal = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
