package plan

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"pgregory.net/rapid"
)

// TestSizersAgreeWithTheSDK measures what the SDK encodes, followed by other bytes, and checks that truncated data is
// recognized.
func TestSizersAgreeWithTheSDK(t *testing.T) {
	number := rapid.Map(rapid.Int64(), func(n int64) *exec.FullValue { return &exec.FullValue{Elm: n} })
	text := rapid.Map(rapid.String(), func(s string) *exec.FullValue { return &exec.FullValue{Elm: s} })
	kv := rapid.Map(rapid.Int64(), func(n int64) *exec.FullValue {
		return &exec.FullValue{Elm: &exec.FullValue{Elm: n}, Elm2: &exec.FullValue{Elm: fmt.Sprint(n)}}
	})
	for _, c := range []struct {
		coder  *coder.Coder
		values *rapid.Generator[*exec.FullValue]
	}{
		{coder.NewVarInt(), number},
		{coder.NewString(), text},
		{coder.NewBytes(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) *exec.FullValue { return &exec.FullValue{Elm: b} })},
		{coder.NewBool(), rapid.Map(rapid.Bool(), func(b bool) *exec.FullValue { return &exec.FullValue{Elm: b} })},
		{coder.NewDouble(), rapid.Map(rapid.Float64(), func(f float64) *exec.FullValue { return &exec.FullValue{Elm: f} })},
		{coder.NewKV([]*coder.Coder{coder.NewVarInt(), coder.NewString()}), kv},
		{coder.NewN(coder.NewString()), rapid.OneOf(text, rapid.Just(&exec.FullValue{}))},
	} {
		t.Run(c.coder.String(), func(t *testing.T) {
			marshaller := graphx.NewCoderMarshaller()
			id, err := marshaller.Add(c.coder)
			if err != nil {
				t.Fatal(err)
			}
			g := &graph{comps: &pipepb.Components{Coders: marshaller.Build()}}
			size, encoder := g.sizer(id), exec.MakeElementEncoder(c.coder)
			rapid.Check(t, func(t *rapid.T) {
				var b bytes.Buffer
				if err := encoder.Encode(c.values.Draw(t, "value"), &b); err != nil {
					t.Fatal(err)
				}
				encoded := b.Bytes()
				behind := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "behind")
				if got := size(append(bytes.Clone(encoded), behind...)); got != len(encoded) {
					t.Fatalf("%v is said to have %d bytes, not %d", encoded, got, len(encoded))
				}
				for n := range encoded {
					if got := size(encoded[:n]); got >= 0 {
						t.Fatalf("%v, cut off after %d bytes, is said to have %d", encoded, n, got)
					}
				}
			})
		})
	}
}

// TestKeysWithoutASizeAreWrapped checks keys whose coder, or a part of it, does not tell their size.
func TestKeysWithoutASizeAreWrapped(t *testing.T) {
	g := &graph{comps: &pipepb.Components{Coders: map[string]*pipepb.Coder{}}}
	row := g.coder("beam:coder:row:v1")
	text := g.coder(coderString)
	for _, c := range []struct {
		key     string
		wrapped bool
	}{
		{text, false},
		{g.coder(coderKV, text, text), false},
		{row, true},
		{g.coder(coderKV, text, row), true},
		{g.coder(coderNullable, row), true},
		{g.coder(coderPrefixed, row), false},
	} {
		pair := g.coder(coderKV, c.key, row)
		sized, size, wrapped := g.keyed(pair)
		if wrapped != c.wrapped || wrapped != (sized != pair) || size == nil {
			t.Errorf("a key of %s: wrapped %t in %s, want %t", c.key, wrapped, sized, c.wrapped)
		}
	}
}
