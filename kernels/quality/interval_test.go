package quality

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/neardup/neardup/kernels/hash"
)

// population is documents in families. Every two documents of a family are a pair.
type population struct {
	family [][2]int // by document: start and end of its family
	missed map[[2]int]bool
	recall float64
}

// heavyTailed has families of 2 to 60 documents, most of them small and most pairs in large ones. Pairs are missed
// independently, or all of a family together.
func heavyTailed(r *rand.Rand, documents int, recall float64, together bool) *population {
	const tail, largest = 1.5, 60
	p := &population{missed: map[[2]int]bool{}}
	pairs := 0
	for at := 0; at < documents/2; at = len(p.family) {
		size := min(largest, int(2*math.Pow(1-r.Float64(), -1/tail)))
		gone := r.Float64() >= recall
		for i := range size {
			p.family = append(p.family, [2]int{at, at + size})
			for j := range i {
				if together && gone || !together && r.Float64() >= recall {
					p.missed[[2]int{at + j, at + i}] = true
				}
			}
		}
		pairs += size * (size - 1) / 2
	}
	for at := len(p.family); at < documents; at++ {
		p.family = append(p.family, [2]int{at, at + 1})
	}
	p.recall = 1 - float64(len(p.missed))/float64(pairs)
	return p
}

// draw returns the units of the documents of smallest seeded hash.
func (p *population) draw(hashes []hash.Sum128, size int, seed uint64) (units []Unit) {
	s := NewSmallest[int64](size, seed)
	for i := range p.family {
		s.Add(hashes[i], int64(i))
	}
	in := make([]bool, len(p.family))
	sets := s.Sets()
	for _, d := range sets {
		in[d.First] = true
	}
	for _, d := range sets {
		i, u := int(d.First), Unit{}
		for j := p.family[i][0]; j < p.family[i][1]; j++ {
			if i == j {
				continue
			}
			share := 1.
			if in[j] {
				share = .5
			}
			u.Total += share
			if !p.missed[[2]int{min(i, j), max(i, j)}] {
				u.Found += share
			}
		}
		units = append(units, u)
	}
	return units
}

// Over 2,000 runs for each recall, with fixed seeds, at least 94 % of the intervals cover the recall, and at 0.9 they
// are on average at most 1.3 times as wide as with a known design effect.
func TestIntervalCovers(t *testing.T) {
	const documents, drawn, runs = 3000, 250, 2000
	var hashes []hash.Sum128
	for i := range uint64(documents) {
		hashes = append(hashes, hash.Sequence([]uint64{i}))
	}
	for _, together := range []bool{false, true} {
		for _, recall := range []float64{.9, .99, 1} {
			t.Run(fmt.Sprintf("recall %v, missed together %v", recall, together), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(1, 2))
				var p *population
				covered, width, squared, binomial := 0, 0., 0., 0.
				var trials, shares [runs]float64
				for run := range runs {
					if run%20 == 0 {
						p = heavyTailed(r, documents, recall, together)
					}
					units := p.draw(hashes, drawn, uint64(run))
					low, high, _ := Interval(units, .95)
					if low <= p.recall && p.recall <= high {
						covered++
					}
					width += (high - low) / runs
					var sum Unit
					for _, u := range units {
						sum.Found += u.Found
						sum.Total += u.Total
					}
					trials[run], shares[run] = sum.Total, sum.Found/sum.Total
					squared += (shares[run] - p.recall) * (shares[run] - p.recall)
					binomial += p.recall * (1 - p.recall) / sum.Total
				}
				design := 1.
				if binomial > 0 {
					design = max(1, squared/binomial)
				}
				oracle := 0.
				for run := range runs {
					low, high := clopperPearson(shares[run], trials[run]/design, .95)
					oracle += (high - low) / runs
				}
				t.Logf("%.3f cover, %.4f wide; the oracle's %.4f, with a design effect of %.1f", float64(covered)/runs, width, oracle, design)
				if covered < .94*runs {
					t.Errorf("%d of %d intervals cover", covered, runs)
				}
				if recall == .9 && width > 1.3*oracle {
					t.Errorf("%.4f wide, %.4f with the design effect known", width, oracle)
				}
			})
		}
	}
}

// Independent pairs have the interval of Clopper and Pearson, slightly wider because of the estimated design effect.
// Pairs in equal groups, all found or none, have the interval for this many groups.
func TestIntervalOfGroups(t *testing.T) {
	for _, size := range []float64{1, 10} {
		var units []Unit
		for i := range 1000 {
			u := Unit{Total: size}
			if i%20 > 0 {
				u.Found = size
			}
			units = append(units, u, Unit{})
		}
		low, high, ok := Interval(units, .95)
		from, to := clopperPearson(.95, 1000, .95)
		if !ok || low > from || high < to || high-low > 1.02*(to-from) {
			t.Errorf("groups of %v: %v to %v, want %v to %v", size, low, high, from, to)
		}
	}
}

func TestIntervalOfNothing(t *testing.T) {
	for _, units := range [][]Unit{nil, {{}}} {
		if low, high, ok := Interval(units, .95); ok {
			t.Errorf("%v: %v to %v", units, low, high)
		}
	}
}

// Intervals contain the observed proportion and stay within 0 and 1, even for one unit.
func TestIntervalHoldsTheShare(t *testing.T) {
	for _, units := range [][]Unit{{{0, 1}}, {{1, 1}}, {{.5, .5}, {0, 300}}, {{3, 3}, {500, 501}}, {{0, 7}, {0, 2}}, {{1e6, 1e6}, {1e6, 1e6 + 1}}} {
		found, total := 0., 0.
		for _, u := range units {
			found, total = found+u.Found, total+u.Total
		}
		low, high, ok := Interval(units, .95)
		if !ok || !(0 <= low && low <= found/total && found/total <= high && high <= 1 && low < high) {
			t.Errorf("%v: %v to %v", units, low, high)
		}
	}
}

// Closed forms: I_x(a, 1) = x^a, I_x(1, b) = 1−(1−x)^b, I_x(½, ½) = (2/π) asin √x, and for whole a and b
// the tail of the binomial distribution.
func TestBeta(t *testing.T) {
	check := func(x, a, b, want float64) {
		t.Helper()
		if got := beta(x, a, b); math.Abs(got-want) > 1e-11 {
			t.Errorf("I_%v(%v, %v) = %v, want %v", x, a, b, got, want)
		}
	}
	for _, x := range []float64{1e-6, .01, .3, .5, .77, .999} {
		for _, n := range []float64{.2, 1, 3.5, 40, 700} {
			check(x, n, 1, math.Pow(x, n))
			check(x, 1, n, -math.Expm1(n*math.Log1p(-x)))
		}
		check(x, .5, .5, 2/math.Pi*math.Asin(math.Sqrt(x)))
		const n = 30
		tail, term := 0., math.Pow(1-x, n) // of k successes in n
		for k := range n + 1 {
			if k >= 12 {
				tail += term
			}
			term *= float64(n-k) / float64(k+1) * x / (1 - x)
		}
		check(x, 12, n-12+1, tail)
	}
}

// Tables of Student's distribution.
func TestStudent(t *testing.T) {
	for degrees, want := range map[float64]float64{1: 12.7062047, 2: 4.3026527, 10: 2.2281389, 30: 2.0422725, 1000: 1.9623391} {
		if got := student(.95, degrees); math.Abs(got-want) > 1e-6 {
			t.Errorf("%v degrees: %v, want %v", degrees, got, want)
		}
	}
}

// The SciPy values of TestUpperBound, by the other tail.
func TestClopperPearson(t *testing.T) {
	for _, c := range []struct{ misses, total, want float64 }{{0, 100, 0.029513049607039925}, {1, 1000, 0.004734993575499777}, {500, 1000, 0.5264822687643087}} {
		if _, high := clopperPearson(c.misses/c.total, c.total, .9); math.Abs(high-c.want) > 1e-10 {
			t.Errorf("%v of %v: %v, want %v", c.misses, c.total, high, c.want)
		}
	}
}
