package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
)

// beamNames are flags by the names that Beam has for them, as schedulers and launchers write them: on the command line,
// in the environment and in job files.
type beamNames struct {
	TempLocation      string `hidden:"" group:"Cluster"`
	EnvironmentType   string `hidden:"" group:"Cluster"`
	EnvironmentConfig string `hidden:"" group:"Cluster"`

	ForDataflow struct {
		NumWorkers       string `name:"num-workers" hidden:"" group:"Cluster"`
		MaxNumWorkers    string `name:"max-num-workers" hidden:"" group:"Cluster"`
		Threads          string `name:"number-of-worker-harness-threads" hidden:"" group:"Cluster"`
		DiskSizeGB       string `name:"disk-size-gb" hidden:"" group:"Cluster"`
		DiskType         string `name:"worker-disk-type" aliases:"disk-type" hidden:"" group:"Cluster"`
		WorkerZone       string `name:"worker-zone" hidden:"" group:"Cluster"`
		Network          string `name:"network" hidden:"" group:"Cluster"`
		Subnetwork       string `name:"subnetwork" hidden:"" group:"Cluster"`
		NoUsePublicIPs   bool   `name:"no-use-public-ips" hidden:"" group:"Cluster"`
		ServiceAccount   string `name:"service-account-email" hidden:"" group:"Cluster"`
		DataflowKMSKey   string `name:"dataflow-kms-key" hidden:"" group:"Cluster"`
		SDKContainer     string `name:"sdk-container-image" hidden:"" group:"Cluster"`
		DiskIOPS         string `name:"disk-provisioned-iops" hidden:"" group:"Cluster"`
		DiskThroughput   string `name:"disk-provisioned-throughput-mibps" hidden:"" group:"Cluster"`
		Autoscaling      string `name:"autoscaling-algorithm" hidden:"" group:"Cluster"`
		FlexRSGoal       string `name:"flexrs-goal" hidden:"" group:"Cluster"`
		WorkerRegion     string `name:"worker-region" hidden:"" group:"Cluster"`
		MinCPUPlatform   string `name:"min-cpu-platform" hidden:"" group:"Cluster"`
		Experiments      string `name:"experiments" hidden:"" group:"Cluster"`
		UsePublicIPs     *bool  `name:"use-public-ips" hidden:"" group:"Cluster"`
		DataflowServices string `name:"dataflow-service-options" hidden:"" group:"Cluster"`
	} `embed:""`
}

// translate sets what neardup calls otherwise.
func (b *beamNames) translate(c *dedup.Config) error {
	switch {
	case b.EnvironmentConfig != "" && b.EnvironmentType == "":
		return job.Usage("--environment-config: add --environment-type, PROCESS, EXTERNAL or DOCKER")
	case b.EnvironmentType != "" && c.Environment != "":
		return job.Usage("--environment and --environment-type say the same; drop one of the two")
	case b.EnvironmentType != "":
		c.Environment = strings.TrimSuffix(strings.ToLower(b.EnvironmentType)+":"+b.EnvironmentConfig, ":")
	}
	given := map[string]string{}
	if c.Runner.Traits().OnlyBuckets && b.TempLocation != "" {
		given["temp-location"] = b.TempLocation
	}
	for field, value := range reflect.ValueOf(b.ForDataflow).Fields() {
		if !value.IsZero() {
			given[field.Tag.Get("name")] = fmt.Sprint(reflect.Indirect(value))
		}
	}
	if c.DataflowOption == nil && len(given) > 0 {
		c.DataflowOption = map[string]string{}
	}
	for name, value := range given {
		if _, twice := c.DataflowOption[name]; twice {
			return job.Usage("--%s and --dataflow-option %[1]s say the same; drop one of the two", name)
		}
		c.DataflowOption[name] = value
	}
	return nil
}
