package dedup

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// If any field of a Spec changes, the phases that follow from it are repeated, and no phase before.
func TestFingerprintsOfFields(t *testing.T) {
	r := planned(t, inputOf(t, "a.txt", "one\ntwo\n"))
	r.plan.Request.Asked = &job.Asked{Measure: job.Jaccard}
	prints := func() map[string]string {
		of, err := r.fingerprints(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return of
	}
	order := []string{"plan", "keys", "verify", "decide", "check"}
	of := map[string]string{plain: "plan", prepared: "keys", keyed: "keys", linked: "keys", merged: "keys", contracted: "keys", resolved: "keys", connected: "keys", made: "verify", joined: "verify", verified: "verify", decided: "decide", listed: "decide", clustered: "decide", tabled: "decide", listing: "decide", copied: "decide"}
	r.asked = &job.Asked{Spec: records.Default()}
	before := prints()
	if len(before) != len(of) {
		t.Fatalf("fingerprints of %v", slices.Collect(maps.Keys(before)))
	}
	if after := prints(); !maps.Equal(before, after) {
		t.Error("the same is not the same")
	}
	for name, phase := range records.Phases() {
		if name == "-" {
			continue
		}
		r.asked = &job.Asked{Spec: records.Default()}
		another(t, fieldOf(reflect.ValueOf(&r.asked.Spec).Elem(), name))
		after := prints()
		for part, decided := range of {
			changes := slices.Index(order, phase) <= slices.Index(order, decided)
			if changed := before[part] != after[part]; changed != changes {
				t.Errorf("another %s, which decides %s: %s changes: %t", name, phase, part, changed)
			}
		}
	}
}

// The choices and the input of a plan also determine which phases are repeated.
func TestFingerprintsOfPlans(t *testing.T) {
	in := inputOf(t, "a.txt", "one\ntwo\n")
	prints := func(change func(*run)) map[string]string {
		r := planned(t, in)
		r.asked = &job.Asked{Spec: records.Default()}
		r.plan.Request.Asked = &job.Asked{Measure: job.Jaccard}
		change(r)
		of, err := r.fingerprints(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return of
	}
	before := prints(func(*run) {})
	differs := func(what string, change func(*run), parts ...string) {
		t.Helper()
		after := prints(change)
		for name := range before {
			if changed := before[name] != after[name]; changed != slices.Contains(parts, name) {
				t.Errorf("%s: %s changes: %t", what, name, changed)
			}
		}
	}
	all := slices.Collect(maps.Keys(before))
	rest := []string{made, joined, verified, decided, listed, clustered, tabled, listing, copied}
	fromKeys := append([]string{prepared, keyed, linked, merged, contracted, resolved, connected}, rest...)
	differs("nothing", func(*run) {})
	differs("workers and memory", func(r *run) { r.plan.Config.Workers, r.plan.Config.CellBytes = 3, 5 })
	differs("a format", func(r *run) { r.record.Formats.Tables = "x" }, all...)
	differs("the shards of tables", func(r *run) { r.plan.Listing.Inputs.Shards++ }, all...)
	differs("the waves", func(r *run) { r.plan.Layout.Waves++ }, all...)
	differs("another file", func(r *run) {
		other := planned(t, inputOf(t, "a.txt", "one\ntwo\nthree\n"))
		r.plan.Listing = other.plan.Listing
	}, all...)
	differs("bands", func(r *run) { r.plan.Choice.Bands++ }, fromKeys...)
	differs("pieces", func(r *run) { r.plan.Pieces.Count++ }, fromKeys...)
	differs("all are compared", func(r *run) { r.plan.Complete = true }, fromKeys...)
	differs("where entries go", func(r *run) { r.plan.Layout.ShardBits++ }, fromKeys...)
	differs("where shingles go", func(r *run) { r.plan.Layout.ShingleGroups++ }, fromKeys...)
	differs("the list of records", func(r *run) {
		r.plan.Request.Asked = &job.Asked{Measure: job.Jaccard, Parts: []output.Part{output.Documents}}
	}, fromKeys...)
	differs("the threshold", func(r *run) { r.plan.Threshold.Num++ }, rest...)
	complete := func(change func(*run)) map[string]string {
		return prints(func(r *run) {
			r.plan.Complete = true
			r.plan.Sizes, r.plan.Shingles = map[int]int64{2: 2}, 4
			change(r)
		})
	}
	for what, change := range map[string]func(*run){
		"batches":       func(r *run) { r.plan.Config.CellBytes = 100 },
		"the threshold": func(r *run) { r.plan.Threshold.Num++ },
	} {
		if complete(func(*run) {})[keyed] == complete(change)[keyed] {
			t.Errorf("where all are compared, %s decide nothing", what)
		}
	}
}

// What an earlier run kept already exists, or is removed before more is written: it needs no further space.
func TestSpaceOfContinued(t *testing.T) {
	c := Config{Spec: records.Default()}
	c.Inputs, c.Output, c.Resume, c.Runner = []string{inputOf(t, "a.txt", "one two\nthree\n")}, filepath.Join(t.TempDir(), "out"), job.ResumeAlways, job.Local
	c.Format = "lines"
	task, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	needed := func() int64 {
		r := begun(t, task)
		n := r.needed()
		keep(t, r, "x", 10)
		_ = r.commit.Close(t.Context(), errors.New("failed"))
		return n
	}
	if first, second := needed(), needed(); second != first-10 {
		t.Errorf("%d bytes are needed, and then %d", first, second)
	}
}

// Kept rows are sorted in as many groups as they need, not as many as the maximum of pairs would.
func TestSlicesOfKept(t *testing.T) {
	c := Config{Spec: records.Default()}
	c.Inputs, c.Output, c.Resume, c.Runner = []string{inputOf(t, "a.txt", strings.Repeat("one two\n", 1000))}, filepath.Join(t.TempDir(), "out"), job.ResumeAlways, job.Local
	c.Format, c.GroupBytes = "lines", 1000
	task, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r := begun(t, task)
	defer r.commit.Close(t.Context(), errors.New("failed"))
	keep(t, r, listed, 2500)
	keep(t, r, tabled, 90_000)
	if shards := r.plan.Listing.Inputs.Shards; shards != 1 {
		t.Fatalf("%d shards", shards)
	}
	if few, none := r.slices(listed), r.slices(clustered); few != 10 || none != 1 { // for 4 times 2,500 bytes
		t.Errorf("%d slices, and %d of nothing", few, none)
	}
}

// begun returns a task's run that has its plan, and may keep parts.
func begun(t *testing.T, task *Job) *run {
	t.Helper()
	r, err := newRun(task.config, task.asked)
	if err == nil {
		err = r.open(t.Context(), t.Context())
	}
	if err == nil {
		err = r.makePlan(t.Context())
	}
	if err == nil {
		err = r.commit.BeginParts(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// keep keeps a part of a run with one file of the given size.
func keep(t *testing.T, r *run, name string, bytes int64) {
	t.Helper()
	file := commit.PartFile{In: commit.InKept, Name: name + "-x", Bytes: bytes}
	err := os.WriteFile(filepath.Join(r.commit.Kept(), file.Name), make([]byte, bytes), 0o666)
	if err == nil {
		err = r.commit.Keep(t.Context(), commit.Part{Name: name, Files: []commit.PartFile{file}, State: []byte("{}")})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// another changes the value of a field.
func another(t *testing.T, field reflect.Value) {
	t.Helper()
	switch field.Kind() {
	case reflect.String:
		field.SetString(field.String() + "x")
	case reflect.Bool:
		field.SetBool(!field.Bool())
	case reflect.Int, reflect.Int64:
		field.SetInt(field.Int() + 1)
	case reflect.Uint64:
		field.SetUint(field.Uint() + 1)
	case reflect.Float64:
		field.SetFloat(field.Float()/2 + .1)
	case reflect.Slice:
		field.Set(reflect.ValueOf([]string{"x"}))
	default:
		t.Fatalf("a field of kind %v", field.Kind())
	}
}

// A read has a wave for every 4 GiB of keys, and at least sixteen on this machine, where a job costs little.
func TestWavesOfKeys(t *testing.T) {
	p := &Plan{Plan: &job.Plan{Shingles: 1 << 40}}
	p.Choice.Bands = 20
	for _, of := range []struct{ documents, here, onCluster int64 }{{1_000_000, 16, 1}, {100_000_000, 16, 4}, {1_000_000_000, 47, 47}, {1 << 40, 256, 256}} {
		p.Documents, p.Config.Runner = of.documents, job.Local // 204 bytes each
		here := p.waves()
		p.Config.Runner = job.Flink
		if onCluster := p.waves(); int64(here) != of.here || int64(onCluster) != of.onCluster {
			t.Errorf("%d documents: %d waves, and %d on a cluster", of.documents, here, onCluster)
		}
	}
}

// A worker holds no more of files than its share of memory allows, and the files stay few. It reads whole files of a
// store, unless the runner cannot group.
func TestHeldOfFiles(t *testing.T) {
	var c Config
	c.Runner, c.Workers = job.Local, 2
	for _, of := range []struct {
		memory          int64
		all             int64
		kept, gathering int64
	}{
		{0, 1 << 30, 8 << 20, 16 << 20},
		{2 << 30, 1 << 30, 8 << 20, 16 << 20},
		{2 << 30, 64 << 30, 16 << 20, 16 << 20},
		{2 << 30, 1 << 40, 128 << 20, 16 << 20}, // half of the step's 256 MiB
		{256 << 20, 64 << 30, 16 << 20, 8 << 20},
		{1 << 20, 64 << 30, 1 << 20, 1 << 20},
	} {
		c.Memory = records.Bytes(of.memory)
		if kept, gathering := int64(c.keptBytes(of.all)), c.gatherBytes("/out"); kept != of.kept || gathering != of.gathering {
			t.Errorf("%d bytes of memory: files of %d for %d bytes, %d gathered", of.memory, kept, of.all, gathering)
		}
	}
	if n := c.gatherBytes("s3://lake/out"); n != 0 {
		t.Errorf("%d bytes are gathered from a store", n)
	}
	if c.Runner = job.Flink; c.gatherBytes("s3://lake/out") == 0 {
		t.Error("Flink groups what files in a store have")
	}
}

// A job of a phase that would send more than its tasks can is refused, but not with enough workers.
func TestPhaseRefused(t *testing.T) {
	p := &Plan{Config: Config{TaskBytes: 4 << 20}}
	p.Config.Workers = 2
	if err := p.checkSent(6 << 20); err != nil {
		t.Error(err)
	}
	err := p.checkSent(7 << 20)
	if usage := (*job.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--workers 2: the next job sends 7 MB") ||
		!strings.HasSuffix(err.Error(), "use --workers 3 or more") {
		t.Error(err)
	}
	p.Config.Workers = 3
	if err := p.checkSent(7 << 20); err != nil {
		t.Error(err)
	}
	if p.Config.TaskBytes = 0; p.checkSent(1<<60) != nil {
		t.Error("a job is refused whose runner has no bound")
	}
}
