package beamcli

import (
	"flag"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow" // for its flags
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow/dataflowlib"

	"github.com/neardup/neardup/runners/dataflow"
)

// Options of the SDK's runner are in the job's options, and options for the pipeline are in the pipeline's.
func TestDataflow(t *testing.T) {
	const line = "--project=p --zone=z --update --num_workers=3 --experiments=a,b --job_name=beam --element_processing_timeout=1m"
	if _, ok := os.LookupEnv("TEST_BEAM_OPTIONS"); ok {
		flag.CommandLine.Init("", flag.ContinueOnError)
		if err := parse(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		got, err := Dataflow(dataflow.Options{JobOptions: dataflowlib.JobOptions{Project: "own", Region: "own", NumWorkers: 2}})
		want := dataflow.Options{
			JobOptions: dataflowlib.JobOptions{
				Project: "p", Region: "own", WorkerZone: "z", Update: true, NumWorkers: 3, Experiments: []string{"a", "b"}, Name: "beam",
			},
			ResourceHints: got.ResourceHints, ImageOverrides: map[string]string{},
		}
		if err != nil || !reflect.DeepEqual(got, want) || beam.PipelineOptions.Get("element_processing_timeout") != "1m0s" {
			t.Errorf("%+v, %v, want %+v; of the pipeline: %v", got, err, want, beam.PipelineOptions.Export())
		}
		if err := parse([]string{"--dry_run"}); err != nil {
			t.Fatal(err)
		}
		if _, err := Dataflow(want); err == nil || !strings.Contains(err.Error(), "neardup plan") {
			t.Errorf("--dry_run: %v", err)
		}
		return
	}
	command := exec.Command(os.Args[0], "-test.run=^TestDataflow$")
	command.Env = append(os.Environ(), "TEST_BEAM_OPTIONS=")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s", out)
	}
}
