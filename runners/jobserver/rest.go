package jobserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// rest is Flink's REST interface, on which its web UI is based.
type rest struct {
	url    string
	client *http.Client
}

// restPort is the default port of Flink's REST interface.
const restPort = "8081"

// restPatience is how long an answer may take.
const restPatience = 3 * time.Second

// newREST returns the interface at an address or, if that is "", at the default port of the job server's machine.
func newREST(given, jobServer string) *rest {
	address := given
	if address == "" {
		host, _, _ := net.SplitHostPort(jobServer)
		address = net.JoinHostPort(host, restPort)
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return &rest{url: strings.TrimSuffix(address, "/"), client: &http.Client{Timeout: restPatience}}
}

// get reads the JSON at a path.
func (r *rest) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
	if err != nil {
		return err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s: %s", r.url, path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// cluster is what Flink says about itself.
type cluster struct {
	Version  string            `json:"flink-version"`
	Slots    int               `json:"slots-total"`
	managers []taskManager     // those of the cluster
	settings map[string]string // the configuration by key
}

// taskManager is a task manager of the cluster; memory is in MiB.
type taskManager struct {
	ID    string `json:"id"`
	Slots int    `json:"slotsNumber"`
	Total struct {
		Managed int `json:"managedMemory"`
		Network int `json:"networkMemory"`
	} `json:"totalResource"`
}

// Minimum MiB per slot below which neardup warns about a task manager. Three million copies ran with the first
// (docs/flink.md); the second is a guess of what the buffers of a hundred steps take.
const (
	managedPerSlot = 128
	networkPerSlot = 64
)

// cluster asks Flink about itself.
func (r *rest) cluster(ctx context.Context) (*cluster, error) {
	c := &cluster{settings: map[string]string{}}
	var managers struct{ TaskManagers []taskManager }
	var settings []struct{ Key, Value string }
	err := r.get(ctx, "/overview", c)
	if err == nil && c.Version == "" {
		err = errors.New("something else answers")
	}
	if err == nil {
		err = r.get(ctx, "/taskmanagers", &managers)
	}
	if err == nil {
		err = r.get(ctx, "/jobmanager/config", &settings)
	}
	c.managers = managers.TaskManagers
	for _, s := range settings {
		c.settings[s.Key] = s.Value
	}
	return c, err
}

// onDemand reports whether Kubernetes or YARN starts task managers when a job needs them: then the present number of
// slots means nothing.
func onDemand(settings map[string]string) bool {
	target := settings["execution.target"]
	return strings.HasPrefix(target, "kubernetes-") || strings.HasPrefix(target, "yarn-")
}

// checkCluster returns an error if the cluster has fewer slots than the job needs, and warns of memory that may not
// suffice. It asks Flink's REST interface, and checks nothing if that is not given and does not answer.
func (s *Server) checkCluster(ctx context.Context) error {
	r := newREST(s.options.REST, s.options.Address)
	flink, err := r.cluster(ctx)
	switch {
	case err != nil && s.options.REST == "":
		return nil
	case err != nil:
		return fmt.Errorf("no answer from Flink at %s: %w; correct --flink-rest, or drop the flag", r.url, err)
	}
	s.rest = r
	parallelism := s.options.Parallelism
	if parallelism == 0 {
		parallelism, _ = strconv.Atoi(flink.settings["parallelism.default"]) // 0, if it is not set, counts as 1
	}
	if parallelism > flink.Slots && !onDemand(flink.settings) {
		return fmt.Errorf("the job needs %d slots, but Flink at %s has %d; use --workers %d, or raise "+
			"taskmanager.numberOfTaskSlots or the number of task managers", parallelism, r.url, flink.Slots, max(1, flink.Slots))
	}
	if s.options.Warn != nil {
		for _, warning := range tight(flink.managers, max(parallelism, 1)) {
			s.options.Warn(warning)
		}
	}
	return nil
}

// tight returns a warning, with a sufficient value, for each setting of a task manager that may be too small for a job
// of this parallelism.
func tight(managers []taskManager, parallelism int) (warnings []string) {
	for _, m := range managers {
		if need := managedPerSlot * m.Slots; m.Total.Managed < need {
			warnings = append(warnings, fmt.Sprintf(
				"task manager %s has %d MB of managed memory for %d slots; if sorts fail, set taskmanager.memory.managed.size to "+
					"%dm or more", m.ID, m.Total.Managed, m.Slots, need))
		}
		if need := networkPerSlot * min(m.Slots, parallelism); m.Total.Network < need {
			warnings = append(warnings, fmt.Sprintf(
				"task manager %s has %d MB of network memory; if --workers %d needs more buffers, set "+
					"taskmanager.memory.network.min and taskmanager.memory.network.max to %dm or more", m.ID,
				m.Total.Network, parallelism, need))
		}
	}
	return warnings
}

// tasks returns how many tasks of a job have ended, and how many there are. Flink knows the job by its name, with which
// the job server's id begins.
func (r *rest) tasks(ctx context.Context, job string) (ended, of int) {
	var all struct {
		Jobs []struct {
			Name  string
			Start int64 `json:"start-time"`
			Tasks struct{ Total, Finished int }
		}
	}
	if err := r.get(ctx, "/jobs/overview", &all); err != nil {
		return 0, 0
	}
	var latest int64
	for _, j := range all.Jobs {
		if strings.HasPrefix(job, j.Name+"_") && j.Start > latest {
			latest, ended, of = j.Start, j.Tasks.Finished, j.Tasks.Total
		}
	}
	return ended, of
}
