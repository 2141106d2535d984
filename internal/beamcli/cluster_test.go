package beamcli

import (
	"flag"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/neardup/neardup/runners/jobserver"
)

// Beam's options are global, so each case is a process of its own: this test, called again.
func TestCluster(t *testing.T) {
	own := jobserver.Options{
		Address: "own:1", Name: "own", Worker: "own", Parallelism: 1,
		Environment: jobserver.Environment{Kind: "process", Config: "own"},
	}
	if line, ok := os.LookupEnv("TEST_BEAM_OPTIONS"); ok {
		flag.CommandLine.Init("", flag.ContinueOnError)
		if err := parse(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		want, failed := clusterCases[line](own)
		got, err := Cluster(own)
		got.ResourceHints = want.ResourceHints // none, in two forms
		if failed != (err != nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", line, got, err, want)
		}
		return
	}
	for line := range clusterCases {
		command := exec.Command(os.Args[0], "-test.run=^TestCluster$")
		command.Env = append(os.Environ(), "TEST_BEAM_OPTIONS="+line)
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s", out)
		}
	}
}

// clusterCases say how Beam's options change our own.
var clusterCases = map[string]func(jobserver.Options) (want jobserver.Options, failed bool){
	"": func(o jobserver.Options) (jobserver.Options, bool) { return o, false },
	"--endpoint=beam:2 --worker_binary=beam --parallelism=2 --job_name=beam --experiments=a,b --retain_docker_containers": func(o jobserver.Options) (jobserver.Options, bool) {
		o.Address, o.Worker, o.Parallelism, o.Name = "beam:2", "beam", 2, "beam"
		o.Experiments, o.RetainContainers = []string{"a", "b"}, true
		return o, false
	},
	"--environment_type=EXTERNAL --environment_config=pool:3": func(o jobserver.Options) (jobserver.Options, bool) {
		o.Environment = jobserver.Environment{Kind: "external", Config: "pool:3"}
		return o, false
	},
	`--environment_config={"command":"/boot"}`: func(o jobserver.Options) (jobserver.Options, bool) {
		o.Environment.Config = `{"command":"/boot"}`
		return o, false
	},
	"--async": func(o jobserver.Options) (jobserver.Options, bool) { return o, true },
}
