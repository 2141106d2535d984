package configfile

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/kernels/edit"
)

const prefix = "NEARDUP_"

// variable returns the name of a flag's variable in the environment.
func variable(flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// lookup returns the environment's value for a flag. An empty one does not count.
func lookup(flag string) (string, bool) {
	value := os.Getenv(variable(flag))
	return value, value != ""
}

// Used reports whether values may come from a job file, named by arguments or by the environment, or from the
// environment itself.
func Used(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--config") }) ||
		slices.ContainsFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, prefix) })
}

// Args returns args with the job file of NEARDUP_CONFIG added, if the command accepts one and args name none.
func Args(parser *kong.Kong, args []string) []string {
	path, set := lookup("config")
	if !set {
		return args
	}
	trace, err := kong.Trace(parser, args)
	if err != nil || trace.Error != nil || trace.Selected() == nil {
		return args
	}
	named := slices.ContainsFunc(trace.Path, func(p *kong.Path) bool { return p.Flag != nil && namesFile(p.Flag) })
	if named || !Takes(trace.Selected()) {
		return args
	}
	end := slices.Index(append(slices.Clip(args), "--"), "--")
	return slices.Insert(slices.Clone(args), end, "--config="+path)
}

// Environment makes kong read flags that the command line does not set from the environment, which takes precedence
// over a job file. Call it before kong resolves.
func Environment(ctx *kong.Context) error {
	if ctx.Selected() == nil {
		return nil
	}
	values := map[string]any{}
	for name, flag := range flagsOf(ctx.Selected()) {
		text, set := lookup(name)
		if !set {
			continue
		}
		value, err := typed(flag, text)
		if err == nil {
			err = checkValue(flag, value)
		}
		if err != nil {
			return &Error{fmt.Errorf("%s: %w", variable(name), err)}
		}
		values[name], _ = argument(flag, value)
	}
	warnOfMisspelt(ctx.Model, ctx.Selected())
	ctx.AddResolver(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		return values[flag.Name], nil
	}))
	return nil
}

// typed returns the value that a job file would have for a value of the environment. For a flag that can be repeated,
// each line is a value.
func typed(flag *kong.Flag, text string) (any, error) {
	switch {
	case flag.IsBool() && !flag.IsCounter():
		value, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("must be true or false, not %q", text)
		}
		return value, nil
	case flag.IsSlice() && strings.Contains(text, "\n"):
		var values []any
		for line := range strings.Lines(text) {
			values = append(values, strings.TrimSuffix(line, "\n"))
		}
		return values, nil
	default:
		return text, nil
	}
}

// warnOfMisspelt warns of variables that almost have the name of a flag's, or that of a letter of the command. Others
// may belong to a service called neardup.
func warnOfMisspelt(app *kong.Application, selected *kong.Node) {
	letters := map[string]string{}
	for name, flag := range flagsOf(selected) {
		if flag.Short != 0 {
			letters[variable(string(flag.Short))] = variable(name)
		}
	}
	variables := map[string]bool{variable("config"): true}
	for _, command := range app.Leaves(true) {
		for name := range flagsOf(command) {
			variables[variable(name)] = true
		}
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || variables[name] {
			continue
		}
		length := len(name) - len(prefix)
		nearest, short := letters[name]
		if !short {
			nearest = edit.Nearest(name, maps.Keys(variables))
		}
		if short || edit.Distance(name, nearest) <= length/4 {
			slog.Warn(fmt.Sprintf("%s matches no flag; did you mean %s?", name, nearest))
		}
	}
}
