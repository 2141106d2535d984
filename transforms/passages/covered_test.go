package passages

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/passage"
)

// The numbers of L-grams are held up to a bound, beyond which the run fails.
func TestDecideHoldsSoManyNumbers(t *testing.T) {
	const all = 64 * 64
	var block []byte
	for i := range all {
		block = appendOccurrence(block, passage.Place{Document: 1, Position: i}, uint64(i), nil)
	}
	block = appendOccurrence(block, passage.Place{Document: 1, Position: behind}, all, nil)
	for most, fails := range map[int64]bool{all / 8: false, all/8 - 1: true} {
		f := &coverFn{Params: Params{Length: 1, DropCovered: 1, GramShards: 1, MostNumbers: most}}
		f.StartBundle(nil)
		given := false
		once := func(to *[]byte) bool {
			defer func() { given = true }()
			*to = slices.Clone(block)
			return !given
		}
		err := f.ProcessElement(t.Context(), 0, once, func(int64, []byte) {})
		_, refused := blocks.Refusal(fmt.Sprint(err))
		if fails != refused || !fails && err != nil {
			t.Errorf("with room for %d bytes: %v", most, err)
		}
	}
}

// A set of numbers is a set, whatever their shards and their order.
func TestNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var n numbers
	want := map[uint64]bool{}
	for range 2000 {
		number := random.Uint64N(20)<<numberBits | random.Uint64N(500)
		if n.has(number) != want[number] {
			t.Fatalf("%x: has is %v", number, !want[number])
		}
		n.add(number)
		want[number] = true
	}
}
