package compare_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
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
	comparison, err := try(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return comparison
}

func try(t *testing.T, args ...string) (*records.Comparison, error) {
	t.Helper()
	var config compare.Config
	parser, err := kong.New(&config, kong.Vars(dedup.Vars()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return compare.Run(context.Background(), config, beamtest.Launch(config.Runner, local.Options{}))
}

// 4,473 equal documents have 10,001,628 pairs, more than are held, whatever finds them.
func TestTooManyPairs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "same.jsonl")
	line := `{"text": "the same five words again"}` + "\n"
	if err := os.WriteFile(path, []byte(strings.Repeat(line, 4473)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, methods := range []string{"brute-force,minhash", "minhash,signatures", "signatures,minhash"} {
		_, err := try(t, path, "--bands=2", "--rows=1", "--signature=salted", "--methods="+methods)
		first, _, _ := strings.Cut(methods, ",")
		if usage := (*dedup.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--methods "+first+": more than 10000000 pairs") || !strings.Contains(err.Error(), "--limit") {
			t.Errorf("--methods %s: %v", methods, err)
		}
	}
	// One document fewer has 9,997,156.
	if c := run(t, path, "--bands=2", "--rows=1", "--limit=4472", "--methods=minhash,brute-force"); c.Methods[0].Pairs != 9_997_156 || c.Methods[1].Common != 9_997_156 {
		t.Errorf("with --limit 4472: %+v", c.Methods)
	}
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
