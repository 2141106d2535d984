package dataflow

import (
	"fmt"
	"strings"

	"github.com/neardup/neardup/runners/remote"
)

// explain extracts from the service's messages what the user needs. The first error of a step is the cause: later ones
// are from retries, or from the end of the job.
func (j *job) explain() error {
	f := &remote.Failure{Job: j.job.ID, Said: strings.Join(j.errors, "\n")}
	for _, text := range j.errors {
		if f.Short = remote.DoFnError(text, text); f.Short != "" {
			return f
		}
	}
	f.Short = strings.TrimSpace(f.Said)
	if f.Short == "" {
		f.Short = fmt.Sprintf("Dataflow job %s failed, but the service does not say why", j.job.ID)
	}
	f.Short += "; see " + j.job.Show()
	return f
}
