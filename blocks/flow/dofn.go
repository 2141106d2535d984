package flow

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// Register what all DoFns read and emit: blocks, under a key or alone. Otherwise Beam calls them by reflection.
func init() {
	register.Emitter1[[]byte]()
	register.Emitter1[int64]()
	register.Emitter2[int64, []byte]()
	register.Emitter2[[]byte, []byte]()
	register.Iter1[[]byte]()
}

// Register registers a DoFn by its type, so that a worker finds it. Call it when the package is initialised.
// beam.RegisterDoFn would also register the types of parameters, for which it inspects every method; our parameters are
// bytes and numbers.
func Register[DoFn any]() { runtime.RegisterType(reflect.TypeFor[DoFn]()) }
