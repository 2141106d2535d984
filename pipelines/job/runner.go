package job

// Runner is what runs a pipeline.
type Runner string

// The runners.
const (
	Local    Runner = "local"
	Flink    Runner = "flink"
	spark    Runner = "spark"
	dataflow Runner = "dataflow"
	portable Runner = "portable" // whatever is behind a job server
	Prism    Runner = "prism"
	Direct   Runner = "direct"
)

// Traits are what runners differ in, as far as jobs ask. Nothing that decides output bytes asks.
type Traits struct {
	// Class is the name of Beam's class, which schedulers send.
	Class string
	// OnCluster: the job runs on other machines than this one, or might.
	OnCluster bool
	// Bounded: it keeps to --memory and --workers, and spills to a disk of this machine.
	Bounded bool
	// Stops: it ends by itself when the run is interrupted.
	Stops bool
	// JobServer: jobs are sent to a Beam job server.
	JobServer bool
	// REST: the cluster tells by a REST interface what it does.
	REST bool
	// OnlyBuckets: workers reach gs:// alone, and the service has its own folder for temporary files.
	OnlyBuckets bool
	// WorkerMemory says where the memory of workers is set, if that is not --memory.
	WorkerMemory string
	// Together: what one read leaves must be grouped by one GroupByKey.
	Together bool
	// GroupBytes is the most that a group may have; 0 is no bound.
	GroupBytes int64
	// TaskBytes is the most that one task may send; 0 is no bound.
	TaskBytes int64
}

const onCluster = "on a cluster it is set where the workers start (docs/flink.md)"

// runners has a row for each, in the order in which they are listed.
var runners = []struct {
	name Runner
	Traits
}{
	{Local, Traits{Class: "DirectRunner", Bounded: true, Stops: true}},
	{Flink, Traits{
		Class: "FlinkRunner", OnCluster: true, Stops: true, JobServer: true, REST: true, WorkerMemory: onCluster, Together: true,
		// Flink makes one record of all values that a key has in the buffer of a sort: 1.4 MB with 128 MB of managed
		// memory a slot.
		GroupBytes: 512 << 10,
		// Beam's runner holds 100 messages of 4 MB of what a task sends until its bundle ends, and a task is one bundle.
		TaskBytes: 400 << 20,
	}},
	{spark, Traits{Class: "SparkRunner", OnCluster: true, Stops: true, JobServer: true, WorkerMemory: onCluster}},
	{dataflow, Traits{
		Class: "DataflowRunner", OnCluster: true, Stops: true, OnlyBuckets: true,
		WorkerMemory: "give --worker-machine-type, as in n2-highmem-8, or fewer threads (docs/dataflow.md)",
	}},
	{portable, Traits{Class: "PortableRunner", OnCluster: true, Stops: true, JobServer: true, WorkerMemory: onCluster}},
	{Prism, Traits{Class: "PrismRunner"}},
	{Direct, Traits{}},
}

// UnmarshalText reads a name, or that of a class.
func (r *Runner) UnmarshalText(text []byte) error {
	*r = Runner(text)
	for _, known := range runners {
		if known.Class == string(text) {
			*r = known.name
		}
	}
	return nil
}

// Traits are those of the runner.
func (r Runner) Traits() Traits {
	for _, known := range runners {
		if known.name == r {
			return known.Traits
		}
	}
	return Traits{}
}

// CheckHere returns a *UsageError for a runner that is not on this machine, where a command must be.
func (r Runner) CheckHere(command string) error {
	if r.Traits().OnCluster {
		return Usage("--runner %s: %s runs on this machine; leave it out", r, command)
	}
	return nil
}

// CheckAnswers is CheckHere of a command that may also run on a cluster whose job server answers this process, and
// whose workers reach temp.
func (r Runner) CheckAnswers(command, temp string) error {
	switch runner := r.Traits(); {
	case !runner.JobServer:
		return r.CheckHere(command)
	case temp == "":
		return Usage("--runner %s: give --temp-dir, a folder that this machine and all workers reach", r)
	}
	return nil
}

func runnerNames() (names []Runner) {
	for _, known := range runners {
		names = append(names, known.name)
	}
	return names
}
