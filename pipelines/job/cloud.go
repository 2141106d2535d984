package job

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Cloud says how a job runs on Dataflow.
type Cloud struct {
	DataflowOption map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Dataflow option by its Beam name, as in max-num-workers=20; repeat for several. On the command line, --max-num-workers 20 is the same. project, region and staging-location are required; docs/dataflow.md lists the others." group:"Cluster"`
}

// Leaves reports whether this process ends before its job does, as the launcher of a flex template requires, or a
// scheduler that follows jobs itself.
func (c *Cloud) Leaves() bool {
	for _, name := range []string{"detach", "execute-async", "async"} {
		if on, _ := strconv.ParseBool(c.DataflowOption[name]); on {
			return true
		}
	}
	return c.DataflowOption["template-location"] != ""
}

// bucketScheme begins the paths that Dataflow's workers can reach.
const bucketScheme = "gs://"

// CheckReached returns a *UsageError for paths that the workers cannot reach. Standard input is copied to where they
// can.
func (c *Cloud) CheckReached(inputs []string, output, temp string) error {
	for _, input := range inputs {
		if input != "-" && !strings.HasPrefix(input, bucketScheme) {
			return unreached(input, "copy it there, as in gcloud storage cp -r "+input+" gs://BUCKET/FOLDER")
		}
	}
	if output != "" && !strings.HasPrefix(output, bucketScheme) {
		return unreached("--output "+output, "use a folder in a bucket, as in --output gs://BUCKET/out")
	}
	if temp != "" && !strings.HasPrefix(temp, bucketScheme) {
		return unreached("--temp-dir "+temp,
			"use a folder in a bucket, or drop --temp-dir to have temporary files in the output folder")
	}
	return nil
}

func unreached(what, instead string) error {
	return Usage("--runner dataflow: %s is not in a bucket (gs://), but workers can read and write only "+
		"buckets; %s", what, instead)
}

// CheckUnused returns a *UsageError for Dataflow options, which other runners do not support, except labels: schedulers
// set them for any runner.
func (c *Cloud) CheckUnused() error {
	if _, labels := c.DataflowOption["labels"]; len(c.DataflowOption) > 1 || len(c.DataflowOption) == 1 && !labels {
		options := maps.Clone(c.DataflowOption)
		delete(options, "labels")
		return Usage("--%s is for Dataflow; add --runner dataflow, or drop the Dataflow flags",
			slices.Min(slices.Collect(maps.Keys(options))))
	}
	return nil
}

// LeftError says that a job continues, and that this process no longer waits for it.
type LeftError struct {
	Job  string // the job's path in the service
	Show string // the command that shows it
	// State is needed to follow the job.
	State string
	Err   error // why it was left; nil if the user asked for that
}

func (e *LeftError) Error() string {
	text := fmt.Sprintf("%s continues; %s", e.Job, e.Show)
	if e.Err != nil {
		return e.Err.Error() + "; " + text
	}
	return text
}

func (e *LeftError) Unwrap() error { return e.Err }
