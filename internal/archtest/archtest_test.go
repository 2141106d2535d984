// Package archtest holds the layers of the tree: which package may import which, as
// docs/architecture.md draws them.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"strings"
	"testing"
)

const module = "github.com/neardup/neardup/"

// beamPath is the Beam SDK.
const beamPath = "github.com/apache/beam/sdks/v2/"

// layer says what the packages that match may import. Patterns are those of path.Match on whole
// import paths, with "..." at the end for anything below.
type layer struct {
	packages []string
	// may are the imports allowed besides the standard library.
	may []string
	// not are imports of the standard library, or of the layer's own, that are forbidden.
	not []string
	// never may be reached by any way, tests aside.
	never []string
	why   string
}

var layers = []layer{
	{
		packages: []string{"records"},
		not:      []string{"io", "os", "log...", "flag", "net...", "context"},
		why:      "a row is not a behaviour",
	},
	{
		packages: []string{"kernels/..."},
		may:      []string{module + "kernels/...", "golang.org/x/text/...", "github.com/zeebo/xxh3", "github.com/clipperhouse/uax29/v2/..."},
		not:      []string{"io", "os", "log...", "flag", "net...", "context"},
		never:    []string{beamPath + "..."},
		why:      "kernels are usable anywhere and tested in an instant",
	},
	{
		packages: []string{"io/codec", "io/codectest", "io/jsonl", "io/delimited", "io/plaintext", "io/sgml"},
		may:      []string{module + "io/codec", module + "io/codectest", module + "records"},
		not:      []string{"os", "log...", "flag", "net...", "context"},
		never:    []string{beamPath + "...", module + "kernels/..."},
		why:      "a format can be tested with a slice of bytes",
	},
	{
		packages: []string{"io/storage"},
		may:      []string{"cloud.google.com/go/storage"},
		never:    []string{beamPath + "..."},
		why:      "storage knows files, not what is in them",
	},
	{
		packages: []string{"io/source", "io/sink"},
		may: []string{beamPath + "...", module + "io/...", module + "records",
			"github.com/klauspost/compress/...", "github.com/parquet-go/parquet-go"},
		never: []string{module + "kernels/...", module + "transforms/...", module + "pipelines/..."},
		why:   "formats know nothing of algorithms",
	},
	{
		packages: []string{"transforms/..."},
		may:      []string{beamPath + "...", module + "kernels/...", module + "records", module + "io/storage"},
		never: []string{module + "io/source", module + "io/sink", module + "io/codec", module + "io/jsonl",
			module + "pipelines/..."},
		why: "a step works with any source",
	},
	{
		packages: []string{"pipelines/..."},
		may: []string{beamPath + "go/pkg/beam", beamPath + "go/pkg/beam/core/metrics", module + "transforms/...", module + "kernels/...",
			module + "io/...", module + "records", module + "pipelines/...", "github.com/parquet-go/parquet-go"},
		not: []string{"flag"},
		why: "a job is a value that a test can run",
	},
	{
		packages: []string{"report"},
		may:      []string{module + "records"},
		never:    []string{beamPath + "...", module + "kernels/...", module + "io/...", module + "pipelines/..."},
		why:      "a report can be drawn again without the run",
	},
	{
		packages: []string{"cmd/..."},
		may: []string{module + "pipelines/...", module + "report", module + "records", module + "internal/...",
			beamPath + "go/pkg/beam/runners/...", "github.com/alecthomas/kong", "github.com/BurntSushi/toml"},
		why: "the command line only joins the parts",
	},
	{
		packages: []string{"internal/..."},
		may:      []string{beamPath + "...", module + "records"},
		why:      "internal packages serve the others",
	},
}

// goPackage is what go list tells of a package.
type goPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

func TestLayers(t *testing.T) {
	packages, standard := list(t)
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module)
		l, ok := layerOf(name)
		if !ok {
			t.Errorf("%s is in no layer: put it where it belongs, or draw the layer here and in docs/architecture.md", name)
			continue
		}
		for _, imported := range p.Imports {
			switch {
			case standard[imported] && matchAny(l.not, imported),
				!standard[imported] && !matchAny(l.may, imported):
				t.Errorf("%s imports %s: %s", name, imported, l.why)
			}
		}
		for _, reached := range p.Deps {
			if matchAny(l.never, reached) {
				t.Errorf("%s reaches %s by way of its imports: %s", name, reached, l.why)
			}
		}
	}
}

// A rule that matches nothing holds nothing.
func TestEveryLayerHasPackages(t *testing.T) {
	packages, _ := list(t)
	for _, l := range layers {
		for _, pattern := range l.packages {
			found := false
			for _, p := range packages {
				found = found || match(module+pattern, p.ImportPath)
			}
			if !found {
				t.Errorf("no package matches %s", pattern)
			}
		}
	}
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
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps", module+"...").Output()
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
		if err := decoder.Decode(&p); err == io.EOF {
			return ours, standard
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Standard {
			standard[p.ImportPath] = true
		}
		if strings.HasPrefix(p.ImportPath, module) {
			ours = append(ours, p)
		}
	}
}
