package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
)

// noVariables unsets the variables of flags, and others with the same prefix, for a test.
func noVariables(t *testing.T) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "NEARDUP_") {
			t.Setenv(name, "") // so that the test restores it
			os.Unsetenv(name)
		}
	}
}

// A command line that needs other commands is not parsed alone.
func TestNotAlone(t *testing.T) {
	noVariables(t)
	var cli commands
	if cli.alone([]string{"dedup", "a"}) == nil {
		t.Error("dedup a: not alone")
	}
	for _, line := range [][]string{{}, {"a"}, {"-q", "dedup", "a"}, {"config", "init", "dedup"}, {"__complete", "query", ""}, {"man"}, {"dedup", "a", "--config=b"}} {
		if cli.alone(line) != nil {
			t.Errorf("%q: alone", line)
		}
	}
	t.Setenv("NEARDUP_MOST", "5") // a flag of query
	if cli.alone([]string{"dedup", "a"}) != nil {
		t.Error("dedup a, and a variable: alone")
	}
}

// TestAlone compares the parser of one command with that of all: values, help and errors are the same.
func TestAlone(t *testing.T) {
	noVariables(t)
	parsed := func(cli *commands, args, line []string) string {
		var printed bytes.Buffer
		parser, err := newParser(cli, args, &printed, &printed)
		if err != nil {
			t.Fatal(err)
		}
		command, status, err := parse(parser, line)
		if command != nil {
			fmt.Fprintln(&printed, command.Command())
		}
		fmt.Fprintln(&printed, status, err)
		return printed.String()
	}
	// values returns the values of a command and the globals: no command reads another's.
	values := func(cli *commands, name string) []any {
		command := reflect.ValueOf(cli).Elem().FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
		return []any{command.Interface(), cli.globals}
	}
	var all commands
	parser, err := newParser(&all, nil, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	small := 0
	for _, command := range parser.Model.Children {
		for _, more := range [][]string{
			{}, {"a"}, {"a", "b"}, {"a", "b", "-o", "c"}, {"--help"}, {"--version"}, {"--outptu", "a"}, {"version"}, {"dedup", "a"},
			{"a", "-t", ".7", "--log-format", "json", "-q"}, {"--threshold", "x"}, {"--log-format", "x"}, {"-o"}, {"--write", "pears"},
			{"--store-endpoint=s3=http://localhost", "a"}, {"a", "--", "-b"}, {"init", "dedup"}, {"bash"},
		} {
			line := append([]string{command.Name}, more...)
			var one, plain commands
			if one.alone(line) != nil {
				small++
			}
			got, want := parsed(&one, line, line), parsed(&plain, nil, line)
			if got != want {
				t.Errorf("%q:\n%s\nwant\n%s", line, got, want)
			}
			if got, want := values(&one, command.Name), values(&plain, command.Name); !reflect.DeepEqual(got, want) {
				t.Errorf("%q:\n%+v\nwant\n%+v", line, got, want)
			}
		}
	}
	if small == 0 {
		t.Error("no command has a parser alone")
	}
}
