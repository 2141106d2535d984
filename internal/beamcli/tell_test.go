package beamcli

import (
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/hooks"
)

// A text arrives as it was told, by way of the options of a job.
func TestTeller(t *testing.T) {
	tell := Teller("test", func(string) error { return nil })
	const text = `{"a":"b, \"c\"","d":["é\n"]}`
	for _, said := range []string{"replaced", text} {
		if err := tell(said); err != nil {
			t.Fatal(err)
		}
	}
	hooks.SerializeHooksToOptions()
	options := beam.PipelineOptions.Export()
	runtime.GlobalOptions.Import(options)
	hooks.DeserializeHooksFromOptions(t.Context())
	if ok, args := hooks.IsEnabled("test"); !ok || len(args) != 1 || args[0] != text {
		t.Errorf("arrived as %q", args)
	}
}
