package job

import (
	"fmt"
	"reflect"
	"strings"
)

// Cloud says how a job on Dataflow is run. The flags have the names of Beam's options.
type Cloud struct {
	Project         string `placeholder:"ID" help:"Google Cloud project of a job on Dataflow." group:"Cluster"`
	Region          string `placeholder:"NAME" help:"Region of its workers, as in europe-west1." group:"Cluster"`
	StagingLocation string `placeholder:"gs://DIR" help:"Folder for the worker binary and the pipeline." group:"Cluster"`
	MachineType     string `name:"worker-machine-type" aliases:"machine-type" placeholder:"TYPE" help:"Machines of the workers, as in n2-standard-4; t2a and c4a have Arm processors (default: Dataflow's)." group:"Cluster"`
	// DataflowOption has the rest, for people who know Dataflow.
	DataflowOption map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Another of Dataflow's options by Beam's name, as in max-num-workers=20; repeat for several. docs/dataflow.md lists them; --max-num-workers 20 is understood, too." group:"Cluster"`
	Following
	// Detach is what the launcher of a flex template needs, and a scheduler that follows jobs itself.
	Detach           bool   `aliases:"execute-async,async" help:"End once the job is submitted; neardup finish DIR publishes its output." group:"Cluster"`
	TemplateLocation string `hidden:"" help:"Where the launcher of flex templates wants the job; then it submits it." group:"Cluster"`
}

// Following says how a job on Dataflow is followed.
type Following struct {
	CancelOnInterrupt bool   `help:"Cancel the job on Dataflow when this process is interrupted (default: ask on Ctrl-C at a terminal; otherwise the job continues, and neardup finish DIR publishes its output)." group:"Cluster"`
	DataflowEndpoint  string `placeholder:"URL" help:"Dataflow at another address." group:"Cluster"`
}

// bucketScheme begins the paths that Dataflow's workers reach.
const bucketScheme = "gs://"

// CheckReached returns a *UsageError for files that the workers would not reach. Standard input is copied to where they
// do.
func (c *Cloud) CheckReached(inputs []string, output, temp string) error {
	for _, input := range inputs {
		if input != "-" && !strings.HasPrefix(input, bucketScheme) {
			return unreached(input, "copy it there, as in gcloud storage cp -r "+input+" gs://BUCKET/FOLDER")
		}
	}
	if output != "" && !strings.HasPrefix(output, bucketScheme) {
		return unreached("--output "+output, "give a folder there, as in --output gs://BUCKET/out")
	}
	if temp != "" && !strings.HasPrefix(temp, bucketScheme) {
		return unreached("--temp-dir "+temp, "give a folder there, or drop it: then temporary files are in the output folder")
	}
	return nil
}

func unreached(what, instead string) error {
	return Usage("--runner dataflow: %s is not in a bucket, gs://, which is all that workers reach; %s", what, instead)
}

// CheckUnused returns a *UsageError if something is asked that another runner does not heed.
func (c *Cloud) CheckUnused() error {
	if !reflect.ValueOf(c).Elem().IsZero() {
		return Usage("flags of Dataflow, such as --project and --staging-location, are given: add --runner dataflow, or drop them")
	}
	return nil
}

// LeftError says that a job runs on, and that this process waits for it no more.
type LeftError struct {
	Job  string // the service's path of it
	Show string // the command that shows it
	// State is what is needed to follow the job.
	State string
	Err   error // why it was left; nil: that was asked
}

func (e *LeftError) Error() string {
	text := fmt.Sprintf("%s goes on; %s", e.Job, e.Show)
	if e.Err != nil {
		return e.Err.Error() + "; " + text
	}
	return text
}

func (e *LeftError) Unwrap() error { return e.Err }
