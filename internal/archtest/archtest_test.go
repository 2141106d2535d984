// Package archtest checks the tree and its layers: which package may import which, as docs/architecture.md says.
package archtest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module   = "github.com/neardup/neardup/"
	beamPath = "github.com/apache/beam/sdks/v2/"
	root     = "../.."
)

// layer says what the matching packages may import. Patterns are those of path.Match on whole import paths, with "..."
// at the end for anything below.
type layer struct {
	packages []string
	// may lists the imports allowed besides the standard library.
	may []string
	// not lists forbidden imports of the standard library, or of the layer's own.
	not []string
	// never lists packages that must not be reached in any way, tests aside.
	never []string
	why   string
}

// Imports by which a package acts on the world, or depends on it.
var (
	world  = []string{"os/...", "syscall/...", "log/...", "flag", "net/..."}
	chance = []string{"time", "math/rand/...", "crypto/rand"}
)

var layers = []layer{
	{
		packages: []string{"records"},
		not:      slices.Concat(world, []string{"io/...", "context"}),
		why:      "a row is data, without behaviour",
	},
	{
		packages: []string{"blocks"},
		may:      []string{module + "records"},
		not:      slices.Concat(world, []string{"io/fs", "context"}),
		why:      "blocks are values, and know no runner",
	},
	{
		packages: []string{"blocks/flow"},
		may:      []string{beamPath + "...", module + "blocks"},
		not:      slices.Concat(world, chance, []string{"io/...", "context"}),
		why:      "a collection in the wrong place does not compile",
	},
	{
		packages: []string{"output"},
		may:      []string{module + "records", module + "io/storage", "github.com/parquet-go/parquet-go"},
		not:      []string{"os/...", "path/filepath", "syscall", "flag"},
		never:    []string{beamPath + "...", module + "kernels/..."},
		why:      "a finished run can be read without the code that made it",
	},
	{
		packages: []string{"output/commit"},
		may:      []string{module + "records", module + "io/storage", module + "output"},
		not:      []string{"os/...", "path/filepath", "syscall", "flag"},
		never:    []string{beamPath + "...", module + "kernels/..."},
		why:      "an output is published the same way on any store",
	},
	{
		packages: []string{"output/index"},
		may: []string{module + "records", module + "io/storage", module + "output", module + "output/commit",
			"github.com/parquet-go/parquet-go"},
		not:   []string{"os/...", "path/filepath", "syscall", "flag"},
		never: []string{beamPath + "...", module + "kernels/..."},
		why:   "an index can be read without the code that made it",
	},
	{
		packages: []string{"kernels/..."},
		may: []string{module + "kernels/...", module + "internal/parallel", module + "internal/markup", "golang.org/x/text/...", "github.com/zeebo/xxh3", "github.com/clipperhouse/uax29/v2/...",
			"github.com/blevesearch/snowballstem/...", "golang.org/x/sys/cpu"},
		not:   slices.Concat(world, chance, []string{"io/...", "context"}),
		never: []string{beamPath + "..."},
		why:   "a kernel can be used anywhere and tested in an instant",
	},
	{
		packages: []string{"io/codec/warc"},
		may:      []string{module + "io/codec", module + "internal/markup", "golang.org/x/net/html/...", "github.com/klauspost/compress/...", "github.com/andybalholm/brotli"},
		not:      slices.Concat(world, chance, []string{"context"}),
		never:    []string{beamPath + "...", module + "kernels/..."},
		why:      "a format can be tested with a slice of bytes",
	},
	{
		packages: []string{"io/codec/parquet"},
		may: []string{"github.com/klauspost/compress/...", "github.com/andybalholm/brotli", "github.com/pierrec/lz4/v4",
			"github.com/parquet-go/parquet-go/deprecated", "github.com/parquet-go/parquet-go/encoding/thrift", "github.com/parquet-go/parquet-go/format"},
		not:   slices.Concat(world, chance),
		never: []string{beamPath + "...", module + "..."},
		why:   "a file format could be a module of its own",
	},
	{
		packages: []string{"io/codec/...", "io/codectest"},
		may:      []string{module + "io/codec/...", module + "io/codectest", module + "internal/markup", "golang.org/x/sys/cpu"},
		not:      slices.Concat(world, chance, []string{"context"}),
		never:    []string{beamPath + "...", module + "kernels/..."},
		why:      "a format can be tested with a slice of bytes",
	},
	{
		packages: []string{"io/charset"},
		may:      []string{"github.com/gogs/chardet", "golang.org/x/text/..."},
		not:      slices.Concat(world, chance, []string{"context"}),
		never:    []string{beamPath + "...", module + "..."},
		why:      "only the bytes of a text decide its encoding",
	},
	{
		packages: []string{"io/reading/readertest"},
		may: []string{module + "io/reading/...", module + "io/codec", module + "io/codectest", module + "io/storage", module + "io/storage/storagetest", module + "blocks", module + "internal/nightly",
			"github.com/klauspost/compress/..."},
		never: []string{beamPath + "...", module + "kernels/..."},
		why:   "a reader of files can be tested without a pipeline",
	},
	{
		packages: []string{"io/reading/..."},
		may: []string{module + "io/reading/...", module + "io/codec/...", module + "io/charset", module + "io/storage", module + "blocks", module + "internal/memory", module + "internal/parallel",
			"github.com/klauspost/compress/...", "github.com/andybalholm/brotli", "github.com/pierrec/lz4/v4", "github.com/parquet-go/parquet-go/..."},
		not:   slices.Concat(world, chance),
		never: []string{beamPath + "...", module + "kernels/...", module + "io/source", module + "io/sink"},
		why:   "all code that is specific to a format is in one package",
	},
	{
		packages: []string{"io/storage/..."},
		may: []string{module + "io/storage", module + "io/storage/bucket", "github.com/bmatcuk/doublestar/v4", "golang.org/x/sync/errgroup", "golang.org/x/sys/...",
			"cloud.google.com/go/storage/...", "cloud.google.com/go/auth/...", "google.golang.org/api/...", "github.com/googleapis/gax-go/v2",
			"github.com/aws/aws-sdk-go-v2/...", "github.com/aws/smithy-go/..."},
		never: []string{beamPath + "..."},
		why:   "a store knows files, not their contents",
	},
	{
		packages: []string{"io/sorted"},
		may:      []string{module + "blocks", module + "io/storage"},
		not:      slices.Concat(world, chance),
		never:    []string{beamPath + "..."},
		why:      "any reader of a group may sort it",
	},
	{
		packages: []string{"io/source", "io/sink"},
		may: []string{beamPath + "...", module + "io/...", module + "records", module + "blocks/...", module + "output", module + "output/index", module + "internal/markup", module + "internal/memory", module + "internal/parallel", "github.com/klauspost/compress/s2",
			"github.com/parquet-go/parquet-go", "github.com/klauspost/compress/s2"},
		not:   []string{"os/...", "path/filepath", "syscall/..."},
		never: []string{module + "kernels/...", module + "transforms/...", module + "pipelines/..."},
		why:   "formats know nothing of algorithms",
	},
	{
		packages: []string{"transforms/replay", "transforms/segment"},
		may:      []string{beamPath + "...", module + "transforms/...", module + "kernels/...", module + "records", module + "blocks/...", module + "io/storage", module + "output"},
		not:      slices.Concat(world, chance),
		never:    []string{module + "io/source", module + "io/sink", module + "pipelines/..."},
		why:      "decisions are read from the tables that record them",
	},
	{
		packages: []string{"transforms/candidates"},
		may: []string{beamPath + "...", module + "transforms/...", module + "kernels/...", module + "records", module + "blocks/...",
			module + "io/storage", module + "output/index"},
		not:   slices.Concat(world, chance),
		never: []string{module + "io/source", module + "io/sink", module + "io/codec/...", module + "io/reading/...", module + "pipelines/..."},
		why:   "the step that makes buckets reads the keys of earlier runs",
	},
	{
		packages: []string{"transforms/..."},
		may:      []string{beamPath + "...", module + "transforms/...", module + "kernels/...", module + "records", module + "blocks/...", module + "io/storage", module + "io/sorted", module + "internal/memory", module + "internal/parallel"},
		not:      slices.Concat(world, chance),
		never: []string{module + "io/source", module + "io/sink", module + "io/codec/...", module + "io/reading/...",
			module + "pipelines/..."},
		why: "a step works with any source",
	},
	{
		packages: []string{"pipelines/..."},
		may: []string{beamPath + "go/pkg/beam", beamPath + "go/pkg/beam/core/metrics", module + "transforms/...", module + "kernels/...",
			module + "io/...", module + "records", module + "blocks/...", module + "output/...", module + "pipelines/...", module + "internal/memory", module + "internal/parallel", module + "internal/usage", "github.com/parquet-go/parquet-go"},
		not: []string{"flag", "os/...", "path/filepath", "syscall/..."},
		why: "a job is a value that a test can run",
	},
	{
		packages: []string{"runners/local/..."},
		may: []string{beamPath + "...", module + "runners/local/...", module + "internal/memory", "github.com/klauspost/compress/...",
			"github.com/zeebo/xxh3", "google.golang.org/protobuf/..."},
		never: []string{module + "records", module + "blocks/...", module + "kernels/...", module + "io/...", module + "transforms/...", module + "pipelines/..."},
		why:   "the runner knows Beam, and nothing of documents",
	},
	{
		packages: []string{"runners/remote"},
		may:      []string{beamPath + "..."},
		why:      "the runners of clusters share it, and it knows none of them",
	},
	{
		packages: []string{"runners/jobserver"},
		may:      []string{beamPath + "...", module + "runners/remote", "google.golang.org/grpc/...", "google.golang.org/protobuf/types/known/structpb"},
		never:    []string{module + "records", module + "blocks/...", module + "kernels/...", module + "io/...", module + "transforms/...", module + "pipelines/..."},
		why:      "a cluster takes any pipeline",
	},
	{
		packages: []string{"runners/dataflow"},
		may: []string{beamPath + "...", module + "io/storage", module + "runners/remote", "cloud.google.com/go/auth/...",
			"google.golang.org/api/...", "google.golang.org/protobuf/proto"},
		never: []string{module + "records", module + "blocks/...", module + "kernels/...", module + "io/source", module + "transforms/...", module + "pipelines/..."},
		why:   "Dataflow takes any pipeline, and files through a store",
	},
	{
		packages: []string{"bench/..."},
		may: []string{beamPath + "...", module + "runners/local", module + "bench/internal/...", module + "internal/corpusgen", module + "internal/fakegcs", module + "internal/fakes3",
			module + "output", module + "records", module + "report/plot", module + "kernels/...", "github.com/klauspost/compress/zstd"},
		why: "a benchmark measures what users run",
	},
	{
		packages: []string{"report"},
		may:      []string{module + "records", module + "output", module + "report/plot", module + "internal/memory", module + "internal/terminal"},
		never:    []string{beamPath + "...", module + "kernels/...", module + "pipelines/..."},
		why:      "a report can be drawn again without the run",
	},
	{
		packages: []string{"report/monitor"},
		may:      []string{module + "records", module + "io/storage"},
		never:    []string{beamPath + "...", module + "pipelines/..."},
		why:      "monitoring depends only on the record of the run",
	},
	{
		packages: []string{"report/plot"},
		not:      slices.Concat(world, chance, []string{"context"}),
		never:    []string{module + "..."},
		why:      "a chart depends only on the values it shows",
	},
	{
		packages: []string{"cmd/..."},
		may: []string{module + "pipelines/...", module + "report/...", module + "records", module + "output", module + "internal/...",
			beamPath + "go/pkg/beam", beamPath + "go/pkg/beam/runners/...", module + "runners/...", "github.com/alecthomas/kong", "github.com/google/uuid",
			module + "io/storage/gcs", module + "io/storage/s3"}, // stores register themselves
		why: "the command line only joins the parts",
	},
	{
		packages: []string{"internal/configfile"},
		may: []string{module + "kernels/edit", module + "records", module + "internal/terminal",
			"github.com/alecthomas/kong", "github.com/pelletier/go-toml/v2/..."},
		never: []string{beamPath + "...", module + "pipelines/..."},
		why:   "a job file sets flags, for any job",
	},
	{
		packages: []string{"internal/manual"},
		may:      []string{"github.com/alecthomas/kong"},
		never:    []string{beamPath + "...", module + "..."},
		why:      "help and completion depend only on the model of a command line",
	},
	{
		packages: []string{"internal/fakedataflow"},
		may:      []string{"google.golang.org/api/dataflow/v1b3"},
		never:    []string{beamPath + "...", module + "..."},
		why:      "a fake service knows nothing of what is tested with it",
	},
	{
		packages: []string{"internal/lossy"},
		may:      []string{"github.com/hanwen/go-fuse/v2/fuse", "golang.org/x/sys/unix"},
		never:    []string{beamPath + "...", module + "..."},
		why:      "a file system knows nothing of what is tested on it",
	},
	{
		packages: []string{"internal/markup"},
		may:      []string{"golang.org/x/net/html"},
		not:      slices.Concat(world, chance, []string{"context"}),
		never:    []string{module + "..."},
		why:      "formats and kernels parse markup the same way",
	},
	{
		packages: []string{"internal/memory"},
		not:      slices.Concat(world, chance),
		never:    []string{module + "..."},
		why:      "anything that takes a share of the memory may import it",
	},
	{
		packages: []string{"internal/parallel"},
		not:      slices.Concat(world, chance, []string{"io/...", "context"}),
		never:    []string{module + "..."},
		why:      "anything that runs in parallel may import it",
	},
	{
		packages: []string{"internal/terminal"},
		may:      []string{"golang.org/x/sys/unix"},
		never:    []string{beamPath + "...", module + "..."},
		why:      "a terminal knows nothing of what it shows",
	},
	{
		packages: []string{"internal/deduptest"},
		may:      []string{module + "pipelines/dedup", module + "pipelines/job", module + "internal/beamtest", module + "runners/local", "github.com/alecthomas/kong"},
		why:      "tests that read an output run the job that writes it",
	},
	{
		packages: []string{"neardup"},
		may: []string{
			module + "pipelines/dedup", module + "pipelines/job", module + "records", module + "output", module + "report", module + "io/storage",
			module + "internal/beamcli", module + "internal/here", module + "internal/memory",
		},
		not: []string{"flag", "os/exec", "os/signal", "log/slog"},
		why: "the one entry point for Go programs changes nothing in the process unless asked",
	},
	{
		packages: []string{"internal/here"},
		may:      []string{beamPath + "go/pkg/beam", module + "records", module + "pipelines/job", module + "runners/local"},
		why:      "the program and the library start pipelines the same way",
	},
	{
		packages: []string{"internal/..."},
		may:      []string{beamPath + "...", module + "records", module + "internal/...", module + "runners/...", "google.golang.org/grpc/grpclog"},
		why:      "internal packages serve the others",
	},
}

// goPackage is the output of go list for a package.
type goPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Standard   bool
	Imports    []string
	Deps       []string
}

// name returns its path below the module, "neardup" for the root.
func (p goPackage) name() string {
	if p.ImportPath+"/" == module {
		return "neardup"
	}
	return strings.TrimPrefix(p.ImportPath, module)
}

// TestLayers checks every package against its layer.
func TestLayers(t *testing.T) {
	packages, standard := list(t)
	for _, p := range packages {
		for _, violation := range violations(p, standard) {
			t.Error(violation)
		}
	}
}

// violations returns what p imports or reaches although it must not.
func violations(p goPackage, standard map[string]bool) (found []string) {
	name := p.name()
	l, ok := layerOf(name)
	if !ok {
		return []string{name + " is in no layer: put it where it belongs, or draw the layer here"}
	}
	for _, imported := range p.Imports {
		switch {
		case standard[imported] && matchAny(l.not, imported),
			!standard[imported] && !matchAny(l.may, imported):
			found = append(found, fmt.Sprintf("%s imports %s: %s", name, imported, l.why))
		}
	}
	for _, reached := range p.Deps {
		if matchAny(l.never, reached) && !slices.Contains(p.Imports, reached) {
			found = append(found, fmt.Sprintf("%s reaches %s by way of its imports (go list -deps tells which): %s", name, reached, l.why))
		}
	}
	return found
}

// TestRulesBite checks that the rules detect violations.
func TestRulesBite(t *testing.T) {
	standard := map[string]bool{"os": true, "os/exec": true, "io": true, "io/fs": true, "log/slog": true, "math/rand/v2": true, "time": true, "flag": true, "path/filepath": true, "strings": true}
	for _, c := range []struct {
		name, imported string
		deps           []string
		bad            bool
	}{
		{"records", "strings", nil, false},
		{"records", "io", nil, true},
		{"records", module + "kernels/hash", nil, true},
		{"records", "github.com/parquet-go/parquet-go", nil, true},
		{"kernels/minhash", module + "kernels/hash", nil, false},
		{"kernels/minhash", "os", nil, true},
		{"kernels/minhash", "os/exec", nil, true},
		{"kernels/minhash", "io/fs", nil, true},
		{"kernels/minhash", "log/slog", nil, true},
		{"kernels/minhash", "math/rand/v2", nil, true},
		{"kernels/minhash", "time", nil, true},
		{"kernels/minhash", module + "records", nil, true},
		{"kernels/minhash", "github.com/zeebo/xxh3", []string{beamPath + "go/pkg/beam"}, true},
		{"io/codec/jsonl", "io", nil, false},
		{"io/codec/jsonl", module + "io/codec", []string{module + "kernels/hash"}, true},
		{"io/codec/jsonl", module + "io/storage", nil, true},
		{"io/reading/bytefile", module + "io/storage", nil, false},
		{"io/reading/bytefile", "os", nil, true},
		{"io/reading/bytefile", module + "io/codec", []string{beamPath + "go/pkg/beam"}, true},
		{"io/source", module + "kernels/hash", nil, true},
		{"io/sink", "github.com/klauspost/compress/zstd", nil, true},
		{"io/source", "os", nil, true},
		{"io/sink", "path/filepath", nil, true},
		{"io/storage", "os", nil, false},
		{"transforms/verify", module + "io/storage", nil, false},
		{"transforms/verify", module + "io/source", nil, true},
		{"transforms/verify", "os", nil, true},
		{"pipelines/dedup", "flag", nil, true},
		{"pipelines/job", "os", nil, true},
		{"pipelines/query", "path/filepath", nil, true},
		{"blocks", "os", nil, true},
		{"blocks/flow", "context", nil, true},
		{"output", module + "io/source", nil, true},
		{"pipelines/dedup", module + "report", nil, true},
		{"pipelines/dedup", beamPath + "go/pkg/beam/runners/prism", nil, true},
		{"report", module + "kernels/setsim", nil, true},
		{"report/plot", module + "records", nil, true},
		{"report/plot", "time", nil, true},
		{"cmd/neardup", module + "kernels/setsim", nil, true},
		{"cmd/neardup", module + "transforms/verify", nil, true},
		{"somewhere/else", "strings", nil, true},
	} {
		p := goPackage{ImportPath: module + c.name, Imports: []string{c.imported}, Deps: append(c.deps, c.imported)}
		if got := violations(p, standard); len(got) > 0 != c.bad {
			t.Errorf("%s importing %s (deps %v): got %q, want violations: %v", c.name, c.imported, c.deps, got, c.bad)
		}
	}
}

// TestEveryLayerHasPackages fails for a rule that matches nothing, and so checks nothing.
func TestEveryLayerHasPackages(t *testing.T) {
	packages, _ := list(t)
	for _, l := range layers {
		for _, pattern := range l.packages {
			if !slices.ContainsFunc(packages, func(p goPackage) bool { return match(pattern, p.name()) }) {
				t.Errorf("no package matches %s", pattern)
			}
		}
		if l.why == "" {
			t.Errorf("nobody says why %v is a layer", l.packages)
		}
	}
}

var update = flag.Bool("update", false, "write the table of layers into docs/architecture.md")

// TestTable fails if the table of docs/architecture.md differs from the layers.
func TestTable(t *testing.T) {
	page := filepath.Join(root, "docs/architecture.md")
	doc, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const heading = "| packages | may import, besides the standard library | must not | because |\n|---|---|---|---|\n"
	before, after, ok := strings.Cut(string(doc), heading)
	if !ok {
		t.Fatalf("%s has no table of layers", page)
	}
	_, after, _ = strings.Cut(after, "\n\n")
	rows := heading
	for _, l := range layers {
		rows += fmt.Sprintf("| `%s` | %s | %s | %s |\n", strings.Join(l.packages, "` `"), named(l.may), named(l.never, l.not), l.why)
	}
	want := before + rows + "\n" + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if want != string(doc) {
		t.Error("the layers have changed; go test ./internal/archtest -run TestTable -update writes their table into docs/architecture.md")
	}
}

// named lists patterns of imports by their names. The page defines world and chance.
func named(patterns ...[]string) string {
	var names []string
	all := slices.Concat(patterns...)
	for _, group := range []struct {
		name     string
		patterns []string
	}{{"world", world}, {"chance", chance}} {
		within := func(pattern string) bool { return slices.Contains(group.patterns, pattern) }
		if i := slices.IndexFunc(all, within); i >= 0 && count(all, within) == len(group.patterns) {
			all[i] = group.name
			all = slices.DeleteFunc(all, within)
		}
	}
	for _, pattern := range all {
		switch pattern {
		case beamPath + "...", beamPath + "go/pkg/beam":
			pattern = "Beam"
		case module + "...":
			pattern = "everything of ours"
		}
		name := strings.TrimSuffix(pattern, "/...")
		for _, prefix := range []string{module, beamPath + "go/pkg/", "github.com/", "golang.org/", "google.golang.org/"} {
			name = strings.TrimPrefix(name, prefix)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// count returns how many elements have a property.
func count(elements []string, has func(string) bool) (n int) {
	for _, e := range elements {
		if has(e) {
			n++
		}
	}
	return n
}

// TestTree fails for a top-level folder that docs/architecture.md does not show.
func TestTree(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || strings.HasPrefix(name, ".") || name == "bin" || name == "out" { // built, not kept
			continue
		}
		if !strings.Contains(string(doc), "\n"+name+"/") {
			t.Errorf("docs/architecture.md shows no folder %s/ in its tree", name)
		}
	}
}

// mayExit lists the packages that may end the process: commands, and the TestMain of tests.
var mayExit = []string{"cmd/...", "bench/...", "internal/beamtest"}

// TestExitInCmdOnly fails for a package that ends its caller's process.
func TestExitInCmdOnly(t *testing.T) {
	packages, _ := list(t)
	files := token.NewFileSet()
	for _, p := range packages {
		if matchAny(mayExit, p.name()) {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range exits(file) {
				t.Errorf("%s calls %s; return an error, and let cmd end the process", files.Position(call.Pos()), selector(call))
			}
		}
	}
}

// TestExitIsSeen checks that TestExitInCmdOnly detects violations.
func TestExitIsSeen(t *testing.T) {
	const code = "package p\nimport (\"log\"; \"os\")\nfunc f() { os.Exit(1); log.Fatalf(\"\"); os.Getpid(); log.Println() }"
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", code, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(exits(file)); got != 2 {
		t.Errorf("%d calls that exit, want 2", got)
	}
}

// exits returns the uses of os.Exit and log.Fatal.
func exits(file *ast.File) (found []*ast.SelectorExpr) {
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if name := selector(s); name == "os.Exit" || strings.HasPrefix(name, "log.Fatal") {
				found = append(found, s)
			}
		}
		return true
	})
	return found
}

// recovered lists files with goroutines that recover by themselves.
var recovered = []string{"pipelines/job/launch.go"}

// TestPanicsAreRecovered: work in parallel is done by parallel.Group. A panic of any other goroutine would end the
// process.
func TestPanicsAreRecovered(t *testing.T) {
	packages, _ := list(t)
	files := token.NewFileSet()
	for _, p := range packages {
		if !matchAny([]string{"kernels/...", "io/reading/...", "io/source", "io/sink", "transforms/...", "pipelines/..."}, p.name()) {
			continue
		}
		for _, name := range p.GoFiles {
			if slices.Contains(recovered, path.Join(p.name(), name)) {
				continue
			}
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, node := range goroutines(file) {
				t.Errorf("%s begins goroutines whose panics nobody recovers; have internal/parallel begin them", files.Position(node.Pos()))
			}
		}
	}
}

// TestGoroutinesAreSeen checks that TestPanicsAreRecovered detects violations.
func TestGoroutinesAreSeen(t *testing.T) {
	const code = "package p\nimport \"sync\"\nvar w sync.WaitGroup\nvar m sync.Mutex\nfunc f() { go f(); w.Go(f) }"
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", code, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(goroutines(file)); got != 2 {
		t.Errorf("%d places that begin goroutines, want 2", got)
	}
}

// goroutines returns the go statements, and the uses of sync.WaitGroup.
func goroutines(file *ast.File) (found []ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, n)
		case *ast.SelectorExpr:
			if selector(n) == "sync.WaitGroup" {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

func selector(s *ast.SelectorExpr) string {
	if x, ok := s.X.(*ast.Ident); ok {
		return x.Name + "." + s.Sel.Name
	}
	return ""
}

func layerOf(name string) (layer, bool) {
	for _, l := range layers {
		if matchAny(l.packages, name) {
			return l, true
		}
	}
	return layer{}, false
}

func matchAny(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if match(pattern, name) {
			return true
		}
	}
	return false
}

func match(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "..."); ok {
		return strings.HasPrefix(name, prefix) || name == strings.TrimSuffix(prefix, "/")
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// list returns the module's packages, and which import paths are the standard library's.
func list(t *testing.T) (ours []goPackage, standard map[string]bool) {
	t.Helper()
	touch(t)
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,Standard,Imports,Deps", module+"...").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %s", exit.Stderr)
		}
		t.Fatal(err)
	}
	standard = map[string]bool{"C": true, "unsafe": true}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return ours, standard
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Standard {
			standard[p.ImportPath] = true
		}
		if strings.HasPrefix(p.ImportPath+"/", module) {
			ours = append(ours, p)
		}
	}
}

// touch opens every folder of the tree. This test imports nothing of the module, so go test would take its result from
// the cache whatever changes elsewhere, except in files that the test opens.
func touch(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "bin" || name == "out" || name == "testdata") {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
