package main

import (
	"bytes"
	"encoding"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/pipelines/job"
)

// called lists the commands that Python calls, and the flags that it passes in its own way.
var called = []struct {
	name string
	own  []string
}{
	{"dedup", []string{"text", "id", "threshold", "output", "dry-run", "detach"}},
	{"query", []string{"text", "id", "of", "file"}},
	{"compare", []string{"text", "id"}},
	{"diff", []string{"text", "id"}},
}

// TestPython compares the types of Python's keyword arguments with the flags. Run it with -update to write them.
func TestPython(t *testing.T) {
	const path = "../../python/src/neardup/_options.py"
	module := pythonOptions(t)
	if updating() {
		if err := os.WriteFile(path, module, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, module) {
		t.Errorf("%s is not what the flags say; run go test ./cmd/neardup -run TestPython -update", path)
	}
}

func pythonOptions(t *testing.T) []byte {
	var cli commands
	parser, err := newParser(&cli, nil, os.Stdout, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	var module bytes.Buffer
	module.WriteString(`"""The keys of job files as types. Generated: go test ./cmd/neardup -run TestPython -update."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict
`)
	for _, command := range called {
		i := slices.IndexFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == command.name })
		fmt.Fprintf(&module, "\n\nclass %s(TypedDict, total=False):\n", strings.ToUpper(command.name[:1])+command.name[1:])
		own := append(command.own, "help", "version", "config", "json", "verbose", "quiet", "log-format", "input")
		fmt.Fprintf(&module, "    \"\"\"Keyword arguments of `neardup.%s`.\"\"\"\n", command.name)
		for _, flag := range slices.Concat(parser.Model.Children[i].AllFlags(false)...) {
			if flag.Hidden && (flag.Group == nil || flag.Tag.Has("instead")) || slices.Contains(own, flag.Name) {
				continue
			}
			help := regexp.MustCompile(`--([a-z][a-z0-9-]*)`).ReplaceAllStringFunc(flag.Help, pythonName)
			switch {
			case flag.IsSlice():
				help = configfile.Lists.Replace(help)
			case flag.IsMap(): // a dictionary may have several values
				help = regexp.MustCompile(`; repeat for (both|several)`).ReplaceAllString(help, "")
			}
			fmt.Fprintf(&module, "\n    %s: %s\n", pythonName(flag.Name), pythonType(flag))
			lines := terminal.Wrap(`"""`+strings.ReplaceAll(help, `\`, `\\`)+`"""`, 116)
			fmt.Fprintf(&module, "    %s\n", strings.Join(lines, "\n    "))
		}
	}
	return module.Bytes()
}

func pythonName(flag string) string {
	name := strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_")
	if name == "from" { // a keyword of Python
		name += "_"
	}
	return name
}

// pythonType returns the type of a flag's values: those of a job file, and paths.
func pythonType(flag *kong.Flag) string {
	one := "str"
	target := flag.Target.Type()
	if target.Kind() == reflect.Pointer || flag.IsSlice() {
		target = target.Elem()
	}
	_, parsed := reflect.New(target).Interface().(encoding.TextUnmarshaler)
	switch kind := target.Kind(); {
	case flag.Enum != "":
		words := slices.DeleteFunc(flag.EnumSlice(), func(word string) bool { return word == string(job.Prism) })
		one = `Literal["` + strings.Join(words, `", "`) + `"]`
	case flag.IsBool():
		one = "bool"
	case flag.IsMap():
		return "Mapping[str, str]"
	case strings.HasPrefix(flag.PlaceHolder, "FILE"), strings.HasPrefix(flag.PlaceHolder, "DIR"):
		one = "str | PathLike[str]"
	case target.PkgPath() == "time":
	case kind >= reflect.Int && kind <= reflect.Uint64 && !parsed:
		one = "int"
	case kind == reflect.Float64:
		one = "float"
	case kind >= reflect.Int && kind <= reflect.Uint64, flag.PlaceHolder == "N", strings.HasPrefix(flag.PlaceHolder, "N|"):
		one = "int | str"
	}
	if flag.IsSlice() {
		return one + " | Sequence[" + one + "]"
	}
	return one
}
