package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"
)

// updating reports whether to write docs/reference.md and other generated files: with -update, which is also a flag of
// Beam.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"neardup": main})
}

// TestScript runs the command lines of testdata/script like a user.
func TestScript(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root)
			self, err := os.Executable()
			env.Setenv("SELF", self)
			return err
		},
		Condition: func(name string) (bool, error) {
			if name != "static" { // this binary can be a worker
				return false, fmt.Errorf("no condition %s", name)
			}
			_, err := workerBinary("", "")
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":    status,
			"jsonlines": jsonLines,
		},
	})
}

// status runs a command line and checks its exit status: status 2 neardup dedup ...
func status(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}

// jsonLines checks that there are lines, and that each is a JSON object: jsonlines stderr
func jsonLines(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if text == "" {
		ts.Fatalf("%s is empty", args[0])
	}
	for line := range strings.Lines(text) {
		if err := json.Unmarshal([]byte(line), &map[string]any{}); err != nil {
			ts.Fatalf("%s: %v", line, err)
		}
	}
}

// TestReference compares docs/reference.md with the flags. Run it with -update to write the page.
func TestReference(t *testing.T) {
	const path = "../../docs/reference.md"
	page := reference(t)
	if updating() {
		if err := os.WriteFile(path, page, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, page) {
		t.Errorf("%s is not what the flags say; run go test ./cmd/neardup -run TestReference -update", path)
	}
}

// reference renders all commands and flags as Markdown.
func reference(t *testing.T) []byte {
	var cli commands
	parser, err := newParser(&cli, nil, os.Stdout, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	page.WriteString("# Reference\n\n[Docs](index.md) › Reference\n\nThis page lists every command and flag. It is generated from the flags (`go test ./cmd/neardup -run TestReference -update`). A `--config` file sets flags by their names, all but `--config`, `--help` and `--version`. The environment sets all but the last two: `NEARDUP_MAX_REJECTED` sets `--max-rejected`. The command line overrides the environment, which overrides the file. An empty variable counts as unset. For a flag that may be repeated, a variable has one value per line. In names of flags and keys, an underscore counts as a hyphen.\n\n" +
		"`dedup` is the default subcommand. A file with the name of a subcommand is given as `./query`. Flags may follow inputs. Beam's own options follow `--`.\n\n" +
		"| exit status | meaning |\n|---|---|\n| 0 | done |\n| 1 | failed; running the command again may help |\n| 2 | a person must act: wrong usage, a missing folder, a file or folder that may not be read or written, or a store that refuses until its bucket, credentials, access, region, certificate or address is corrected |\n| 3 | the output exists or is locked |\n| 4 | more records are unreadable than `--max-rejected` accepts, or no document can be compared |\n| 5 | a source would lose more than `--max-removed`; nothing is published |\n| 129, 130, 131, 143 | interrupted by SIGHUP, SIGINT (Ctrl-C), SIGQUIT, SIGTERM |\n| 134 | Go's runtime ended the process by SIGABRT: it got no memory, address space or thread, or met a bug |\n\n" +
		"An interrupted run removes its temporary files and its lock; a second of these signals ends it at once. SIGQUIT also writes the stacks of all goroutines to standard error. With nohup, SIGHUP is ignored. Before the program begins, Go's runtime may end the process with status 2, for example where `ulimit -v` leaves less than about 1.6 GB of address space, or `ulimit -n` fewer than 8 descriptors. If `GOTRACEBACK` is in the environment, Go decides how such a process ends.\n\n" +
		"With `--json` a failure is also printed on standard output, as an object with `status` (`failed`), `error` and `exit` (the exit status); if a run of `dedup` had begun, the object is all of [run.json](formats.md#runjson).\n\n" +
		"Once its output is complete, a run of `dedup` ends with 0. If the summary cannot be written then, neardup warns.\n")
	page.WriteString("\n## All commands\n\n")
	writeFlags(&page, parser.Model.Flags)
	for _, command := range parser.Model.Leaves(true) {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n", "neardup "+command.Path(), command.Help)
		if command.Detail != "" {
			fmt.Fprintf(&page, "\n%s\n", command.Detail)
		}
		for _, arg := range command.Positional {
			fmt.Fprintf(&page, "\n`%s`: %s\n", strings.ToUpper(arg.Name), arg.Help)
		}
		groups := map[string][]*kong.Flag{}
		var titles []string
		for _, flags := range command.AllFlags(false) {
			for _, f := range flags {
				if f.Hidden || slices.Contains(parser.Model.Flags, f) {
					continue // a flag of all commands
				}
				title := groupTitle(f)
				if groups[title] == nil {
					titles = append(titles, title)
				}
				groups[title] = append(groups[title], f)
			}
		}
		for _, title := range titles {
			fmt.Fprintf(&page, "\n**%s**\n\n", title)
			writeFlags(&page, groups[title])
		}
	}
	return page.Bytes()
}

func writeFlags(page *bytes.Buffer, flags []*kong.Flag) {
	page.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	for _, f := range flags {
		if f.Hidden && (f.Group == nil || f.Tag.Has("instead")) {
			continue // for programs, or removed
		}
		fmt.Fprintf(page, "| %s | %s | %s |\n", flagName(f), defaultOf(f), strings.ReplaceAll(f.Help, "|", `\|`))
	}
}

func groupTitle(f *kong.Flag) string {
	if f.Group != nil {
		return f.Group.Title
	}
	return "Required"
}

func flagName(f *kong.Flag) string {
	name := "`--" + f.Name
	if !f.IsBool() && !f.IsCounter() {
		name += "=" + f.FormatPlaceHolder()
	}
	name += "`"
	if f.Short != 0 {
		name += fmt.Sprintf(", `-%c`", f.Short)
	}
	return strings.ReplaceAll(name, "|", `\|`)
}

func defaultOf(f *kong.Flag) string {
	if !f.HasDefault {
		return ""
	}
	return "`" + f.Default + "`"
}
