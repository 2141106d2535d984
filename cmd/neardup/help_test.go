package main

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// helpOf returns the help that neardup prints.
func helpOf(t *testing.T, line string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(strings.Fields(line), nil, &out, &errs); status != 0 {
		t.Fatalf("%s: status %d: %s", line, status, &errs)
	}
	return out.String()
}

var inHelp = regexp.MustCompile(`(?m)^  (?:-\w, |    )?--(?:\[no-\])?([a-z0-9-]+)`)

// flagsIn returns the flags that a help text lists.
func flagsIn(help string) (names []string) {
	for _, flag := range inHelp.FindAllStringSubmatch(help, -1) {
		names = append(names, flag[1])
	}
	return names
}

func TestHelp(t *testing.T) {
	noVariables(t)
	short, whole := helpOf(t, "dedup -h"), helpOf(t, "dedup --help")
	if got := flagsIn(short); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(most))) {
		t.Errorf("-h shows %q, want %q", got, most)
	}
	if n := strings.Count(short, "\n    neardup "); n != 3 || !strings.HasSuffix(short, "\nAll flags: neardup dedup --help\n") {
		t.Errorf("%d examples:\n%s", n, short)
	}
	if n := len(flagsIn(whole)); n > 80 {
		t.Errorf("--help has %d flags: which of them does a user decide on?", n)
	}
	titles := regexp.MustCompile(`(?m)^[A-Z]\w+$`).FindAllString(whole, -1)
	if want := strings.Fields("Input Text Similarity Decision Output Running Cluster Stores"); !slices.Equal(titles, want) {
		t.Errorf("groups %q, want %q", titles, want)
	}
	for command, heeds := range map[string]bool{"dedup": true, "show": true, "finish": true, "curve": false, "config init": false, "version": false} {
		for _, flag := range []string{"anonymous", "kms-key", "quiet"} {
			if shown := slices.Contains(flagsIn(helpOf(t, command+" --help")), flag); shown != heeds {
				t.Errorf("%s --help shows --%s: %t", command, flag, shown)
			}
		}
	}
	commands := helpOf(t, "--help")
	if strings.Index(commands, "\n  finish ") < strings.Index(commands, "\n  version ") || slices.Contains(flagsIn(commands), "anonymous") {
		t.Errorf("clouds are not last:\n%s", commands)
	}
}

// TestNamesInHelp: the lists in help.go name existing flags and commands.
func TestNamesInHelp(t *testing.T) {
	var cli commands
	parser, err := newParser(&cli, nil, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	helps := map[string]map[string]string{}
	for _, command := range parser.Model.Leaves(false) {
		helps[command.Name] = map[string]string{}
		for _, flag := range command.Flags {
			helps[command.Name][flag.Name] = flag.Help
		}
	}
	for _, name := range slices.Concat(most, idle) {
		if helps["dedup"][name] == "" {
			t.Errorf("dedup has no --%s", name)
		}
	}
	for _, name := range pure {
		if helps[name] == nil {
			t.Errorf("there is no command %s", name)
		}
	}
	for _, row := range tailored {
		shared, here := helps["dedup"][row.flag], helps[row.command][row.flag]
		if !strings.Contains(shared, row.words) || here != strings.Replace(shared, row.words, row.instead, 1) {
			t.Errorf("%s --%s has the help %q, and dedup %q", row.command, row.flag, here, shared)
		}
	}
}

// TestFlagsInHelp: each flag is below a heading, its default is stated in one way, and text that commands share is true
// for each.
func TestFlagsInHelp(t *testing.T) {
	var cli commands
	parser, err := newParser(&cli, nil, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := regexp.MustCompile(`job-server|Dataflow|stay in the corpus|dedup follows`)
	for _, command := range parser.Model.Leaves(true) {
		remote := slices.ContainsFunc(command.Flags, func(flag *kong.Flag) bool { return flag.Name == "job-server" })
		for _, flag := range command.Flags {
			told := strings.Count(flag.Help, "(default: ") == 1 && flag.PlaceHolder != ""
			switch {
			case flag.Hidden:
			case flag.Group == nil:
				t.Errorf("%s --%s has no heading", command.Path(), flag.Name)
			case flag.Default != "" && !flag.IsBool() && !flag.IsCounter() && !told:
				t.Errorf("%s --%s=%s: default %s in: %s", command.Path(), flag.Name, flag.PlaceHolder, flag.Default, flag.Help)
			case !remote && command.Name != "finish" && elsewhere.MatchString(flag.Help):
				t.Errorf("%s --%s is told as of another command: %s", command.Path(), flag.Name, flag.Help)
			}
		}
	}
}
