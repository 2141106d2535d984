package codec_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/io/codec"
)

func number(text string) codec.Value {
	return codec.Value{Kind: codec.NumberValue, Text: []byte(text)}
}

// anyNumber draws either one of a few numbers, written in many ways, or one of many.
var anyNumber = rapid.Custom(func(t *rapid.T) codec.Value {
	sign := rapid.SampledFrom([]string{"", "-", "+"}).Draw(t, "sign")
	digits := rapid.OneOf(rapid.StringMatching(`[0-9]{1,3}`), rapid.StringMatching(`[0-9]{1,25}`)).Draw(t, "digits")
	fraction := rapid.SampledFrom([]string{"", ".", ".0", ".00", ".5", ".50", ".05", ".123456789012345678901"}).Draw(t, "fraction")
	exponent := rapid.SampledFrom([]string{"", "e0", "E+1", "e-1", "e-2", "e125", "e126", "e127", "e128", "e-125", "e-128", "e1000"}).Draw(t, "exponent")
	return number(sign + digits + fraction + exponent)
})

var anyValue = rapid.OneOf(anyNumber, rapid.Custom(func(t *rapid.T) codec.Value {
	few := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 'a', 0xFE, 0xFF}), 0, 4)
	return codec.Value{Kind: codec.StringValue, Text: few.Draw(t, "string")}
}), rapid.Just(codec.Value{}))

// compareValues is the definition of the order.
func compareValues(a, b codec.Value, largest bool) int {
	place := func(k codec.Kind) int { return (int(k) + 2) % 3 } // number, string, none
	if c := cmp.Compare(place(a.Kind), place(b.Kind)); c != 0 {
		return c
	}
	c := 0
	switch a.Kind {
	case codec.NumberValue:
		c = rational(a).Cmp(rational(b))
	case codec.StringValue:
		c = bytes.Compare(a.Text, b.Text)
	}
	if largest {
		return -c
	}
	return c
}

func rational(v codec.Value) *big.Rat {
	r, ok := new(big.Rat).SetString(string(v.Text))
	if !ok {
		panic(fmt.Sprintf("%q is no number", v.Text))
	}
	return r
}

// TestRanksSortAsValues checks that ranks sort as values do, and that equal numbers have equal ranks however they are
// written.
func TestRanksSortAsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyValue.Draw(t, "a"), anyValue.Draw(t, "b")
		largest := rapid.Bool().Draw(t, "largest")
		got := bytes.Compare(codec.AppendRank(nil, a, largest), codec.AppendRank([]byte("x"), b, largest)[1:])
		if want := compareValues(a, b, largest); got != want {
			t.Fatalf("%d %q against %d %q, largest first %v: %d, want %d", a.Kind, a.Text, b.Kind, b.Text, largest, got, want)
		}
	})
}

// Each value is larger than the one before, though floating point or int64 would see no difference, or the exponent
// alone is beyond the range of any number type.
func TestRanksAreExact(t *testing.T) {
	rising := []string{
		"-1e99999999999999999999", "-9007199254740993", "-9007199254740992", "-0.30000000000000004", "-0.3",
		"-1e-99999999999999999999", "-0", "1e-99999999999999999999", "1e-400", "0.1", "0.10000000000000000001",
		"9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551616",
		"1e308", "1e309", "1.5e309", "1e99999999999999999999",
	}
	for i := range rising[1:] {
		for _, largest := range []bool{false, true} {
			a, b := codec.AppendRank(nil, number(rising[i]), largest), codec.AppendRank(nil, number(rising[i+1]), largest)
			if (bytes.Compare(a, b) < 0) == largest || bytes.Equal(a, b) {
				t.Errorf("%s and %s, largest first %v: ranks %x and %x", rising[i], rising[i+1], largest, a, b)
			}
		}
	}
}

// A rank travels with each document, so it must be short however long the value is.
func TestRanksAreShort(t *testing.T) {
	long := strings.Repeat("7", 5000)
	for _, v := range []codec.Value{number(long), number("-0." + long), {Kind: codec.StringValue, Text: []byte(long)}} {
		if rank := codec.AppendRank(nil, v, false); len(rank) > 1100 {
			t.Errorf("%.5s…: a rank of %d bytes", v.Text, len(rank))
		}
	}
	if a, b := number(long), number(long+"1"); bytes.Compare(codec.AppendRank(nil, a, false), codec.AppendRank(nil, b, false)) >= 0 {
		t.Error("of long numbers the one with a digit more is not the larger")
	}
}

// TestRanksOfShortStrings compares all short strings that contain bytes of the escape sequence. No rank may be a prefix
// of another: "" and "\x00", largest first, would be in the wrong order.
func TestRanksOfShortStrings(t *testing.T) {
	all := []string{""}
	for i := 0; len(all[i]) < 3; i++ {
		for _, b := range []string{"\x00", "\x01", "a", "\xFF"} {
			all = append(all, all[i]+b)
		}
	}
	for _, largest := range []bool{false, true} {
		ranks := map[string][]byte{}
		for _, s := range all {
			ranks[s] = codec.AppendRank(nil, codec.Value{Kind: codec.StringValue, Text: []byte(s)}, largest)
		}
		for _, a := range all {
			for _, b := range all {
				want := bytes.Compare([]byte(a), []byte(b))
				if largest {
					want = -want
				}
				if got := bytes.Compare(ranks[a], ranks[b]); got != want {
					t.Errorf("%q against %q, largest first %v: %d, want %d", a, b, largest, got, want)
				}
				if a != b && bytes.HasPrefix(ranks[a], ranks[b]) {
					t.Errorf("the rank of %q begins with that of %q", a, b)
				}
			}
		}
	}
}

func TestUntyped(t *testing.T) {
	for text, want := range map[string]codec.Kind{
		"": codec.NoValue, " ": codec.StringValue, "0": codec.NumberValue, "-007.50": codec.NumberValue,
		"+5": codec.NumberValue, ".5": codec.NumberValue, "5.": codec.NumberValue, "1E-5": codec.NumberValue,
		".": codec.StringValue, "-": codec.StringValue, "1e": codec.StringValue, "1,5": codec.StringValue,
		" 1": codec.StringValue, "0x1F": codec.StringValue, "NaN": codec.StringValue, "Inf": codec.StringValue,
		"1_000": codec.StringValue, "2024-01-31": codec.StringValue, "1\n": codec.StringValue, "٣": codec.StringValue,
	} {
		if got := codec.Untyped([]byte(text)); got.Kind != want || string(got.Text) != text {
			t.Errorf("%q is %d %q, want %d", text, got.Kind, got.Text, want)
		}
	}
}
