package job

import (
	"encoding/json"
	"fmt"
)

// Scheduled is what schedulers say of a job, whatever runs it.
type Scheduled struct {
	JobName string `placeholder:"NAME" help:"Name of the job, for a cluster and for --lineage-file (default: neardup, on Dataflow with random letters); Dataflow's have lower-case letters, digits and hyphens." group:"Running"`
	Labels  Labels `placeholder:"JSON" help:"Labels of the job, for run.json and Dataflow, as in '{\"team\":\"data\"}'." group:"Running"`
}

// Labels are those of a job.
type Labels map[string]string

// UnmarshalText reads a JSON object.
func (l *Labels) UnmarshalText(text []byte) error {
	if err := json.Unmarshal(text, (*map[string]string)(l)); err != nil {
		return fmt.Errorf(`%q is no JSON object of strings, such as {"team":"data"}`, text)
	}
	return nil
}
