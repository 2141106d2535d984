package dedup

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// Whatever field of a Spec is another, the phases that follow from it are done again, and no phase before.
func TestFingerprintsOfFields(t *testing.T) {
	r := planned(t, inputOf(t, "a.txt", "one\ntwo\n"))
	r.plan.Request.Asked = &job.Asked{Measure: job.Jaccard}
	prints := func() fingerprints {
		of, err := r.fingerprints(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return of
	}
	order := []string{"plan", "keys", "verify", "decide", "check"}
	of := map[string]string{plain: "plan", prepared: "keys", keyed: "keys", connected: "keys", verified: "verify", decided: "decide", tabled: "decide", copied: "decide"}
	r.asked = &job.Asked{Spec: records.Default()}
	before := prints()
	if len(before) != len(of) {
		t.Fatalf("fingerprints of %v", slices.Collect(maps.Keys(before)))
	}
	if after := prints(); !maps.Equal(before, after) {
		t.Error("the same is not the same")
	}
	for name, phase := range records.Phases() {
		if name == "-" {
			continue
		}
		r.asked = &job.Asked{Spec: records.Default()}
		another(t, fieldOf(reflect.ValueOf(&r.asked.Spec).Elem(), name))
		after := prints()
		for part, decided := range of {
			changes := slices.Index(order, phase) <= slices.Index(order, decided)
			if changed := before[part] != after[part]; changed != changes {
				t.Errorf("another %s, which decides %s: %s changes: %t", name, phase, part, changed)
			}
		}
	}
}

// another gives a field another value.
func another(t *testing.T, field reflect.Value) {
	t.Helper()
	switch field.Kind() {
	case reflect.String:
		field.SetString(field.String() + "x")
	case reflect.Bool:
		field.SetBool(!field.Bool())
	case reflect.Int, reflect.Int64:
		field.SetInt(field.Int() + 1)
	case reflect.Uint64:
		field.SetUint(field.Uint() + 1)
	case reflect.Float64:
		field.SetFloat(field.Float()/2 + .1)
	case reflect.Slice:
		field.Set(reflect.ValueOf([]string{"x"}))
	default:
		t.Fatalf("a field of kind %v", field.Kind())
	}
}
