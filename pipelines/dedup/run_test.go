package dedup

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/pipelines/job"
)

// howItIsDone are the parameters that do not change what a run makes.
var howItIsDone = map[string]bool{
	"DryRun": true, "Environment": true, "ForceUnlock": true, "JobServer": true, "Memory": true, "Output": true, "Overwrite": true,
	"Runner": true, "TempDir": true, "WaitLock": true, "WorkerBinary": true, "Workers": true,
}

// planned returns a run that has listed its input, of one file.
func planned() *run {
	files := []blocks.File{{Path: "in/a", Size: 1, Version: "1"}}
	return &run{plan: &Plan{Plan: &job.Plan{Listing: &source.Listing{Inputs: &blocks.Inputs{Files: files}}}}}
}

// A later run stands in for one that was killed if it was asked the same of the same input, however it is done.
func TestFingerprint(t *testing.T) {
	want := planned().fingerprint()
	differs := func(what string, wanted bool, change func(*run)) {
		t.Helper()
		r := planned()
		if change(r); (r.fingerprint() != want) != wanted {
			t.Errorf("%s makes another run: %t", what, !wanted)
		}
	}
	differs("nothing", false, func(*run) {})
	differs("the job's id", false, func(r *run) { r.record.Job = "x" })
	differs("a warning", false, func(r *run) { r.warn("x") })
	differs("the version", true, func(r *run) { r.record.Version = "x" })
	differs("a format", true, func(r *run) { r.record.Formats.Tables = "x" })
	differs("a file's name", true, func(r *run) { r.plan.Listing.Inputs.Files[0].Path = "in/b" })
	differs("a file's size", true, func(r *run) { r.plan.Listing.Inputs.Files[0].Size++ })
	differs("a file's version", true, func(r *run) { r.plan.Listing.Inputs.Files[0].Version = "2" })
	differs("a file more", true, func(r *run) {
		r.plan.Listing.Inputs.Files = append(r.plan.Listing.Inputs.Files, blocks.File{Path: "in/b"})
	})
	parameters := reflect.TypeOf(planned().record.Parameters)
	for i := range parameters.NumField() {
		name := parameters.Field(i).Name
		differs("--"+name, !howItIsDone[name], func(r *run) {
			field := reflect.ValueOf(&r.record.Parameters).Elem().Field(i)
			switch field.Kind() {
			case reflect.Bool:
				field.SetBool(true)
			case reflect.Int, reflect.Int64:
				field.SetInt(1)
			case reflect.Uint64:
				field.SetUint(1)
			case reflect.Float64:
				field.SetFloat(1)
			case reflect.String:
				field.SetString("x")
			case reflect.Slice:
				field.Set(reflect.ValueOf([]string{"x"}))
			default:
				t.Fatalf("%s is a %v", name, field.Kind())
			}
		})
	}
}

// What the output is refused for has the exit status that tells of it, wherever it is noticed.
func TestRefused(t *testing.T) {
	for err, want := range map[error]int{
		&commit.RefusedError{Reason: "x"}: 3, &storage.LockedError{}: 3, &storage.FencedError{}: 3,
		fmt.Errorf("a system call: %w", errors.ErrUnsupported): 1, errors.New("x"): 1,
	} {
		if got := job.Status(job.Refused(fmt.Errorf("in a step: %w", err))); got != want {
			t.Errorf("%T: exit status %d, want %d", err, got, want)
		}
	}
	if err := job.Refused(nil); err != nil {
		t.Error(err)
	}
}
