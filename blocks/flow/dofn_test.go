package flow

import (
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
)

type someFn struct{}

func (*someFn) ProcessElement() {}

func init() { Register[someFn]() }

// TestRegister: a worker looks a DoFn up by the name of its type.
func TestRegister(t *testing.T) {
	want := reflect.TypeFor[someFn]()
	name, _ := runtime.TypeKey(want)
	if got, _ := runtime.LookupType(name); got != want {
		t.Errorf("%s is %v", name, got)
	}
}
