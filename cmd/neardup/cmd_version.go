package main

import (
	"fmt"
	"runtime"

	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
)

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(s streams) error {
	ids := job.DefaultFormats()
	_, err := fmt.Fprintf(s.Out, "neardup %s\n%s %s/%s\nformats: text %s, signature %s,\n  tables %s\n",
		dedup.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, ids.Text, ids.Signature, ids.Tables)
	return err
}
