package memory

import (
	"fmt"
	"math"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

// tree is a file system with these files.
type tree map[string]string

func (t tree) fs() fstest.MapFS {
	files := fstest.MapFS{}
	for name, content := range t {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return files
}

// Files of a system with 8 GB of memory, and control groups of both versions mounted as by systemd and in containers.
const (
	meminfo   = "MemTotal:        8000000 kB\nMemFree:         1000 kB\n"
	unlimited = "9223372036854771712\n"
	mounted2  = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	hybrid2   = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	mounted1  = "34 31 0:31 / /sys/fs/cgroup/cpuset rw shared:3 - cgroup cgroup rw,cpuset\n" +
		"35 31 0:32 / /sys/fs/cgroup/memory rw shared:4 master:1 - cgroup cgroup rw,memory\n"
)

// TestAvailable: the smallest limit of the process counts, wherever it is set.
func TestAvailable(t *testing.T) {
	const machine, container = "this machine's memory", "the container's limit"
	for name, tt := range map[string]struct {
		files tree
		want  int64
		of    string
	}{
		"no control group":     {tree{"proc/meminfo": meminfo}, 8192000000, machine},
		"a silent machine":     {tree{}, assumed, "the assumed memory"},
		"a silent machine, v2": {tree{"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mounted2, "sys/fs/cgroup/memory.max": "600000000\n"}, 6e8, container},
		"v2 in a container": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mounted2, "sys/fs/cgroup/memory.max": "600000000\n",
		}, 6e8, container},
		"v2, no limit": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mounted2, "sys/fs/cgroup/memory.max": "max\n",
		}, 8192000000, machine},
		"v2, nested, root without": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user.slice/job:1.service/leaf\n", "proc/self/mountinfo": mounted2,
			"sys/fs/cgroup/user.slice/memory.max": "max\n", "sys/fs/cgroup/user.slice/job:1.service/memory.max": "700000000\n",
			"sys/fs/cgroup/user.slice/job:1.service/leaf/memory.max": "max\n", "sys/fs/cgroup/other.slice/memory.max": "1000\n",
		}, 7e8, container},
		"v2, an ancestor has less": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b/c\n", "proc/self/mountinfo": mounted2,
			"sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "500000000\n", "sys/fs/cgroup/a/b/c/memory.max": "900000000\n",
		}, 5e8, container},
		"v2, throttled": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": mounted2,
			"sys/fs/cgroup/a/memory.max": "900000000\n", "sys/fs/cgroup/a/memory.high": "800000000\n",
		}, 8e8, container},
		"v2, part of the tree is mounted": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/docker/1f/leaf\n",
			"proc/self/mountinfo":       "30 23 0:26 /docker/1f /mnt/the\\040groups ro - cgroup2 cgroup2 rw\n",
			"mnt/the groups/memory.max": "max\n", "mnt/the groups/leaf/memory.max": "650000000\n",
		}, 65e7, container},
		"v2, another group is mounted": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/docker/1f2\n", "proc/self/mountinfo": "30 23 0:26 /docker/1f /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/memory.max": "640000000\n", "sys/fs/cgroup/2/memory.max": "1000\n",
		}, 64e7, container},
		"v2, outside of its namespace": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/../../a\n", "proc/self/mountinfo": mounted2, "sys/fs/cgroup/memory.max": "630000000\n",
		}, 63e7, container},
		"v2, more than there is": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": mounted2, "sys/fs/cgroup/a/memory.max": "9000000000\n",
		}, 8192000000, machine},
		"v1": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/job\n3:cpuset:/\n", "proc/self/mountinfo": mounted1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes": unlimited, "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "600000000\n",
			"sys/fs/cgroup/cpuset/memory.limit_in_bytes": "1000\n",
		}, 6e8, container},
		"v1, an ancestor has less": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:cpu,memory:/a/b\n", "proc/self/mountinfo": mounted1,
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "400000000\n", "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": unlimited,
		}, 4e8, container},
		"v1, a pod above what is mounted": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/kubepods/pod1/c2\n",
			"proc/self/mountinfo":                        "35 31 0:32 /kubepods/pod1/c2 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": unlimited, "sys/fs/cgroup/memory/memory.stat": "cache 1\nhierarchical_memory_limit 450000000\nrss 2\n",
		}, 45e7, container},
		"both, v1 limits": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/job\n0::/job\n", "proc/self/mountinfo": mounted1 + hybrid2,
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "600000000\n", "sys/fs/cgroup/unified/job/cgroup.procs": "1\n",
		}, 6e8, container},
		"both limit": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/job\n0::/job\n", "proc/self/mountinfo": mounted1 + hybrid2,
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "600000000\n", "sys/fs/cgroup/unified/job/memory.max": "550000000\n",
		}, 55e7, container},
		"what cannot be read": {tree{
			"proc/meminfo": meminfo, "proc/self/cgroup": "rubbish\n0::/a\n", "proc/self/mountinfo": "rubbish\n" + mounted2, "sys/fs/cgroup/a/memory.max": "much\n",
		}, 8192000000, machine},
	} {
		t.Run(name, func(t *testing.T) {
			if got, of := Available(tt.files.fs()); got != tt.want || of != tt.of {
				t.Errorf("%d, %s; want %d, %s", got, of, tt.want, tt.of)
			}
		})
	}
}

// TestUsual: the budget and its reason. The heap's limit is nine tenths, also of the budget from GOMEMLIMIT.
func TestUsual(t *testing.T) {
	of := func(limit string) tree {
		return tree{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mounted2, "sys/fs/cgroup/memory.max": limit}
	}
	for name, tt := range map[string]struct {
		limit      string
		goMemLimit int64
		want       Budget
	}{
		"a machine":             {"max", math.MaxInt64, Budget{4096000000, "half of this machine's memory of 8.2 GB"}},
		"a container":           {"600000000", math.MaxInt64, Budget{3e8, "half of the container's limit of 600.0 MB"}},
		"a small container":     {"400000000", math.MaxInt64, Budget{Least, "the minimum; half of the container's limit of 400.0 MB is less"}},
		"GOMEMLIMIT":            {"600000000", 45e7, Budget{5e8, "from GOMEMLIMIT, which is 450.0 MB"}},
		"a small GOMEMLIMIT":    {"600000000", 9e7, Budget{Least, "the minimum; from GOMEMLIMIT, which is 90.0 MB is less"}},
		"GOMEMLIMIT of nothing": {"600000000", 7e8, Budget{3e8, "half of the container's limit of 600.0 MB"}},
	} {
		if got := Usual(of(tt.limit).fs(), tt.goMemLimit); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if heap := Usual(of("600000000").fs(), 45e7).Heap(); heap != 45e7 {
		t.Errorf("GOMEMLIMIT of 450 MB limits the heap to %d", heap)
	}
}

// TestShares: all shares together are no more than the budget, and the heap leaves a tenth.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Budget{Bytes: rapid.Int64Range(Least, 1<<50).Draw(t, "memory")}
		workers := rapid.IntRange(1, 1000).Draw(t, "workers")
		steps := b.Step(workers) * int64(workers)
		if sum := b.Exchange() + b.Reading() + steps; sum > b.Bytes || sum < b.Bytes-int64(workers)-2 {
			t.Fatalf("of %d bytes %d are shared out", b.Bytes, sum)
		}
		if b.Heap() > b.Bytes || b.Most() != b.Bytes+Beyond {
			t.Fatalf("a heap of %d, at most %d of %d bytes", b.Heap(), b.Most(), b.Bytes)
		}
	})
	if none := (Budget{}); none.Exchange() != 0 || none.Reading() != 0 || none.Step(3) != 0 || none.Most() != 0 {
		t.Error("who has no bound has a share")
	}
	if got := fmt.Sprint(Asked(Least, "--memory")); got != "{256000000 set by --memory}" {
		t.Error(got)
	}
}
