package job

import (
	"encoding/json"
	"fmt"
)

// Scheduled is what schedulers say of a job, whatever runs it.
type Scheduled struct {
	JobName      string `placeholder:"NAME" help:"Name of the job, for a cluster and for --lineage-file (default: neardup)." group:"Run"`
	Labels       Labels `placeholder:"JSON" help:"Labels of the job, for run.json, as in '{\"team\":\"data\"}'." group:"Run"`
	TempLocation string `placeholder:"DIR" help:"As --temp-dir, by the name that Beam has for it; it is made, and --temp-dir goes before it." group:"Run"`
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
