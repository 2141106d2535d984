package job

import "testing"

// A runner is accepted by its own name and by that of Beam's class; other names have no traits.
func TestRunners(t *testing.T) {
	for _, known := range runners {
		for _, name := range []string{string(known.name), known.Class} {
			var r Runner
			if err := r.UnmarshalText([]byte(name)); err != nil || name != "" && r != known.name {
				t.Errorf("%s is read as %s, %v", name, r, err)
			}
		}
		if got := known.name.Traits(); got != known.Traits {
			t.Errorf("%s: %+v, want %+v", known.name, got, known.Traits)
		}
		if known.OnCluster == (known.WorkerMemory == "") {
			t.Errorf("%s: on a cluster: %t, and the memory of workers: %q", known.name, known.OnCluster, known.WorkerMemory)
		}
		if err := known.name.CheckHere("query"); (err != nil) != known.OnCluster {
			t.Errorf("%s on this machine: %v", known.name, err)
		}
	}
	if got := Runner("unheard-of").Traits(); got != (Traits{}) {
		t.Errorf("%+v", got)
	}
}
