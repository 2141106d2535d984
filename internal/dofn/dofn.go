// Package dofn registers DoFns.
package dofn

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
)

// Register registers a DoFn by its type, so that a worker finds it. Call it when
// the package is initialised. beam.RegisterDoFn registers the types of parameters,
// too, and looks at every method for that; our parameters are bytes and numbers.
func Register[DoFn any]() { runtime.RegisterType(reflect.TypeFor[DoFn]()) }
