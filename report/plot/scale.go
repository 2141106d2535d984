package plot

import (
	"math"
	"strconv"
	"strings"
)

// scale maps values to fractions of an axis.
type scale struct {
	log    bool
	lo, hi float64 // decimal logarithms if log
	ticks  []tick
}

type tick struct {
	at    float64 // fraction of the axis
	label string
}

// Bounds of values that have a place, which keep all sums finite.
const (
	largest  = 1e300
	smallest = 1e-300 // for logarithms
)

// newScale returns a scale with room for values and about count ticks; with bars, it has room for their lower end, too.
func newScale(axis Axis, values []float64, count int, bars bool) scale {
	s := scale{log: axis.Log, lo: math.Inf(1), hi: math.Inf(-1)}
	include := func(v float64) {
		if s.has(v) {
			s.lo, s.hi = min(s.lo, v), max(s.hi, v)
		}
	}
	for _, v := range values {
		include(v)
	}
	if axis.To > axis.From {
		include(axis.From)
		include(axis.To)
	}
	if s.log {
		s.decades(count, bars)
		return s
	}
	if bars {
		include(0)
	}
	s.steps(count)
	return s
}

// has reports whether v has a place on an axis of this kind.
func (s scale) has(v float64) bool {
	return math.Abs(v) <= largest && (!s.log || v >= smallest) // false if v is NaN
}

// place returns the place of v on the scale, from 0, the lower end, to 1. On a logarithmic scale, values that are not
// positive have no place.
func (s scale) place(v float64) (at float64, ok bool) {
	if !s.has(v) {
		return 0, false
	}
	if s.log {
		v = math.Log10(v)
	}
	return min(max((v-s.lo)/(s.hi-s.lo), 0), 1), true
}

// decades rounds the scale to powers of ten. If the smallest bar is a power itself, the scale begins one power below,
// so that the bar is visible.
func (s *scale) decades(count int, bars bool) {
	if s.lo > s.hi {
		s.lo, s.hi = 1, 10
	}
	lo, hi := exponent(s.lo), exponent(s.hi)
	if bars && s.lo == power(lo) {
		lo--
	}
	if s.hi > power(hi) || hi == lo {
		hi++
	}
	s.lo, s.hi = float64(lo), float64(hi)
	every := (hi-lo)/(count+1) + 1
	for e := lo; e <= hi; e += every {
		s.ticks = append(s.ticks, tick{float64(e-lo) / (s.hi - s.lo), written(power(e), e)})
	}
}

// steps rounds the scale to steps of 1, 2 or 5 times a power of ten.
func (s *scale) steps(count int) {
	if s.lo > s.hi {
		s.lo, s.hi = 0, 1
	}
	// A scale of a single value gets a width, and one of almost equal values gets steps that are still distinct.
	if most := max(math.Abs(s.lo), math.Abs(s.hi)); s.hi-s.lo < max(1e-9*most, smallest) {
		half := max(most/2, .5)
		s.lo, s.hi = s.lo-half, s.hi+half
	}
	least := (s.hi - s.lo) / float64(count)
	e := exponent(least)
	step := power(e)
	for _, times := range []float64{2, 5, 10} {
		if step >= least {
			break
		}
		step = float64(times * power(e))
	}
	first, last := int64(math.Floor(s.lo/step)), int64(math.Ceil(s.hi/step))
	s.lo, s.hi = float64(float64(first)*step), float64(float64(last)*step)
	for i := first; i <= last; i++ {
		v := float64(float64(i) * step)
		s.ticks = append(s.ticks, tick{(v - s.lo) / (s.hi - s.lo), written(v, exponent(step))})
	}
}

// written returns v as a label of an axis whose ticks are multiples of 10^e.
func written(v float64, e int) string {
	switch magnitude := exponent(v); {
	case v == 0:
		return "0"
	case magnitude < 10 && e >= -6:
		return grouped(strconv.FormatFloat(v, 'f', max(-e, 0), 64))
	default:
		digits, of, _ := strings.Cut(strconv.FormatFloat(v, 'e', max(magnitude-e, 0), 64), "e")
		n, _ := strconv.Atoi(of)
		return digits + "e" + strconv.Itoa(n)
	}
}

// grouped inserts commas between the thousands of a number.
func grouped(number string) string {
	whole, _, _ := strings.Cut(number, ".")
	for at := len(whole) - 3; at > 0 && number[at-1] != '-'; at -= 3 {
		number = number[:at] + "," + number[at:]
	}
	return number
}

// exponent returns e with 10^e ≤ |v| < 10^(e+1), or 0 for 0. It reads v's digits, because a logarithm may be rounded.
func exponent(v float64) int {
	_, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	n, _ := strconv.Atoi(e)
	return n
}

// power returns the number nearest to 10^e.
func power(e int) float64 {
	v, _ := strconv.ParseFloat("1e"+strconv.Itoa(e), 64)
	return v
}
