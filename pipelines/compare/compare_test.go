package compare_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/pipelines/compare"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

func run(t *testing.T, args ...string) *records.Comparison {
	t.Helper()
	var config compare.Config
	parser, err := kong.New(&config, kong.Vars(dedup.Vars()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	comparison, err := compare.Run(context.Background(), config, beamtest.Launch(config.Runner, local.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return comparison
}

// With bands enough to miss nothing, minhash finds the pairs of brute force and no other: on the
// bundled pages with every kind of signature.
func TestMinHashIsBruteForce(t *testing.T) {
	for _, family := range []string{"fss", "classic", "salted"} {
		c := run(t, "../../testdata/tldr/osx.jsonl", "../../testdata/tldr/windows.jsonl", "../../testdata/tldr/linux.jsonl",
			"--signature="+family, "--bands=40", "--rows=3", "--methods=brute-force,minhash,signatures")
		truth, minhash, signatures := c.Methods[0], c.Methods[1], c.Methods[2]
		if truth.Pairs == 0 || minhash.Pairs != truth.Pairs || minhash.Common != truth.Pairs || minhash.Recall != 1 || minhash.Precision != 1 {
			t.Errorf("%s: brute force %+v, minhash %+v", family, truth, minhash)
		}
		if signatures.Common == 0 || signatures.Common > truth.Pairs {
			t.Errorf("%s: signatures %+v", family, signatures)
		}
	}
}

// Classified ads, with the published parameters.
func TestClassifiedAds(t *testing.T) {
	path := filepath.Join("../../../shared/data/kijiji_rome", "dataset_rent_rome_kijiji.tsv")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the corpus is not there: %v", err)
	}
	c := run(t, path, "--text=Title", "--text=Short Description", "--shingle=char:10", "--normalize=lower,collapse-space",
		"--signature=salted", "--seed=0", "--bands=10", "--rows=5", "--methods=brute-force,minhash,signatures")
	for _, m := range c.Methods {
		t.Logf("%+v", m)
	}
	if m := c.Methods[1]; m.Precision != 1 || m.Recall < .98 || c.Methods[0].Pairs == 0 {
		t.Errorf("minhash %+v", m)
	}
}
