package jobserver

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
)

// flink is a REST interface like that of Flink 1.19, with one task manager; target is where its jobs run.
func flink(t *testing.T, slots, managed, network int, parallelism, target string) string {
	answers := map[string]string{
		"/overview":          fmt.Sprintf(`{"slots-total":%d,"flink-version":"1.19.3"}`, slots),
		"/jobmanager/config": fmt.Sprintf(`[{"key":"parallelism.default","value":%q},{"key":"execution.target","value":%q}]`, parallelism, target),
		"/taskmanagers":      fmt.Sprintf(`{"taskmanagers":[{"id":"tm-1","slotsNumber":%d,"totalResource":{"managedMemory":%d,"networkMemory":%d}}]}`, slots, managed, network),
		"/jobs/overview": `{"jobs":[{"name":"corpus","start-time":1,"tasks":{"total":9,"finished":9}},{"name":"corpus","start-time":3,"tasks":{"total":238,"finished":17}},
			{"name":"cor","start-time":4,"tasks":{"total":1,"finished":1}}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// What the cluster lacks is reported before the job is sent, with the setting and a value for it.
func TestCheckCluster(t *testing.T) {
	f := serve(t)
	nobody := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(nobody.Close)
	for name, c := range map[string]struct {
		rest     string
		workers  int
		failure  string
		warnings []string
	}{
		"enough":        {flink(t, 4, 512, 256, "1", "remote"), 4, "", nil},
		"few slots":     {flink(t, 2, 512, 512, "1", "remote"), 3, "--workers 2", nil},
		"few by itself": {flink(t, 2, 512, 512, "3", "remote"), 0, "--workers 2", nil},
		"slots to come": {flink(t, 0, 512, 512, "1", "kubernetes-session"), 3, "", nil},
		"little sorts":  {flink(t, 2, 200, 512, "1", "remote"), 1, "", []string{"taskmanager.memory.managed.size to 256m"}},
		"few buffers":   {flink(t, 4, 512, 64, "1", "remote"), 2, "", []string{"taskmanager.memory.network.max to 128m"}},
		"no Flink":      {nobody.URL, 1, "no answer from Flink at " + nobody.URL, nil},
	} {
		var warned []string
		_, err := Connect(t.Context(), Options{
			Address: f.address, Environment: Environment{Kind: Loopback}, REST: c.rest, Parallelism: c.workers,
			Warn: func(text string) { warned = append(warned, text) },
		})
		if (err != nil) != (c.failure != "") || err != nil && !strings.Contains(err.Error(), c.failure) {
			t.Errorf("%s: the error is %v, want %q", name, err, c.failure)
		}
		if len(warned) != len(c.warnings) {
			t.Errorf("%s: warnings are %q, want %q", name, warned, c.warnings)
			continue
		}
		for i, want := range c.warnings {
			if !strings.Contains(warned[i], want) {
				t.Errorf("%s: warned %q, want %q", name, warned[i], want)
			}
		}
	}
}

// A job is distinguished from others by its name, and from earlier ones of the same name.
func TestTasks(t *testing.T) {
	r := newREST(flink(t, 1, 1, 1, "1", "remote"), "")
	for job, want := range map[string][2]int{"corpus_0-1": {17, 238}, "cor_0-1": {1, 1}, "other_0-1": {0, 0}} {
		if ended, of := r.tasks(t.Context(), job); ended != want[0] || of != want[1] {
			t.Errorf("%s: %d of %d tasks, want %v", job, ended, of, want)
		}
	}
}

// Options that the server does not know, or whose value has the wrong type, end the run before it begins.
func TestOptionsRefused(t *testing.T) {
	f := serve(t)
	for option, want := range map[string]string{
		"execution_mode=BATCH":             `no option "execution_mode"; it has execution_mode_for_batch`,
		"number_of_execution_retries=many": `"many" is not an integer`,
		"number_of_execution_retries=1.5":  `"1.5" is not an integer`,
		"load=much":                        `"much" is not a number`,
		"load=NaN":                         `"NaN" is not a number`,
		"object_reuse=perhaps":             "neither true nor false",
		"object={":                         "is not JSON",
	} {
		name, value, _ := strings.Cut(option, "=")
		_, err := Connect(context.Background(), Options{Address: f.address, Environment: Environment{Kind: Loopback}, Runner: map[string]string{name: value}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", option, err, want)
		}
	}
}

// Generic steps get names that say what they do, and no name is used twice.
func TestReadNames(t *testing.T) {
	model := &pipepb.Pipeline{Components: &pipepb.Components{Transforms: map[string]*pipepb.PTransform{
		"1": {UniqueName: "sink.Table.pairs/records.Pair]"}, "2": {UniqueName: "sink.Table.pairs/sink.runFn"},
		"3": {UniqueName: "other/records.Pair]"}, "4": {UniqueName: "other/rows"},
	}}}
	readNames(model)
	for id, want := range map[string]string{
		"1": "sink.Table.pairs/rows", "2": "sink.Table.pairs/sink.runFn", "3": "other/records.Pair]", "4": "other/rows",
	} {
		if got := model.Components.Transforms[id].UniqueName; got != want {
			t.Errorf("%s is named %s, want %s", id, got, want)
		}
	}
}
