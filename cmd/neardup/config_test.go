package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/internal/configfile"
)

var commented = regexp.MustCompile(`(?m)^#([a-z0-9-]+ = .*)$`)

// flagged returns the commands after a command line is parsed.
func flagged(t *testing.T, args ...string) commands {
	t.Helper()
	var cli commands
	parser, err := newParser(&cli, nil, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return cli
}

// parsed is flagged without fields that only record how a flag was given.
func parsed(t *testing.T, args ...string) commands {
	t.Helper()
	cli := flagged(t, args...)
	cli.Dedup.Given, cli.Plan.Given, cli.Query.Given = nil, nil, nil
	for _, file := range []*configfile.Flag{&cli.Dedup.Job, &cli.Plan.Job, &cli.Query.Job, &cli.Study.Job, &cli.Compare.Job, &cli.Diff.Job, &cli.Passages.Job} {
		*file = configfile.Flag{}
	}
	return cli
}

// The file of config init sets nothing and, uncommented, only the defaults. It has every flag.
func TestConfigInit(t *testing.T) {
	var cli commands
	parser, err := newParser(&cli, nil, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, command := range parser.Model.Leaves(true) {
		if !configfile.Takes(command) {
			continue
		}
		tested++
		t.Run(command.Name, func(t *testing.T) {
			template := configfile.Template(parser.Model, command)
			set := commented.ReplaceAllString(template, "$1")
			set = strings.Replace(set, "\nquiet = ", "\n#quiet = ", 1) // quiet excludes verbose, whatever its value
			if n := len(commented.FindAllString(template, -1)); n < 10 {
				t.Errorf("only %d defaults in\n%s", n, template)
			}
			if repeat := regexp.MustCompile(`(?i)repeat (for|to|the flag).*`).FindString(template); repeat != "" {
				t.Errorf("a job file cannot repeat a key, but its help says %q", repeat)
			}
			titles := regexp.MustCompile(`(?m)^## .*`).FindAllString(template, -1)
			if slices.Sort(titles); len(slices.Compact(slices.Clone(titles))) < len(titles) {
				t.Errorf("a group is there twice: %q", titles)
			}
			for _, group := range command.AllFlags(true) {
				for _, flag := range group {
					known := flag.Name == "help" || flag.Name == "version" || flag.Name == "config"
					if has := regexp.MustCompile(`(?m)^# ?` + flag.Name + ` = `).MatchString(template); has == known && !flag.Hidden {
						t.Errorf("--%s: in the file: %v", flag.Name, has)
					}
				}
			}
			args := []string{command.Name}
			for _, arg := range command.Positional {
				if arg.Required {
					args = append(args, arg.Name)
				}
			}
			want := parsed(t, args...)
			for name, content := range map[string]string{"commented": template, "set": set} {
				file := filepath.Join(t.TempDir(), name+".toml")
				if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
					t.Fatal(err)
				}
				got := parsed(t, append(args, "--config", file)...)
				if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
					t.Errorf("%s:\n%s", name, diff)
				}
			}
			for line := range strings.Lines(template) {
				if len(line) > 100 && !commented.MatchString(line) && len(strings.Fields(line)) > 2 {
					t.Errorf("a long line: %s", line)
				}
			}
		})
	}
	if tested != 7 {
		t.Errorf("%d commands take a job file, want 7", tested)
	}
}
