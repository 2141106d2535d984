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
	NumWorkers      int64  `placeholder:"N" help:"Workers at the beginning (default: --workers, or Dataflow's)." group:"Cluster"`
	MaxNumWorkers   int64  `placeholder:"N" help:"Workers at most (default: Dataflow's)." group:"Cluster"`
	Threads         int64  `name:"number-of-worker-harness-threads" placeholder:"N" help:"Number of parallel threads of a worker; with fewer, each has more memory (default: Dataflow's)." group:"Cluster"`
	DiskSizeGB      int64  `name:"disk-size-gb" placeholder:"N" help:"Disk of a worker, in GB (default: Dataflow's)." group:"Cluster"`
	DiskType        string `name:"worker-disk-type" aliases:"disk-type" placeholder:"TYPE" help:"Its type, as in pd-ssd (default: Dataflow's)." group:"Cluster"`
	WorkerZone      string `placeholder:"NAME" help:"Zone of the workers (default: Dataflow's choice)." group:"Cluster"`
	Network         string `placeholder:"NAME" help:"Network of the workers (default: default)." group:"Cluster"`
	Subnetwork      string `placeholder:"NAME" help:"Its subnetwork, as in regions/REGION/subnetworks/NAME; of a shared network by its URL." group:"Cluster"`
	NoPublicIPs     bool   `name:"no-use-public-ips" help:"Workers have private addresses only; the subnetwork must have Private Google Access." group:"Cluster"`
	ServiceAccount  string `name:"service-account-email" placeholder:"EMAIL" help:"Account that workers are (default: the project's Compute Engine account)." group:"Cluster"`
	KMSKey          string `name:"dataflow-kms-key" placeholder:"KEY" help:"Encrypt what Dataflow keeps with this KMS key." group:"Cluster"`
	Image           string `name:"sdk-container-image" placeholder:"IMAGE" help:"Container that the workers run in (default: Beam's, of this version)." group:"Cluster"`
	ServiceOptions  string `name:"dataflow-service-options" placeholder:"LIST" help:"Options of the service, with commas between them." group:"Cluster"`
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
