package jobserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/protox"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
)

// Environment says what runs the DoFns.
type Environment struct {
	Kind   string // loopback, process, external or docker
	Config string // in Beam's form: JSON for process, host:port for external, an image for docker
}

// Loopback is the environment in which this process is the worker.
const Loopback = "loopback"

// ParseEnvironment parses loopback, process:COMMAND, external:HOST:PORT or docker:IMAGE. COMMAND may be JSON, in Beam's
// form.
func ParseEnvironment(text string) (Environment, error) {
	kind, config, _ := strings.Cut(text, ":")
	e := Environment{Kind: kind, Config: config}
	var process struct{ Command string }
	switch {
	case kind == Loopback && config == "":
	case kind == "docker":
		e.Config = cmp.Or(config, core.DefaultDockerImage)
	case kind == "process" && path.IsAbs(config):
		command, err := json.Marshal(map[string]string{"command": config})
		if err != nil {
			return e, err
		}
		e.Config = string(command)
	case kind == "process" && json.Unmarshal([]byte(config), &process) == nil && process.Command != "":
	case kind == "process":
		return e, fmt.Errorf("%q: name the absolute path of the boot program on the workers' machines, as in "+
			"process:/opt/neardup/boot, or as JSON such as {\"command\":\"/opt/neardup/boot\"}", text)
	case kind == "external":
		if _, _, err := net.SplitHostPort(config); err != nil {
			return e, fmt.Errorf("%q: name the worker pool's address, as in external:localhost:50000", text)
		}
	default:
		return e, fmt.Errorf("%q is unknown; use loopback, process:COMMAND, external:HOST:PORT or docker:IMAGE", text)
	}
	return e, nil
}

// urns maps the kinds to Beam's names. Loopback is an external worker that happens to be in this process.
var urns = map[string]string{
	Loopback:   "beam:env:external:v1",
	"process":  "beam:env:process:v1",
	"external": "beam:env:external:v1",
	"docker":   "beam:env:docker:v1",
}

// model returns the environment in Beam's form.
func (e Environment) model(ctx context.Context) (*pipepb.Environment, error) {
	urn, ok := urns[e.Kind]
	if !ok {
		return nil, fmt.Errorf("environment %q is unknown; use loopback, process, external or docker", e.Kind)
	}
	return graphx.CreateEnvironment(ctx, urn, func(context.Context) string { return e.Config })
}

// start returns the environment with the files that a worker needs, and a function that stops what runs here for it.
func (e Environment) start(
	ctx context.Context, worker string,
) (environment *pipepb.Environment, stop func() error, err error) {
	stop = func() error { return nil }
	var files []*pipepb.ArtifactInformation
	if e.Kind == Loopback {
		here, err := extworker.StartLoopback(ctx, 0)
		if err != nil {
			return nil, nil, err
		}
		e.Config = here.EnvironmentConfig(ctx)
		stop = func() error { return here.Stop(ctx) }
	} else if files, err = artifacts(worker); err != nil {
		return nil, nil, err
	}
	environment, err = e.model(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	environment.Dependencies = files
	return environment, stop, nil
}

// artifacts returns what a worker needs: the binary.
func artifacts(worker string) ([]*pipepb.ArtifactInformation, error) {
	f, err := os.Open(worker)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, err
	}
	return []*pipepb.ArtifactInformation{{
		TypeUrn:     graphx.URNArtifactFileType,
		TypePayload: protox.MustEncode(&pipepb.ArtifactFilePayload{Path: worker, Sha256: hex.EncodeToString(sum.Sum(nil))}),
		RoleUrn:     graphx.URNArtifactGoWorkerRole,
	}}, nil
}
