package local

import (
	"context"
	"errors"
	"io"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec"
)

var errState = errors.New("state and timers are not supported by the local runner")

// noState answers what the SDK may ask for and pipelines that run here do not have.
type noState struct{}

func (noState) OpenTimerWrite(context.Context, exec.StreamID, string) (io.WriteCloser, error) {
	return nil, errState
}

func (noState) OpenBagUserStateReader(context.Context, exec.StreamID, string, []byte, []byte) (io.ReadCloser, error) {
	return nil, errState
}

func (noState) OpenBagUserStateAppender(context.Context, exec.StreamID, string, []byte, []byte) (io.Writer, error) {
	return nil, errState
}

func (noState) OpenBagUserStateClearer(context.Context, exec.StreamID, string, []byte, []byte) (io.Writer, error) {
	return nil, errState
}

func (noState) OpenMultimapUserStateReader(
	context.Context, exec.StreamID, string, []byte, []byte, []byte,
) (io.ReadCloser, error) {
	return nil, errState
}

func (noState) OpenMultimapUserStateAppender(
	context.Context, exec.StreamID, string, []byte, []byte, []byte,
) (io.Writer, error) {
	return nil, errState
}

func (noState) OpenMultimapUserStateClearer(
	context.Context, exec.StreamID, string, []byte, []byte, []byte,
) (io.Writer, error) {
	return nil, errState
}

func (noState) OpenMultimapKeysUserStateReader(
	context.Context, exec.StreamID, string, []byte, []byte,
) (io.ReadCloser, error) {
	return nil, errState
}

func (noState) OpenMultimapKeysUserStateClearer(
	context.Context, exec.StreamID, string, []byte, []byte,
) (io.Writer, error) {
	return nil, errState
}

func (noState) OpenOrderedListUserStateReader(
	context.Context, exec.StreamID, string, []byte, []byte, int64, int64,
) (io.ReadCloser, error) {
	return nil, errState
}

func (noState) OpenOrderedListUserStateAppender(
	context.Context, exec.StreamID, string, []byte, []byte,
) (io.Writer, error) {
	return nil, errState
}

func (noState) OpenOrderedListUserStateClearer(
	context.Context, exec.StreamID, string, []byte, []byte, int64, int64,
) (io.Writer, error) {
	return nil, errState
}

// GetSideInputCache returns a cache that keeps nothing: side inputs are in this process already.
func (noState) GetSideInputCache() exec.SideCache { return noCache{} }

type noCache struct{}

func (noCache) QueryCache(context.Context, string, string, []byte, []byte) exec.ReStream { return nil }

func (noCache) SetCache(_ context.Context, _, _ string, _, _ []byte, input exec.ReStream) exec.ReStream {
	return input
}
