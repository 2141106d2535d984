package quality

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// upperBound returns the one-sided bound of Clopper and Pearson: the largest rate of misses at which seeing this few of
// them in total trials has a probability of at least 1 − confidence.
func upperBound(misses, total int, confidence float64) float64 {
	if misses == total {
		return 1
	}
	return betaQuantile(confidence, float64(misses+1), float64(total-misses))
}

// Values of SciPy 1.17.1: scipy.stats.beta.ppf(confidence, misses+1, total-misses).
func TestUpperBound(t *testing.T) {
	for _, c := range []struct {
		misses, total    int
		confidence, want float64
	}{
		{0, 1, 0.95, 0.95},
		{0, 100, 0.95, 0.029513049607039925},
		{0, 3000, 0.95, 0.0009980790119965865},
		{0, 1000000000, 0.999, 6.907755255123594e-09},
		{1, 2, 0.95, 0.9746794344808963},
		{1, 1000, 0.95, 0.004734993575499777},
		{3, 50, 0.99, 0.18720925616529482},
		{49, 50, 0.95, 0.9989746601327679},
		{5, 10, 0.5, 0.5483058437763368},
		{500, 1000, 0.95, 0.5264822687643087},
		{17, 326878, 0.95, 7.800738678060703e-05},
		{123456, 1000000, 0.999, 0.12447558602318878},
		{2, 1000000, 0.95, 6.295780099210489e-06},
		// By definition, where the beta distribution degenerates.
		{0, 0, 0.95, 1},
		{1, 1, 0.9, 1},
		{50, 50, 0.95, 1},
	} {
		if got := upperBound(c.misses, c.total, c.confidence); math.Abs(got/c.want-1) > 1e-6 {
			t.Errorf("upperBound(%d, %d, %v) = %v, want %v", c.misses, c.total, c.confidence, got, c.want)
		}
	}
}

// At the bound p, seeing this few misses has probability 1 − confidence: the definition, with the binomial distribution
// built up trial by trial.
func TestUpperBoundSolvesTheTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 200).Draw(t, "total")
		misses := rapid.IntRange(0, total-1).Draw(t, "misses")
		confidence := rapid.Float64Range(.001, .999).Draw(t, "confidence")
		p := upperBound(misses, total, confidence)
		dist := make([]float64, total+1)
		dist[0] = 1
		for range total {
			for i := total; i > 0; i-- {
				dist[i] = dist[i]*(1-p) + dist[i-1]*p
			}
			dist[0] *= 1 - p
		}
		tail := 0.
		for _, d := range dist[:misses+1] {
			tail += d
		}
		if math.Abs(tail-(1-confidence)) > 1e-10 {
			t.Fatalf("bound %v: tail %v, want %v", p, tail, 1-confidence)
		}
	})
}

func TestPanics(t *testing.T) {
	for _, c := range []struct {
		count, total int
		confidence   float64
	}{{-1, 3, .9}, {4, 3, .9}, {1, 3, 0}, {1, 3, 1}, {1, 3, math.NaN()}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Interval of %d of %d at %v did not panic", c.count, c.total, c.confidence)
				}
			}()
			Interval([]Unit{{float64(c.count), float64(c.total)}}, c.confidence)
		}()
	}
}
