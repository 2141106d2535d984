package beamcli

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/hooks"
)

// A worker gets the text unchanged, through the options of a job. A process parses these once, so the worker is a
// process of its own: this test, called again.
func TestTeller(t *testing.T) {
	var heard []string
	tell := Teller("test", func(text string) error {
		heard = append(heard, text)
		return nil
	})
	const text = `{"a":"b, \"c\"","d":["é\n"]}`
	if options, ok := os.LookupEnv("TEST_JOB_OPTIONS"); ok {
		var raw runtime.RawOptions
		if err := json.Unmarshal([]byte(options), &raw); err != nil {
			t.Fatal(err)
		}
		runtime.GlobalOptions.Import(raw)
		hooks.DeserializeHooksFromOptions(t.Context())
		hooks.DisableHook(harness.DefaultRemoteLoggingHook) // there is no runner to log to
		if _, err := hooks.RunInitHooks(t.Context()); err != nil || !slices.Equal(heard, []string{text}) {
			t.Errorf("heard %q, %v", heard, err)
		}
		return
	}
	for _, said := range []string{"replaced", text} {
		if err := tell(said); err != nil {
			t.Fatal(err)
		}
	}
	hooks.SerializeHooksToOptions()
	options, err := json.Marshal(beam.PipelineOptions.Export())
	if err != nil {
		t.Fatal(err)
	}
	worker := exec.Command(os.Args[0], "-test.run=^TestTeller$")
	worker.Env = append(os.Environ(), "TEST_JOB_OPTIONS="+string(options))
	if out, err := worker.CombinedOutput(); err != nil {
		t.Errorf("%s", out)
	}
}
