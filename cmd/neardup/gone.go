package main

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// goneFlags are flags of earlier versions, each with what to do instead. They are refused on the command line, in the
// environment and in job files.
type goneFlags struct {
	S3Region    goneFlag `name:"s3-region" hidden:"" group:"Stores" instead:"set AWS_REGION in the environment"`
	S3Endpoint  goneFlag `name:"s3-endpoint" hidden:"" group:"Stores" instead:"use --store-endpoint s3=URL"`
	GSEndpoint  goneFlag `name:"gs-endpoint" hidden:"" group:"Stores" instead:"use --store-endpoint gs=URL"`
	S3Anonymous goneFlag `name:"s3-anonymous" hidden:"" group:"Stores" instead:"use --anonymous s3"`
	GSAnonymous goneFlag `name:"gs-anonymous" hidden:"" group:"Stores" instead:"use --anonymous gs"`
	S3Pays      goneFlag `name:"s3-requester-pays" hidden:"" group:"Stores" instead:"use --requester-pays"`
	GSPays      goneFlag `name:"gs-user-project" hidden:"" group:"Stores" instead:"use --requester-pays, and set GOOGLE_CLOUD_QUOTA_PROJECT in the environment"`
	S3KMSKey    goneFlag `name:"s3-kms-key" hidden:"" group:"Stores" instead:"use --kms-key"`
	GSKMSKey    goneFlag `name:"gs-kms-key" hidden:"" group:"Stores" instead:"use --kms-key"`

	ModifiedBefore goneFlag `hidden:"" group:"Input" instead:"list the files with find ! -newermt, and give the list with --inputs-from"`
	SkipUnknown    goneFlag `hidden:"" group:"Input" instead:"name the files to read with --include, as in --include '*.jsonl'"`
	MaxIDBytes     goneFlag `name:"max-id-bytes" hidden:"" group:"Text" instead:"a document with an id of more than 4 KiB is not compared"`
	Tokens         goneFlag `hidden:"" group:"Text" instead:"use its steps in --normalize, as in --normalize default,stem:en"`
}

// goneOfDedup are such flags of dedup. Options of Dataflow and Beam are refused only in files and the environment:
// passedOn handles those on the command line.
type goneOfDedup struct {
	Cpuprofile, Memprofile, Trace goneFlag `hidden:"" group:"Running" instead:"use perf, or Go's own profiles around neardup.Run (docs/performance.md)"`

	EnvironmentType, EnvironmentConfig goneFlag `hidden:"" group:"Cluster" instead:"use --environment KIND:CONFIG"`
	WorkerBinary                       goneFlag `hidden:"" group:"Cluster" instead:"set it on the command line only: it is an option of Beam"`

	Project, Region, StagingLocation, WorkerMachineType, MachineType, DataflowEndpoint, CancelOnInterrupt, Detach,
	ExecuteAsync, Async, TemplateLocation,
	NumWorkers, MaxNumWorkers, NumberOfWorkerHarnessThreads, DiskType, WorkerDiskType, WorkerZone, Network, Subnetwork,
	ServiceAccountEmail, SdkContainerImage, DataflowServiceOptions, DiskProvisionedIops, DiskProvisionedThroughputMibps,
	AutoscalingAlgorithm, FlexrsGoal, WorkerRegion, Experiments, Labels, UsePublicIps goneFlag `hidden:"" group:"Cluster" instead:"set it with --dataflow-option"`

	Disk       goneFlag `name:"disk-size-gb" hidden:"" group:"Cluster" instead:"set it with --dataflow-option"`
	KMSKey     goneFlag `name:"dataflow-kms-key" hidden:"" group:"Cluster" instead:"set it with --dataflow-option"`
	MinCPU     goneFlag `name:"min-cpu-platform" hidden:"" group:"Cluster" instead:"set it with --dataflow-option"`
	PrivateIPs goneFlag `name:"no-use-public-ips" hidden:"" group:"Cluster" instead:"set it with --dataflow-option"`
}

// goneFlag is a flag that was removed.
type goneFlag struct{}

// Decode refuses the flag.
func (goneFlag) Decode(ctx *kong.DecodeContext) error {
	return fmt.Errorf("no longer supported; %s", ctx.Value.Tag.Get("instead"))
}
