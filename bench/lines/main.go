// Command lines counts the Go lines of the product: every file of every package that neardup links on any platform, in
// any module. It does not count tests, test support, benches, tables and generated code.
//
//	go run ./bench/lines [-each]
package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ours is the path prefix of the project's modules.
const ours = "github.com/neardup/"

// programs are the programs that link the product's packages.
var programs = []string{"./cmd/neardup"}

// tables has Unicode data, one range per line.
const tables = "kernels/textnorm/tables.go"

func main() {
	each := flag.Bool("each", false, "print the lines of each package, too")
	flag.Parse()
	if err := run(*each); err != nil {
		fmt.Fprintln(os.Stderr, "lines:", err)
		os.Exit(1)
	}
}

func run(each bool) error {
	folders, err := packages()
	if err != nil {
		return err
	}
	total := 0
	for _, path := range slices.Sorted(maps.Keys(folders)) {
		lines, err := count(folders[path])
		if err != nil {
			return err
		}
		if each {
			fmt.Printf("%6d  %s\n", lines, path)
		}
		total += lines
	}
	fmt.Printf("%6d  lines in %d packages\n", total, len(folders))
	return nil
}

// packages returns the folders of the project's own packages that its programs link on any platform.
func packages() (map[string]string, error) {
	folders := map[string]string{}
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/arm64"} {
		goos, goarch, _ := strings.Cut(platform, "/")
		list := exec.Command("go", append([]string{
			"list", "-deps", "-tags", "prism,disable_grpc_modules", "-f", "{{.ImportPath}}\t{{.Dir}}",
		}, programs...)...)
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
		list.Stderr = os.Stderr
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", platform, err)
		}
		for line := range strings.Lines(string(out)) {
			path, folder, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if strings.HasPrefix(path, ours) {
				folders[path] = folder
			}
		}
	}
	return folders, nil
}

// count returns the number of handwritten lines in a folder, without tests and tables.
func count(folder string) (int, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return 0, err
	}
	lines := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(filepath.ToSlash(file), tables) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		if !bytes.Contains(text, []byte("\n// Code generated ")) && !bytes.HasPrefix(text, []byte("// Code generated ")) {
			lines += bytes.Count(text, []byte("\n"))
		}
	}
	return lines, nil
}
