package dataflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// named are the options that can be set by name, with Beam's names.
var named = map[string]func(o *Options, value string) error{
	"disk-provisioned-iops":             whole(func(o *Options) *int64 { return &o.DiskProvisionedIops }),
	"disk-provisioned-throughput-mibps": whole(func(o *Options) *int64 { return &o.DiskProvisionedThroughputMibps }),
	"autoscaling-algorithm": text(func(o *Options) *string { return &o.Algorithm },
		"NONE", "THROUGHPUT_BASED"),
	"flexrs-goal": text(func(o *Options) *string { return &o.FlexRSGoal },
		"FLEXRS_UNSPECIFIED", "FLEXRS_SPEED_OPTIMIZED", "FLEXRS_COST_OPTIMIZED"),
	"worker-region":                    text(func(o *Options) *string { return &o.WorkerRegion }),
	"project":                          text(func(o *Options) *string { return &o.Project }),
	"region":                           text(func(o *Options) *string { return &o.Region }),
	"staging-location":                 text(func(o *Options) *string { return &o.Staging }),
	"worker-machine-type":              text(func(o *Options) *string { return &o.MachineType }),
	"machine-type":                     text(func(o *Options) *string { return &o.MachineType }),
	"dataflow-endpoint":                text(func(o *Options) *string { return &o.Endpoint }),
	"template-location":                text(func(o *Options) *string { return &o.TemplateLocation }),
	"detach":                           truth(func(o *Options) *bool { return &o.Detach }),
	"execute-async":                    truth(func(o *Options) *bool { return &o.Detach }),
	"async":                            truth(func(o *Options) *bool { return &o.Detach }),
	"cancel-on-interrupt":              truth(func(o *Options) *bool { return &o.Cancel }),
	"num-workers":                      whole(func(o *Options) *int64 { return &o.NumWorkers }),
	"max-num-workers":                  whole(func(o *Options) *int64 { return &o.MaxNumWorkers }),
	"number-of-worker-harness-threads": whole(func(o *Options) *int64 { return &o.WorkerHarnessThreads }),
	"disk-size-gb":                     whole(func(o *Options) *int64 { return &o.DiskSizeGb }),
	"disk-type":                        text(func(o *Options) *string { return &o.DiskType }),
	"worker-disk-type":                 text(func(o *Options) *string { return &o.DiskType }),
	"worker-zone":                      text(func(o *Options) *string { return &o.WorkerZone }),
	"network":                          text(func(o *Options) *string { return &o.Network }),
	"subnetwork":                       text(func(o *Options) *string { return &o.Subnetwork }),
	"service-account-email":            text(func(o *Options) *string { return &o.ServiceAccountEmail }),
	"dataflow-kms-key":                 text(func(o *Options) *string { return &o.KmsKey }),
	"sdk-container-image":              text(func(o *Options) *string { return &o.ContainerImage }),
	"temp-location":                    text(func(o *Options) *string { return &o.TempLocation }),
	"no-use-public-ips":                public(false),
	"use-public-ips":                   public(true),
	"min-cpu-platform": func(o *Options, value string) error {
		o.Experiments = append(o.Experiments, "min_cpu_platform="+value) // as the SDK's runner does
		return nil
	},
	"experiments": func(o *Options, value string) error {
		o.Experiments = append(o.Experiments, strings.Split(value, ",")...)
		return nil
	},
	"labels": func(o *Options, value string) error {
		if json.Unmarshal([]byte(value), &o.Labels) != nil {
			return fmt.Errorf(`%q is not a JSON object of strings, such as {"team":"data"}`, value)
		}
		return nil
	},
	"dataflow-service-options": func(o *Options, value string) error {
		o.DataflowServiceOptions = strings.Split(value, ",")
		return nil
	},
}

// passed are further options of the SDK's runner. They work as they do there, and neardup does not document them.
var passed = map[string]func(o *Options, value string) error{
	"zone":                           text(func(o *Options) *string { return &o.WorkerZone }), // its former name
	"worker-harness-container-image": text(func(o *Options) *string { return &o.ContainerImage }),
	"teardown-policy":                text(func(o *Options) *string { return &o.TeardownPolicy }),
	"update":                         truth(func(o *Options) *bool { return &o.Update }),
	"dry-run": func(*Options, string) error {
		return errors.New("use neardup plan, which forecasts a job without starting it")
	},
	"transform-name-mapping": func(*Options, string) error {
		return errors.New("it is for streaming pipelines, and this one is a batch job")
	},
}

// public sets whether workers have public addresses: the option's value, or its opposite if these is false.
func public(these bool) func(*Options, string) error {
	return func(o *Options, value string) error {
		yes, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("must be true or false, not %q", value)
		}
		o.NoUsePublicIPs = yes != these
		return nil
	}
}

// text sets a text, which must be one of the values listed, if any.
func text(field func(*Options) *string, of ...string) func(*Options, string) error {
	return func(o *Options, value string) error {
		if len(of) > 0 && !slices.Contains(of, value) {
			return fmt.Errorf("%q is unknown; use %s", value, or(of))
		}
		*field(o) = value
		return nil
	}
}

// or joins several words as "a, b or c".
func or(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// switches are the options that need no value on a command line.
var switches = []string{
	"detach", "execute-async", "async", "cancel-on-interrupt", "use-public-ips", "no-use-public-ips",
}

func truth(field func(*Options) *bool) func(*Options, string) error {
	return func(o *Options, value string) (err error) {
		if *field(o), err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("must be true or false, not %q", value)
		}
		return nil
	}
}

func whole(field func(*Options) *int64) func(*Options, string) error {
	return func(o *Options, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("must be a whole number of at least 1, not %q", value)
		}
		*field(o) = n
		return nil
	}
}

// Takes reports whether an option of this name exists, and whether it needs a value on a command line.
func Takes(name string) (known, value bool) {
	return named[name] != nil, !slices.Contains(switches, name)
}

// Names returns the names that Set knows.
func Names() []string { return slices.Sorted(maps.Keys(named)) }

// Pass sets an option of the SDK's runner by its name there. ok is false if this package does not know the name.
func (o *Options) Pass(name, value string) (ok bool, err error) {
	hyphened := strings.ReplaceAll(name, "_", "-")
	set := named[hyphened]
	if set == nil {
		set = passed[hyphened]
	}
	if set == nil {
		return false, nil
	}
	if err := set(o, value); err != nil {
		return true, fmt.Errorf("--%s: %w", name, err)
	}
	return true, nil
}

// Set sets an option by name, in which underscores count as hyphens.
func (o *Options) Set(name, value string) error {
	set := named[strings.ReplaceAll(name, "_", "-")]
	if set == nil {
		return fmt.Errorf("%s is unknown; use %s", name, or(Names()))
	}
	if err := set(o, value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
