package job

// Runner names a Beam runner.
type Runner string

// Names of runners.
const (
	Local    Runner = "local"
	Flink    Runner = "flink"
	spark    Runner = "spark"
	dataflow Runner = "dataflow"
	portable Runner = "portable" // any runner behind a job server
	Prism    Runner = "prism"
	Direct   Runner = "direct"
)

// Traits are the differences between runners that matter to jobs. None of them may affect output bytes.
type Traits struct {
	// Class is the name of the runner's class in Beam, which schedulers use.
	Class string
	// OnCluster: the job runs on other machines, or may.
	OnCluster bool
	// Bounded: the runner keeps within --memory and --workers, and spills to a disk of this machine.
	Bounded bool
	// Stops: the runner ends by itself when the run is interrupted.
	Stops bool
	// JobServer: jobs are sent to a Beam job server.
	JobServer bool
	// REST: the cluster reports progress on a REST interface.
	REST bool
	// OnlyBuckets: workers reach only gs://, and the service has its own folder for temporary files.
	OnlyBuckets bool
	// WorkerMemory says where to set the memory of workers, if not with --memory.
	WorkerMemory string
	// Together: all collections of a read must go through one GroupByKey.
	Together bool
	// GroupBytes is the maximum size of a group; 0: no limit.
	GroupBytes int64
	// TaskBytes is the maximum that one task may send; 0: no limit.
	TaskBytes int64
}

const onCluster = "on a cluster, set the memory where you start the workers (docs/flink.md)"

// runners has a row for each runner, in the order in which they are listed.
var runners = []struct {
	name Runner
	Traits
}{
	{Local, Traits{Class: "DirectRunner", Bounded: true, Stops: true}},
	{Flink, Traits{
		Class: "FlinkRunner", OnCluster: true, Stops: true, JobServer: true, REST: true,
		WorkerMemory: onCluster, Together: true,
		// Flink holds all values of a key as one record in the buffer of a sort: 1.4 MB with 128 MB of managed memory per
		// slot.
		GroupBytes: 512 << 10,
		// Beam's runner for Flink holds up to 100 messages of 4 MB of what a task sends until its bundle ends, and a task is
		// one bundle.
		TaskBytes: 400 << 20,
	}},
	{spark, Traits{Class: "SparkRunner", OnCluster: true, Stops: true, JobServer: true, WorkerMemory: onCluster}},
	{dataflow, Traits{
		Class: "DataflowRunner", OnCluster: true, Stops: true, OnlyBuckets: true,
		WorkerMemory: "use --worker-machine-type, as in n2-highmem-8, or fewer threads (docs/dataflow.md)",
	}},
	{portable, Traits{Class: "PortableRunner", OnCluster: true, Stops: true, JobServer: true, WorkerMemory: onCluster}},
	{Prism, Traits{Class: "PrismRunner"}},
	{Direct, Traits{}},
}

// UnmarshalText accepts the name of a runner, or of its class.
func (r *Runner) UnmarshalText(text []byte) error {
	*r = Runner(text)
	for _, known := range runners {
		if known.Class == string(text) {
			*r = known.name
		}
	}
	return nil
}

// Traits returns the traits of the runner.
func (r Runner) Traits() Traits {
	for _, known := range runners {
		if known.name == r {
			return known.Traits
		}
	}
	return Traits{}
}

// CheckHere returns a *UsageError for a runner on other machines, if a command must run on this one.
func (r Runner) CheckHere(command string) error {
	if r.Traits().OnCluster {
		return Usage("--runner %s: %s runs only on the local machine; drop this flag", r, command)
	}
	return nil
}

// CheckAnswers is CheckHere for a command that may also run on a cluster whose job server answers this process, and
// whose workers reach temp.
func (r Runner) CheckAnswers(command, temp string) error {
	switch runner := r.Traits(); {
	case !runner.JobServer:
		return r.CheckHere(command)
	case temp == "":
		return Usage("--runner %s: add --temp-dir with a folder that this machine and all workers reach", r)
	}
	return nil
}

func runnerNames() (names []Runner) {
	for _, known := range runners {
		names = append(names, known.name)
	}
	return names
}
