package beamcli

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/hooks"
)

// Teller returns a function that makes each worker of later jobs call hear with a text before its first step. Call
// Teller in init, in the workers' binary too.
func Teller(name string, hear func(text string) error) (tell func(text string) error) {
	hooks.RegisterHook(name, func(args []string) hooks.Hook {
		return hooks.Hook{Init: func(ctx context.Context) (context.Context, error) { return ctx, hear(args[0]) }}
	})
	return func(text string) error { return hooks.EnableHook(name, text) }
}
