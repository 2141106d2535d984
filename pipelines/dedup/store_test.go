package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// An object whose name no file of a disk can have is refused before anything is written.
func TestLongNameInAStore(t *testing.T) {
	storage.Register("objects://", &storagetest.Memory{})
	object := "objects://lake/in/" + strings.Repeat("x", 300) + ".jsonl"
	_, err := storage.WriteFile(t.Context(), object, func(w io.Writer) error {
		_, err := io.WriteString(w, `{"text":"a"}`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	config := ask(t, object)
	if _, err := runJob(t.Context(), config, launch(config)); job.Status(err) != 2 || !strings.Contains(err.Error(), object+": corpus/ on a disk cannot have") {
		t.Error(err)
	}
	config.Write = []string{string(output.Pairs)}
	if _, err := runJob(t.Context(), config, launch(config)); err != nil {
		t.Error(err)
	}
}

// The same input in a store without folders and rename gives the same bytes there, with the temporary files on a disk
// or in the store, and nothing else is left.
func TestSameBytesOnAnObjectStore(t *testing.T) {
	storage.Register("objects://", &storagetest.Memory{})
	files, err := filepath.Glob("../../testdata/tldr/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, file := range files {
		_, err := storage.WriteFile(t.Context(), "objects://lake/in/"+filepath.Base(file), func(w io.Writer) error {
			_, err := io.WriteString(w, read(t, file))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	flags := []string{"--shingle=char:5", "--threshold=0.5", "--pair-budget=100"}
	want := promised(t, run(t, ask(t, append(flags, "../../testdata/tldr")...)))
	for i, temp := range []string{"", t.TempDir(), "objects://lake/temp"} {
		config := ask(t, append(flags, "objects://lake/in", "--overwrite")...)
		config.Output, config.TempDir = "objects://lake/out", temp
		if storage.IsLocal(temp) == (i == 2) {
			t.Fatal("not what is meant")
		}
		if !storage.IsLocal(temp) {
			config.Runner = job.Direct // does not spill
		}
		if _, err := runJob(t.Context(), config, launch(config)); err != nil {
			t.Fatal(err)
		}
		sameOutput(t, "temporary files in "+temp, want, stored(t, config.Output))
		names, err := storage.Names(t.Context(), config.Output)
		if wanted := []string{"_SUCCESS", "clusters", "corpus", "manifest.json", "pairs", "rejected", "removed", "run.json"}; err != nil || !slices.Equal(names, wanted) {
			t.Errorf("the output holds %v, %v", names, err)
		}
		if names, err := storage.Names(t.Context(), "objects://lake/temp"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("left: %v, %v", names, err)
		}
		if temp != "" && storage.IsLocal(temp) {
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		}
	}
	for _, runner := range []string{"local", "flink"} { // groups from the runner, and from kept files
		config := ask(t, append(flags, "objects://lake/in", "--overwrite", "--resume=always", "--runner="+runner)...)
		config.Output = "objects://lake/out"
		if _, err := runJob(t.Context(), config, beamtest.Launch("local", local.Options{})); err != nil {
			t.Fatal(err)
		}
		sameOutput(t, "in phases, "+runner, want, stored(t, config.Output))
	}
	// References may be in a store, and the input on a disk: then their URLs name them.
	against := ask(t, append(flags, "../../testdata/tldr/osx.jsonl", "--against=objects://lake/in")...)
	local := ask(t, append(flags, "../../testdata/tldr/osx.jsonl", "--against=../../testdata/tldr/*.jsonl", "--keep=longest")...)
	byReference := func(config dedup.Config) map[string]string {
		all := map[string]string{}
		for _, row := range rows[records.Removed](t, runOnly(t, config), "removed") {
			all[row.ID] = row.KeptID
			if there := strings.HasPrefix(row.KeptSource, "objects://lake/in/"); there != (config.Against[0] == "objects://lake/in") {
				t.Errorf("%s is kept in %s", row.KeptID, row.KeptSource)
			}
		}
		return all
	}
	// osx.jsonl in the store is another file, so all its documents are removed.
	if all := byReference(against); len(all) != 370 {
		t.Errorf("%d documents were removed", len(all))
	}
	if all := byReference(local); len(all) == 0 || len(all) == 370 {
		t.Errorf("%d documents were removed of a file that is input", len(all))
	}
	// A finished output is refused, and another run's lock is respected.
	config := ask(t, append(flags, "objects://lake/in")...)
	config.Output = "objects://lake/out"
	if exists := (*job.OutputExistsError)(nil); !errors.As(failure(t, config), &exists) || !strings.Contains(exists.Reason, "--overwrite") {
		t.Errorf("a finished output: %v", exists)
	}
	lock, _, err := storage.Acquire(t.Context(), "objects://lake/out/.lock", "other", storage.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release(t.Context(), false)
	config.Overwrite = true
	if exists := (*job.OutputExistsError)(nil); !errors.As(failure(t, config), &exists) || !strings.Contains(exists.Reason, "held by job other") {
		t.Errorf("a held lock: %v", exists)
	}
}

// stored is promised for an output in a store.
func stored(t *testing.T, dir string) map[string]string {
	t.Helper()
	finished, err := output.Open(t.Context(), dir)
	mustDo(t, err)
	got := map[string]string{}
	for _, file := range append(finished.Manifest.Files, records.ManifestFile{Path: output.ManifestFile}) {
		data, err := storage.ReadFile(t.Context(), storage.Join(dir, file.Path))
		mustDo(t, err)
		got[file.Path] = string(data)
	}
	return got
}

func failure(t *testing.T, config dedup.Config) error {
	t.Helper()
	_, err := runJob(t.Context(), config, launch(config))
	return err
}

// interrupting interrupts the run when it begins to replace an output.
type interrupting struct {
	*storagetest.Memory
	interrupt func()
}

func (s *interrupting) Remove(ctx context.Context, path string, cond storage.If) error {
	if s.interrupt != nil && path == "interrupting://lake/out/_SUCCESS" {
		s.interrupt()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.Memory.Remove(ctx, path, cond)
}

// unwilling is a store that cannot move a file to its place.
type unwilling struct {
	*storagetest.Memory
	to  string
	err error
}

func (s *unwilling) Move(ctx context.Context, from, to string) error {
	if s.err != nil && to == s.to {
		return s.err
	}
	return s.Memory.Move(ctx, from, to)
}

// A run that could not publish everything says so, and says nothing about an unchanged output. The next run publishes
// its output.
func TestPublishingFails(t *testing.T) {
	store := &unwilling{Memory: &storagetest.Memory{}, to: "unwilling://lake/out/run.json"}
	storage.Register("unwilling://", store)
	config := ask(t, "../../testdata/tldr", "--overwrite")
	config.Output = "unwilling://lake/out"
	for _, failing := range []error{nil, errors.New("the store could not do it")} {
		store.err = failing
		record, err := runJob(t.Context(), config, launch(config))
		if !errors.Is(err, failing) {
			t.Fatal(err)
		}
		if failing == nil {
			continue
		}
		if told := fmt.Sprint(record.Warnings); !strings.Contains(told, "a record of this run is in unwilling://lake/out.failed") || strings.Contains(told, "unchanged") {
			t.Errorf("it tells %s", told)
		}
		store.err = nil
		if next, err := runJob(t.Context(), config, launch(config)); err != nil || next.Job != record.Job {
			t.Errorf("the next publishes %s, not %s: %v", next.Job, record.Job, err)
		}
	}
}

// An interruption is too late for a run that has begun to replace an output: the run completes.
func TestInterruptedWhileItPublishes(t *testing.T) {
	store := &interrupting{Memory: &storagetest.Memory{}}
	storage.Register("interrupting://", store)
	config := ask(t, "../../testdata/tldr", "--overwrite")
	config.Output = "interrupting://lake/out"
	if err := failure(t, config); err != nil {
		t.Fatal(err)
	}
	before, err := output.Open(t.Context(), config.Output)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	store.interrupt = cancel
	if _, err := runJob(ctx, config, launch(config)); err != nil || ctx.Err() == nil {
		t.Fatal(err, ctx.Err())
	}
	if after, err := output.Open(t.Context(), config.Output); err != nil || after.Run.Job == before.Run.Job {
		t.Errorf("the output is as it was, or none: %v", err)
	}
}

// syncing is a store that may lose what its workers have not synced.
type syncing struct {
	*storagetest.Memory

	mu                sync.Mutex
	created, unsynced map[string]bool
}

func (s *syncing) Create(ctx context.Context, path string, cond storage.If, write func(io.Writer) error) (storage.Info, error) {
	s.mu.Lock()
	s.created[path], s.unsynced[path] = true, true
	s.mu.Unlock()
	return s.Memory.Create(ctx, path, cond, write)
}

func (s *syncing) Sync(_ context.Context, path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unsynced, path)
	return nil
}

func (*syncing) Syncing(context.Context, string) (storage.Syncing, error) { return launchers{}, nil }

// launchers syncs on a machine other than the one that wrote.
type launchers struct{}

func (launchers) Sync(context.Context, ...string) error { return nil }
func (launchers) Close() error                          { return nil }

// Workers of a cluster sync kept files, and files of the output, before they report them.
func TestSyncedByWorkers(t *testing.T) {
	store := &syncing{Memory: &storagetest.Memory{}, created: map[string]bool{}, unsynced: map[string]bool{}}
	storage.Register("syncing://", store)
	config := ask(t, "../../testdata/tldr", "--resume=always", "--runner=flink")
	config.Output = "syncing://lake/out"
	if _, err := runJob(t.Context(), config, beamtest.Launch("local", local.Options{})); err != nil {
		t.Fatal(err)
	}
	phases := []string{"keys", "members", "verified", "rows", "pairs", "clusters", "tables"}
	kept, written := 0, 0
	for file := range store.created {
		name := path.Base(file)
		of, _, _ := strings.Cut(name, "-")
		switch {
		case strings.Contains(file, "/w/") && !store.unsynced[file]: // the launcher syncs its own files
			written++
		case strings.Contains(file, "/kept/") && !strings.Contains(name, ".") && slices.Contains(phases, of):
			if kept++; store.unsynced[file] {
				t.Errorf("%s is not synced", file)
			}
		}
	}
	if tablesAndCorpus := 5; kept < len(phases) || written < tablesAndCorpus {
		t.Errorf("%d kept files and %d of the output: %v", kept, written, slices.Sorted(maps.Keys(store.created)))
	}
}
