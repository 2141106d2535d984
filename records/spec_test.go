package records

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Each field of a Spec has the phase of a run that depends on it, and the same name as a flag, in JSON and among the
// defaults.
func TestSpecFields(t *testing.T) {
	names := 0
	var check func(of reflect.Type)
	check = func(of reflect.Type) {
		for field := range of.Fields() {
			name := field.Tag.Get("json")
			switch {
			case field.Anonymous:
				check(field.Type)
				continue
			case name == "-":
				continue
			case !slices.Contains([]string{"plan", "keys", "verify", "decide", "check"}, field.Tag.Get("phase")):
				t.Errorf("%s: phase %q", name, field.Tag.Get("phase"))
			case strings.ToLower(name) != name || strings.Contains(name, ",") || name == "":
				t.Errorf("%s is called %q in JSON", field.Name, name)
			}
			if usual := field.Tag.Get("default"); usual != "" && usual != "${d_"+name+"}" {
				t.Errorf("%s: its default %q is not that of Default", name, usual)
			}
			names++
		}
	}
	check(reflect.TypeFor[Spec]())
	if fields := Fields(Default()); names != len(fields) {
		t.Errorf("%d fields, %d names", names, len(fields))
	}
}

// A run.json of any version can be read: earlier ones have all flags among the parameters, and lack some.
func TestEarlierRun(t *testing.T) {
	var r Run
	if err := json.Unmarshal([]byte(`{"parameters":{"threshold":0.5,"output":"out","text":["a"]}}`), &r); err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Threshold, want.Text = .5, []string{"a"}
	if !reflect.DeepEqual(r.Parameters, want) || !strings.Contains(string(r.Running), `"output":"out"`) {
		t.Errorf("%+v, %s", r.Parameters, r.Running)
	}
	const gone = `{"parameters":{"normalize":"lower","tokens":"stem:en","skip_unknown":true,"modified_before":"","max_id_bytes":4096},"running":{"workers":2}}`
	if err := json.Unmarshal([]byte(gone), &r); err != nil || string(r.Running) != `{"skip_unknown":true,"workers":2}` || r.Parameters.Normalize != "lower,stem:en" {
		t.Errorf("%v, %s, %s", err, r.Running, r.Parameters.Normalize)
	}
	data, err := json.Marshal(Run{Parameters: want, Running: []byte(`{"output":"x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil || !reflect.DeepEqual(r.Parameters, want) || string(r.Running) != `{"output":"x"}` {
		t.Errorf("%v, %+v, %s", err, r.Parameters, r.Running)
	}
}

// A size is formatted as it is parsed.
func TestSizesAreWrittenAsRead(t *testing.T) {
	for _, size := range []Bytes{0, 1, 999, 1000, 1024, 1536, 64 << 10, 1e6, 16 << 20, 256e6, 1 << 30, 3 << 40, 1<<62 + 1} {
		var got Bytes
		if err := got.UnmarshalText([]byte(size.String())); err != nil || got != size {
			t.Errorf("%d is written %s, and read %d, %v", int64(size), size, got, err)
		}
	}
}
