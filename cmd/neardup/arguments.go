package main

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/beamcli"
	"github.com/neardup/neardup/internal/manual"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/runners/dataflow"
)

// naming lists the commands that name documents in their arguments. They take no options of Beam, so that an id that
// begins with - can come after --.
var naming = []string{"show", "diff"}

// keepsAll reports whether what follows -- belongs to the command: an id, or the word to complete.
func keepsAll(args []string) bool {
	command := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") || arg == "--" })
	return command >= 0 && slices.Contains(append(naming, manual.CompleteWord), args[command])
}

// hyphens returns args with hyphens for underscores in the names of flags, since schedulers write underscores.
func hyphens(args []string) []string {
	out := slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(arg, "=")
		if strings.HasPrefix(name, "--") {
			out[i] = strings.ReplaceAll(name, "_", "-") + arg[len(name):]
		}
	}
	return out
}

// passedOn rewrites args as schedulers and launchers write them: it puts Dataflow's options, in Beam's spelling, behind
// --dataflow-option, and joins the parts of an environment to neardup's flag. options has what is left to Beam's own
// flags, including flags that neardup does not know.
func passedOn(app *kong.Application, args []string) (own, options []string, err error) {
	if len(args) > 0 && args[0] != "plan" && args[0] != "dedup" &&
		slices.ContainsFunc(app.Children, func(c *kong.Node) bool { return c.Name == args[0] }) {
		return args, nil, nil
	}
	environment, given, flags := map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, node := range append(app.Children, app.Node) {
		if node == app.Node || node.Name == "dedup" {
			for _, flag := range node.Flags {
				for _, name := range append(flag.Aliases, flag.Name) {
					flags[name] = true
				}
			}
		}
	}
	for i := 0; i < len(args); i++ {
		name, value, assigned := strings.Cut(args[i], "=")
		name, isFlag := strings.CutPrefix(name, "--")
		known, needs := dataflow.Takes(name)
		beams := slices.Contains([]string{"environment-type", "environment-config", "worker-binary"}, name)
		other, otherNeeds := beamcli.Takes(strings.ReplaceAll(name, "-", "_"))
		if other = other && isFlag && !known && !beams && !flags[name]; other {
			needs = otherNeeds
		}
		switch {
		case isFlag && name == "dataflow-option" && !assigned && i+1 < len(args):
			i++
			name, value, _ = strings.Cut(args[i], "=")
		case isFlag && name == "dataflow-option":
			name, value, _ = strings.Cut(value, "=")
		case !isFlag || !known && !beams && !other || name == "temp-location":
			own = append(own, args[i])
			continue
		case !needs && !assigned && (known || other):
			value = "true"
		case !assigned && i+1 == len(args):
			return nil, nil, withHelp(job.Usage("--%s: a value is missing", name), "dedup")
		case !assigned:
			i++
			value = args[i]
		}
		switch {
		case name == "worker-binary", other:
			options = append(options, "--"+strings.ReplaceAll(name, "-", "_")+"="+value)
		case beams:
			environment[name] = value
		case given[strings.ReplaceAll(name, "_", "-")]:
			return nil, nil, withHelp(job.Usage("--dataflow-option %s is given more than once; give it once", name), "dedup")
		default:
			given[strings.ReplaceAll(name, "_", "-")] = true
			own = append(own, "--dataflow-option="+name+"="+value)
		}
	}
	if kind := environment["environment-type"]; kind != "" {
		own = append(own, "--environment="+
			strings.TrimSuffix(strings.ToLower(kind)+":"+environment["environment-config"], ":"))
	} else if len(environment) > 0 {
		return nil, nil, withHelp(job.Usage("--environment-config: add --environment-type PROCESS, EXTERNAL or DOCKER"),
			"dedup")
	}
	return own, options, nil
}

// inputsFirst returns args with the inputs before the flags, since the parser accepts only consecutive inputs.
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
	valued := map[string]bool{} // whether a flag takes a value, by name or letter
	for _, flag := range slices.Concat(app.Flags, command.Flags) {
		for _, name := range append(flag.Aliases, flag.Name, string(flag.Short)) {
			valued[name] = !flag.IsBool() && !flag.IsCounter()
		}
	}
	isFlag := func(arg string) bool {
		name, long := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		_, known := valued[name]
		_, negated := valued[strings.TrimPrefix(name, "no-")]
		return known || negated || !long
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
				return args // global flags before a command
			}
			inputs = append(inputs, arg)
		case !isFlag(arg): // its value, if it has one, must not become an input
			return args
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

// misspelt reports whether a command line begins with a word that is not a path: it probably means a subcommand, not an
// input of the default one.
func misspelt(args []string) bool {
	if len(args) == 0 || !word.MatchString(args[0]) {
		return false
	}
	_, err := os.Lstat(args[0])
	return err != nil
}
