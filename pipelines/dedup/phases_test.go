package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// inParts returns a folder of files that are read and written in several waves: some compressed, one with unreadable
// records.
func inParts(t *testing.T) string {
	t.Helper()
	pages, packed, broken, _ := orderedInputs(t)
	root := t.TempDir()
	for _, from := range []string{pages, packed, broken} {
		if err := os.Rename(from, filepath.Join(root, filepath.Base(from))); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// askedInPhases lists flags that together cover every kind of phase.
var askedInPhases = [][]string{
	{"--max-rejected=10"},
	{"--max-rejected=10", "--min-words=4", "--shingle=char:5", "--threshold=.6", "--keep=longest", "--measure-recall=300", "--drop-not-compared"},
	{"--max-rejected=10", "--method=exact"},
	{"--max-rejected=10", "--method=complete", "--threshold=.6"},
	{"--max-rejected=10", "--method=simhash", "--pieces=19", "--compare=cosine", "--weights=tf-idf"},
	{"--max-rejected=10", "--signature=classic", "--bands=10", "--rows=4"},
	{"--max-rejected=10", "--write=pairs,removed"},
}

// phasedRun runs a job to its end with a launch, and returns its promised files.
func phasedRun(t *testing.T, config dedup.Config, launch job.Launch) map[string]string {
	t.Helper()
	if _, err := runJob(t.Context(), config, launch); err != nil {
		t.Fatal(err)
	}
	finished, err := output.Open(t.Context(), config.Output)
	if err != nil {
		t.Fatal(err)
	}
	return promised(t, finished)
}

// A run in phases has the same bytes and counts as one job.
func TestSameBytesInPhases(t *testing.T) {
	in := inParts(t)
	usual := beamtest.Launch("local", local.Options{})
	for i, flags := range askedInPhases {
		flags = append([]string{in}, flags...)
		fused := ask(t, flags...)
		fused.SplitBytes = 30_000
		want := phasedRun(t, fused, usual)
		for j, runner := range []string{"local", "flink"} { // with the graphs that Flink gets
			if i%2 != j && !nightly.On() {
				continue
			}
			config := ask(t, append(flags, "--resume=always", "--runner="+runner)...)
			config.SplitBytes = 30_000
			sameOutput(t, fmt.Sprint(runner, flags), want, phasedRun(t, config, usual))
			one, other := opened(t, fused.Output).Run, opened(t, config.Output).Run
			if one.Counts.ComparedPairs = other.Counts.ComparedPairs; one.Counts != other.Counts || !maps.Equal(one.NotCompared, other.NotCompared) {
				t.Errorf("%s %v: counts %+v, and were %+v", runner, flags, other.Counts, one.Counts)
			}
		}
	}
}

// A run whose tasks may send little makes sets in a job of their own, and forms groups from files, however much is
// gathered at once. A job that is refused nevertheless says how many workers are enough; with those, the run continues
// and has the same bytes.
func TestSameBytesOfSmallTasks(t *testing.T) {
	in := inParts(t)
	usual := beamtest.Launch("local", local.Options{})
	refused := 0
	for i, flags := range [][]string{nil, {"--method=exact"}, {"--method=simhash", "--pieces=19", "--compare=cosine"}, {"--measure-recall=300", "--pair-budget=20"}} {
		flags = append([]string{in, "--max-rejected=10"}, flags...)
		want := phasedRun(t, ask(t, flags...), usual)
		config := ask(t, append(flags, "--runner=flink", "--workers=2", "--resume=always")...)
		config.SplitBytes, config.TaskBytes, config.GatherBytes = 30_000, 20_000, []int64{1, 20_000, 0, 300_000}[i]
		parts := map[string]int{}
		launch := func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
			parts[job.PartOf(ctx)]++
			return usual(ctx, p, temp)
		}
		for times := 0; ; times++ {
			_, err := runJob(t.Context(), config, launch)
			if err == nil {
				break
			}
			workers := config.Workers
			if usage := (*job.UsageError)(nil); !errors.As(err, &usage) || times > 10 {
				t.Fatal(err)
			}
			said := err.Error()
			if _, err := fmt.Sscanf(said[strings.LastIndex(said, "use --workers"):], "use --workers %d or more", &config.Workers); err != nil || config.Workers <= workers {
				t.Fatal(said, err)
			}
			refused++
		}
		sameOutput(t, fmt.Sprint("small tasks ", flags), want, promised(t, opened(t, config.Output)))
		for part, times := range parts {
			if times > 1 {
				t.Errorf("%v: %s was done %d times", flags, part, times)
			}
		}
		if ofSets := parts["sets"] == 1 && parts["joined"] == 1; ofSets != (i != 1) { // exact copies have no sets
			t.Errorf("%v: parts %v", flags, parts)
		}
	}
	if refused == 0 {
		t.Error("no job was refused")
	}
}

// Phases that find nothing leave nothing, and the run continues.
func TestNothingSimilarInPhases(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.txt")
	if err := os.WriteFile(in, []byte("one two three four five six\nseven eight nine ten eleven twelve\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"minhash", "exact"} {
		config := ask(t, in, "--format=lines", "--method="+method, "--resume=always")
		phasedRun(t, config, beamtest.Launch("local", local.Options{}))
		if counts := opened(t, config.Output).Run.Counts; counts.Records != 2 || counts.Pairs != 0 {
			t.Errorf("%s: counts %+v", method, counts)
		}
	}
}

// errKilled is the error of a job that does not end.
var errKilled = errors.New("killed")

// dying returns a launch that fails before, or after, its job number n.
func dying(n int, after bool, launched *int) job.Launch {
	usual := beamtest.Launch("local", local.Options{})
	return func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
		*launched++
		if n--; n == 0 && !after {
			return nil, nil, errKilled
		}
		result, stages, err := usual(ctx, p, temp)
		if n == 0 {
			return nil, nil, errors.Join(err, errKilled)
		}
		return result, stages, err
	}
}

// A run that fails at any job is continued by the same command: it launches only the remaining jobs, and has the same
// bytes.
func TestContinued(t *testing.T) {
	in := inParts(t)
	flags := []string{in, "--max-rejected=10", "--measure-recall=100", "--weights=tf-idf", "--method=simhash", "--pieces=19", "--compare=cosine", "--resume=always"}
	ask := func() dedup.Config {
		config := ask(t, flags...)
		config.SplitBytes, config.ConnectDocuments = 30_000, 20
		return config
	}
	all, parts := 0, map[string]bool{}
	usual := dying(0, false, &all)
	want := phasedRun(t, ask(), func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
		parts[job.PartOf(ctx)] = true
		return usual(ctx, p, temp)
	})
	if all < 10 || len(parts) != all || !parts["round-0000"] {
		t.Fatalf("%d jobs, named for %v", all, slices.Collect(maps.Keys(parts)))
	}
	most, ways := 9, []bool{rand.IntN(2) == 0} // about every fifth job; before or after it, at random
	if nightly.On() {
		most, ways = 1, []bool{false, true}
	}
	for n := 1 + rand.IntN(most); n <= all; n += 1 + rand.IntN(most) {
		if !nightly.On() {
			ways[0] = !ways[0]
		}
		for _, after := range ways {
			config, launched := ask(), 0
			if _, err := runJob(t.Context(), config, dying(n, after, &launched)); !errors.Is(err, errKilled) {
				t.Fatalf("job %d: %v", n, err)
			}
			launched = 0
			sameOutput(t, fmt.Sprintf("job %d, after it: %t", n, after), want, phasedRun(t, config, dying(0, false, &launched)))
			if want := all - n + 1; launched != want {
				t.Errorf("job %d: %d jobs were launched, %d are left", n, launched, want)
			}
			if left := leftBeside(t, config.Output); len(left) > 0 {
				t.Errorf("job %d: left are %v", n, left)
			}
		}
	}
}

// A run whose groups have another size, as on another runner, continues with the layout of the earlier run.
func TestContinuedElsewhere(t *testing.T) {
	in := inParts(t)
	for _, flags := range [][]string{
		{"--signature=classic", "--bands=10", "--rows=4"}, {"--method=simhash", "--pieces=19", "--compare=cosine", "--weights=tf-idf"}, nil,
	} {
		config, all := ask(t, append(flags, in, "--max-rejected=10", "--resume=always")...), 0
		config.SplitBytes = 30_000
		want := phasedRun(t, config, dying(0, false, &all))
		config.Output = filepath.Join(t.TempDir(), "out")
		if _, err := runJob(t.Context(), config, dying(3, false, new(int))); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		config.GroupBytes, config.Workers = 20_000, 3
		launched := 0
		sameOutput(t, fmt.Sprint(flags), want, phasedRun(t, config, dying(0, false, &launched)))
		if launched != all-2 {
			t.Errorf("%v: %d of %d jobs were launched", flags, launched, all)
		}
	}
}

// The record of the dictionary has no files of other parts, even if these were done before it, as after a kill that
// lost only its record.
func TestLostDictionary(t *testing.T) {
	config, all := ask(t, inParts(t), "--max-rejected=10", "--resume=always", "--signature=classic", "--bands=10", "--rows=4"), 0
	config.SplitBytes = 30_000
	want := phasedRun(t, config, dying(0, false, &all))
	config.Output = filepath.Join(t.TempDir(), "out")
	fail := func(n int) (record string) {
		t.Helper()
		if _, err := runJob(t.Context(), config, dying(n, false, new(int))); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		records, err := filepath.Glob(filepath.Join(filepath.Dir(config.Output), ".*", "kept", "prepared.part"))
		if err != nil || len(records) != 1 {
			t.Fatal(records, err)
		}
		return records[0]
	}
	if err := os.Remove(fail(all)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(fail(2))
	if err != nil || strings.Contains(string(data), "keys-") || !strings.Contains(string(data), "dictionary-") {
		t.Errorf("%v, %s", err, data)
	}
	launched := 0
	sameOutput(t, "continued", want, phasedRun(t, config, dying(0, false, &launched)))
	if launched != 1 {
		t.Errorf("%d jobs were launched", launched)
	}
}

// leftBeside returns the hidden files beside an output and in it.
func leftBeside(t *testing.T, dir string) (left []string) {
	t.Helper()
	for _, pattern := range []string{filepath.Join(filepath.Dir(dir), ".*"), filepath.Join(dir, ".*")} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, names...)
	}
	return left
}

// A run with other settings than the failed one has the result that it would have had alone.
func TestChangedMeanwhile(t *testing.T) {
	in := inParts(t)
	base := []string{in, "--max-rejected=10", "--resume=always"}
	changes := [][]string{ // the first ones cover each phase
		{"--threshold=.7"}, {"--keep=longest"}, {"--write=removed,corpus"}, {"--drop-not-compared"}, {"--shingle=word:3"}, {"--method=exact"}, {"--limit=100"}, {"--id="},
		{"--cluster=components"}, {"--protect=pages"}, {"--pair-budget=10"}, {"--min-words=5"}, {"--exclude=*.gz"}, {"--seed=2"}, {"--recall=.9"},
		{"--normalize=keep-case"}, {"--max-doc-bytes=1000"},
	}
	if !nightly.On() { // TestFingerprintsOfFields covers every field
		changes = changes[:8]
	}
	all := 0
	first := ask(t, base...)
	first.SplitBytes = 30_000
	phasedRun(t, first, dying(0, false, &all))
	for i, change := range changes {
		alone := ask(t, append(slices.Clone(base), change...)...)
		alone.SplitBytes = 30_000
		want := phasedRun(t, alone, dying(0, false, new(int)))
		failed := first
		failed.Output = filepath.Join(t.TempDir(), "out")
		if _, err := runJob(t.Context(), failed, dying(all-i%4, i%8 < 4, new(int))); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		alone.Output = failed.Output
		sameOutput(t, strings.Join(change, " "), want, phasedRun(t, alone, dying(0, false, new(int))))
		if left := leftBeside(t, alone.Output); len(left) > 0 {
			t.Errorf("%v: left are %v", change, left)
		}
	}
}

// A run that does not continue removes what the failed run left.
func TestNotContinued(t *testing.T) {
	in := inParts(t)
	for _, resume := range []string{"never", "auto"} {
		config := ask(t, in, "--max-rejected=10", "--resume=always")
		if _, err := runJob(t.Context(), config, dying(5, false, new(int))); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if left := leftBeside(t, config.Output); len(left) == 0 {
			t.Fatal("nothing is left")
		}
		config.Resume = job.Resume(resume)
		phasedRun(t, config, dying(0, false, new(int)))
		if left := leftBeside(t, config.Output); len(left) > 0 {
			t.Errorf("--resume %s: left are %v", resume, left)
		}
	}
}

// The part that wrote a damaged file is repeated, but not what follows from it.
func TestDamagedPart(t *testing.T) {
	in := inParts(t)
	config := ask(t, in, "--max-rejected=10", "--resume=always")
	config.SplitBytes = 30_000
	all := 0
	want := phasedRun(t, config, dying(0, false, &all))
	config.Output = filepath.Join(t.TempDir(), "out")
	keysRead := 9 + 1
	if nightly.On() {
		keysRead = 16 + 1
	}
	if _, err := runJob(t.Context(), config, dying(keysRead, false, new(int))); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	damage(t, config.Output, "keys-0000-[0-9a-f]*")
	launched := 0
	sameOutput(t, "a damaged file", want, phasedRun(t, config, dying(0, false, &launched)))
	if wanted := all - (keysRead - 1) + 2; launched != wanted { // the wave, and the job that read the file
		t.Errorf("%d jobs were launched, want %d", launched, wanted)
	}
}

// damage changes a byte of each kept file of a run.
func damage(t *testing.T, out, pattern string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(out), ".*", "kept", pattern))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// A repeated round, with another number of parts as on another runner, has other labels for all later parts.
func TestDamagedRound(t *testing.T) {
	in := chained(t, 600)
	config := ask(t, in, "--shingle=char:5", "--threshold=.5", "--cluster=components", "--resume=always")
	config.ConnectDocuments = 10
	want := phasedRun(t, config, dying(0, false, new(int)))
	config.Output = filepath.Join(t.TempDir(), "out")
	usual := dying(0, false, new(int))
	_, err := runJob(t.Context(), config, func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
		if job.PartOf(ctx) == "members" {
			return nil, nil, errKilled
		}
		return usual(ctx, p, temp)
	})
	if !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	damage(t, config.Output, "gone-[0-9][0-9][0-9][0-9]-*")
	config.ConnectDocuments = 7
	sameOutput(t, "a damaged round", want, phasedRun(t, config, usual))
}

// chained returns a file of texts each of which is similar to the next.
func chained(t *testing.T, n int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 60)
	next := func() byte { return byte('a' + rng.IntN(26)) }
	for i := range text {
		text[i] = next()
	}
	var lines strings.Builder
	for range n {
		fmt.Fprintf(&lines, "{\"text\": %q}\n", text)
		text = append(text[6:], next(), next(), next(), next(), next(), next())
	}
	path := filepath.Join(t.TempDir(), "chain.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A run that has read more unreadable records than it accepts ends after that wave or, if it accepts a percentage,
// after the last. It shows all records read so far, and continues from there once it accepts them.
func TestMoreAccepted(t *testing.T) {
	in := inParts(t)
	alone, all := ask(t, in, "--max-rejected=10", "--resume=always"), 0
	alone.SplitBytes = 30_000
	want := phasedRun(t, alone, dying(0, false, &all))
	for _, accepted := range []string{"0", "0.001%"} {
		config := ask(t, in, "--max-rejected="+accepted, "--resume=always")
		config.SplitBytes = alone.SplitBytes
		launched := 0
		exceeded := (*dedup.TooManyUnreadableError)(nil)
		if _, err := runJob(t.Context(), config, dying(0, false, &launched)); !errors.As(err, &exceeded) || exceeded.Unreadable == 0 {
			t.Fatalf("error %v", err)
		}
		if files, err := filepath.Glob(filepath.Join(exceeded.Rejected, "*.parquet")); len(files) == 0 || err != nil {
			t.Errorf("rejected is %v, %v", files, err)
		}
		keys := launched - 1 // minus the job of the table
		if early := accepted == "0"; exceeded.More != early || early != (keys < 9) || strings.Contains(exceeded.Error(), "the rest of the input has not been read") != early {
			t.Errorf("--max-rejected %s: %d jobs, %v", accepted, launched, exceeded)
		}
		config.MaxRejected, launched = "10", 0
		sameOutput(t, "accepted", want, phasedRun(t, config, dying(0, false, &launched)))
		if launched != all-keys {
			t.Errorf("%d jobs, %d are left of %d", launched, all-keys, all)
		}
	}
}

// A plan reports all the space that phases need.
func TestRoomOfPhases(t *testing.T) {
	config, all := ask(t, inParts(t), "--max-rejected=10", "--resume=always"), 0
	planned := config
	planned.DryRun = true
	forecast, err := runJob(t.Context(), planned, nil)
	if err != nil {
		t.Fatal(err)
	}
	phasedRun(t, config, dying(0, false, &all))
	config.Output = filepath.Join(t.TempDir(), "out")
	if _, err := runJob(t.Context(), config, dying(all, true, new(int))); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(config.Output), ".*", "kept", "*"))
	if err != nil {
		t.Fatal(err)
	}
	took := forecast.Input.Bytes
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(file); !strings.HasSuffix(name, ".facts") && !strings.HasSuffix(name, ".part") {
			took += info.Size()
		}
	}
	if kept := forecast.Forecast.Kept; took > kept || took < kept/4 {
		t.Errorf("%d bytes were foretold, and %d taken", kept, took)
	}
}
