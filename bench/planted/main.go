// Command planted plants bugs, one after another, and reports which of them the tests find.
//
//	go run ./bench/planted [-check] [-only NAME] [FILE]
//
// FILE (bench/planted/bugs.txt) lists them in the format that docs/testing.md describes. Bugs are planted with go
// test's -overlay, so no file of the tree changes. The exit status is 1 if a bug survives, does not compile, or does
// not apply because its old text is not in its file exactly once; the list then needs a fix. With -check, it only does
// the last check.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// bug is one change to one file.
type bug struct {
	name, file string
	packages   []string // packages whose tests should find it
	before     string
	after      string
}

func main() {
	check := flag.Bool("check", false, "plant nothing: see that the old text of each bug is in its file exactly once")
	only := flag.String("only", "", "plant the bugs whose name has this in it")
	flag.Parse()
	list := "bench/planted/bugs.txt"
	if flag.NArg() > 0 {
		list = flag.Arg(0)
	}
	if err := run(list, *only, *check); err != nil {
		fmt.Fprintln(os.Stderr, "planted:", err)
		os.Exit(1)
	}
}

func run(list, only string, check bool) error {
	data, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	bugs, err := parse(string(data))
	if err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	bugs = slices.DeleteFunc(bugs, func(b bug) bool { return !strings.Contains(b.name, only) })
	if check {
		return checkAll(bugs)
	}
	found := 0
	for _, b := range bugs {
		begun := time.Now()
		outcome, err := b.plant()
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		if outcome == "found" {
			found++
		}
		fmt.Printf("%-9s %5.1f s  %s (%s)\n", outcome, time.Since(begun).Seconds(), b.name, b.file)
	}
	fmt.Printf("%d of %d found\n", found, len(bugs))
	if found < len(bugs) {
		return errors.New("some were not: write the test that fails")
	}
	return nil
}

// checkAll reports all bugs that no longer apply, so that one run shows everything to fix in the list.
func checkAll(bugs []bug) error {
	var errs []error
	for _, b := range bugs {
		if _, err := b.code(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", b.name, err))
		}
	}
	if len(errs) == 0 {
		fmt.Printf("%d bugs apply\n", len(bugs))
	}
	return errors.Join(errs...)
}

// parse parses the list: headings after "##" and, for each bug, a line "# NAME", a line "FILE: PACKAGE ...", the old
// lines after "-" and the new ones after "+".
func parse(text string) (bugs []bug, err error) {
	var b *bug
	for i, line := range strings.Split(text, "\n") {
		rest := strings.TrimPrefix(strings.TrimPrefix(line, "-"), "+")
		switch {
		case strings.HasPrefix(line, "# "):
			bugs = append(bugs, bug{name: line[2:]})
			b = &bugs[len(bugs)-1]
		case line == "", strings.HasPrefix(line, "##"):
		case b == nil:
			return nil, fmt.Errorf("line %d: no bug is named yet", i+1)
		case strings.HasPrefix(line, "-"):
			b.before += rest + "\n"
		case strings.HasPrefix(line, "+"):
			b.after += rest + "\n"
		default:
			file, packages, ok := strings.Cut(line, ": ")
			if !ok {
				return nil, fmt.Errorf("line %d: not a file, a colon and packages", i+1)
			}
			b.file, b.packages = file, strings.Fields(packages)
		}
	}
	return bugs, nil
}

// code returns the file that the bug changes, or an error if the old text is not in it exactly once.
func (b bug) code() ([]byte, error) {
	code, err := os.ReadFile(b.file)
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(code, []byte(b.before)); n != 1 || b.before == "" {
		return nil, fmt.Errorf("the old text is %d times in %s", n, b.file)
	}
	return code, nil
}

// plant returns the outcome: found, survived, or broken if the code or the tests do not compile.
func (b bug) plant() (outcome string, err error) {
	code, err := b.code()
	if err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp("", "planted-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	mutant := filepath.Join(temp, "mutant.go")
	if err := os.WriteFile(mutant, bytes.Replace(code, []byte(b.before), []byte(b.after), 1), 0o666); err != nil {
		return "", err
	}
	path, err := filepath.Abs(b.file)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
	if err != nil {
		return "", err
	}
	overlayFile := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o666); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", append([]string{"build", "-overlay", overlayFile},
		"./"+filepath.Dir(b.file))...).CombinedOutput(); err != nil {
		fmt.Printf("%s", out)
		return "broken", nil
	}
	// Vetting and debug information would take as long as many tests.
	arguments := append([]string{"test", "-failfast", "-vet=off", "-ldflags=-w", "-timeout", "10m",
		"-overlay", overlayFile}, b.packages...)
	test := exec.Command("go", arguments...)
	test.Env = append(os.Environ(), "RAPID_NOFAILFILE=true") // otherwise, rapid would leave failing inputs in the tree
	out, err := test.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "survived", nil
	case !errors.As(err, &exit):
		return "", err
	case bytes.Contains(out, []byte(" failed]\n")): // "[build failed]" or "[setup failed]": no test ran
		fmt.Printf("%s", out)
		return "broken", nil
	}
	return "found", nil
}
