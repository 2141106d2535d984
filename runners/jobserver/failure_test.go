package jobserver

import (
	"os"
	"strings"
	"testing"

	"github.com/neardup/neardup/runners/remote"
)

// TestExplain checks how messages of Flink's job server are shown to the user. The messages are those of Beam 2.62.0 on
// Flink 1.19.0.
func TestExplain(t *testing.T) {
	doFn, err := os.ReadFile("testdata/dofn.txt")
	if err != nil {
		t.Fatal(err)
	}
	const died = "org.apache.beam.vendor.grpc.v1p60p1.io.grpc.StatusRuntimeException: org.apache.beam.vendor.grpc.v1p60p1.io.grpc.StatusRuntimeException: CANCELLED: client cancelled"
	for _, c := range []struct {
		environment Environment
		said        string
		want        []string
	}{
		{Environment{Kind: "process"}, string(doFn), []string{"=open /data/in/osx.jsonl: no such file or directory"}},
		{Environment{Kind: "process"}, died, []string{"a worker died", "memory", "CANCELLED: client cancelled", "discards it by default"}},
		{ // from a worker that was killed
			Environment{Kind: "process"},
			"java.lang.RuntimeException: CANCELLED: call already cancelled. Use ServerCallStreamObserver.setOnCancelHandler() to disable this exception",
			[]string{"a worker died", "call already cancelled", "discards it by default"},
		},
		{Environment{Kind: "external"}, died, []string{"a worker died", "the worker pool's"}},
		{Environment{Kind: "docker"}, died, []string{"docker logs"}},
		{Environment{Kind: "process"}, "java.lang.IllegalStateException: Process died with exit code 7", []string{"boot program did not start: Process died with exit code 7;"}},
		{
			Environment{Kind: "external", Config: "localhost:50000"}, "java.net.ConnectException: java.net.ConnectException: finishConnect(..) failed: Connection refused",
			[]string{"cannot reach a worker pool at localhost:50000", "boot --worker_pool"},
		},
		{
			Environment{Kind: "process"},
			"java.lang.IllegalArgumentException: PCollectionNodes [n4] were consumed but never produced\n\tat org.apache.beam.Pipeline.run(Pipeline.java:3)\n\t... 3 more",
			[]string{"=PCollectionNodes [n4] were consumed but never produced"},
		},
		{
			Environment{Kind: "process"},
			"java.lang.Exception: Error obtaining the sorted input\n\tat org.apache.Sort.run(Sort.java:3)\nCaused by: java.io.IOException: The record exceeds the maximum size of a sort buffer (current maximum: 1441792 bytes).\n\tat org",
			[]string{"current maximum: 1441792 bytes", "taskmanager.memory.managed.size", "512m"},
		},
		{ // 2,048 buffers of 32 KiB are 64 MiB; doubled, that is more than twice the missing 39
			Environment{Kind: "process"},
			"java.io.IOException: Insufficient number of network buffers: required 512, but only 473 available. The total number of network buffers is currently set to 2048 of 32768 bytes each. You can increase this number by setting the configuration keys 'taskmanager.memory.network.fraction'",
			[]string{"512 buffers of 32768 bytes", "473 of 2048", "taskmanager.memory.network.max to 128m", "--workers"},
		},
		{Environment{Kind: "process"}, "org.apache.flink.runtime.jobmanager.scheduler.NoResourceAvailableException: Could not acquire", []string{"too few free slots", "taskmanager.numberOfTaskSlots"}},
		{Environment{Kind: "process"}, "", []string{"does not say why"}},
	} {
		j := &job{id: "job-1", server: &Server{options: Options{Environment: c.environment}}}
		f := j.explain(c.said).(*remote.Failure) //nolint:errorlint // it is
		for _, want := range c.want {
			if whole, ok := strings.CutPrefix(want, "="); ok && f.Cause() != whole || !ok && !strings.Contains(f.Cause(), want) {
				t.Errorf("%.80q is explained as %q, want %q", c.said, f.Cause(), want)
			}
		}
		if !strings.Contains(f.Error(), c.said) || !strings.Contains(f.Error(), "job-1") {
			t.Errorf("%.80q: the whole error is %q", c.said, f.Error())
		}
	}
}
