package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/internal/beamcli"
	"github.com/neardup/neardup/internal/logging"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/jobserver"
)

// onCluster returns how to run a job on a cluster. It fails if the job server does not answer.
func onCluster(
	ctx context.Context, running job.Running, remote job.Remote, name string, shown *display,
) (job.Launch, error) {
	options, err := clusterOptions(running, remote, name)
	if err != nil {
		return nil, &job.UsageError{Reason: err}
	}
	options.Submitted = func(job string) {
		logging.Notice(fmt.Sprintf("%s runs job %s", options.Address, job))
	}
	options.Progress = func(p jobserver.Progress) {
		shown.show(sight{
			elapsed: p.Elapsed, ended: p.Ended, done: p.Tasks, of: p.Of, unit: "tasks",
			state: [2]string{fmt.Sprintf("the job on %s is %s", options.Address, p.State), p.State},
		})
	}
	options.Warn = func(warning string) { slog.Warn(warning) }
	server, err := jobserver.Connect(ctx, options)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *beam.Pipeline, _ string) (beam.PipelineResult, []records.Stage, error) {
		result, err := server.Execute(ctx, p, job.PartOf(ctx))
		if err != nil && ctx.Err() != nil && err.Error() != ctx.Err().Error() {
			slog.Error(err.Error()) // the error of an interrupted run does not show it
		}
		return result, nil, err
	}, nil
}

// parallelism returns the parallelism of a job on Flink, by whichever of its names it is given. 0: the cluster's
// setting.
func parallelism(running job.Running, remote job.Remote) int {
	if n, err := strconv.Atoi(remote.FlinkOption["parallelism"]); err == nil {
		return n
	}
	o, err := beamcli.Cluster(jobserver.Options{Parallelism: running.Workers})
	if err != nil {
		return running.Workers // clusterOptions reports the error
	}
	return o.Parallelism
}

// clusterOptions returns the flags of the cluster; Beam's own flags, after --, win.
func clusterOptions(running job.Running, remote job.Remote, name string) (o jobserver.Options, err error) {
	o = jobserver.Options{Address: remote.JobServer, Name: name, Runner: remote.FlinkOption, REST: remote.FlinkREST,
		Parallelism: running.Workers}
	if remote.Environment != "" {
		if o.Environment, err = jobserver.ParseEnvironment(remote.Environment); err != nil {
			return o, fmt.Errorf("--environment %w", err)
		}
	}
	if o, err = beamcli.Cluster(o); err != nil {
		return o, err
	}
	if o.Address == "" {
		return o, fmt.Errorf("--runner %s: name the address of its Beam job server, as in --job-server "+
			"localhost:8099", running.Runner)
	}
	if o.Environment.Kind == "" {
		if !loopback(o.Address) {
			return o, fmt.Errorf("--job-server %s is on another machine; use --environment to specify what runs the steps "+
				"there, as in --environment process:/opt/neardup/boot (docs/flink.md)", o.Address)
		}
		o.Environment.Kind = jobserver.Loopback
	}
	if o.Environment.Kind != jobserver.Loopback {
		o.Worker, err = workerBinary(o.Worker, "")
	}
	return o, err
}

// jobName names a job after its input: the first path, and the number of others.
func jobName(inputs []string) string {
	name := "neardup"
	if len(inputs) > 0 {
		name += "-" + strings.Trim(notInNames.ReplaceAllString(path.Base(filepath.ToSlash(inputs[0])), "-"), "-.")
	}
	if len(inputs) > 1 {
		name += fmt.Sprintf("-and-%d-more", len(inputs)-1)
	}
	return strings.Trim(name, "-")
}

// notInNames matches characters that a job's name must not have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// loopback reports whether an address is this machine's, judging by its host name.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// buildWorker says how to build a binary for workers.
func buildWorker(arch string) string {
	return "build a static binary for the workers' platform with: CGO_ENABLED=0 GOOS=linux GOARCH=" +
		cmp.Or(arch, "amd64") + " go build -o neardup-worker ./cmd/neardup; then add --worker-binary neardup-worker"
}

// workerBinary returns the binary to send to workers of an architecture: the one given, or this one. If arch is "", it
// is this machine's, or that of the given binary.
func workerBinary(given, arch string) (string, error) {
	if given == "" {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		if err := jobserver.CheckWorker(self, cmp.Or(arch, runtime.GOARCH)); err != nil {
			return "", fmt.Errorf("this binary cannot be sent to the workers: %w; %s", err, buildWorker(arch))
		}
		return self, nil
	}
	path, err := filepath.Abs(given)
	if err != nil {
		return "", err
	}
	if err := jobserver.CheckWorker(path, arch); err != nil {
		return "", fmt.Errorf("--worker-binary: %w; %s", err, buildWorker(arch))
	}
	return path, sameProgram(path, arch)
}

// sameProgram returns an error unless a binary is this program: workers of another would not know the steps of the
// pipeline, or run different ones.
func sameProgram(path, arch string) error {
	other, err := buildinfo.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--worker-binary %s: %w; %s", path, err, buildWorker(arch))
	}
	own, ok := debug.ReadBuildInfo()
	if ok && (other.Path != own.Path || other.Main.Version != own.Main.Version) {
		return fmt.Errorf("--worker-binary %s is %s %s, but this neardup is %s %s; %s", path, other.Path, other.Main.Version,
			own.Path, own.Main.Version, buildWorker(arch))
	}
	return nil
}
