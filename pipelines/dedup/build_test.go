package dedup_test

import (
	"context"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/vet"

	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
)

// Every DoFn and type in the pipeline is registered, as clusters require.
func TestEverythingIsRegistered(t *testing.T) {
	plan, err := planOf(t, ask(t, "../../testdata/tldr"))
	if err != nil {
		t.Fatal(err)
	}
	p, s := beam.NewPipelineWithRoot()
	dedup.Build(s, plan, output.Folder{Dir: storagetest.RunFolder(t)}, storagetest.RunFolder(t))
	verdict, err := vet.Evaluate(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if verdict.RequiresRegistrations() {
		verdict.Generate("shims")
		t.Errorf("not registered:\n%s", verdict.Bytes())
	}
}
