// Package quality says how far a measured proportion, such as the recall of a
// sample, can be trusted.
package quality

import (
	"fmt"
	"math"
)

// UpperBound returns the one-sided Clopper-Pearson bound: the largest rate of
// misses under which seeing so few of them in total trials has a probability
// of at least 1 − confidence. The true rate lies above it in at most that
// share of experiments, whatever it is. Without trials, or with nothing but
// misses, it is 1.
//
// It panics unless 0 ≤ misses ≤ total and 0 < confidence < 1.
func UpperBound(misses, total int, confidence float64) float64 {
	check(misses, total, confidence)
	if misses == total {
		return 1
	}
	n, k := float64(total), float64(misses)
	// The logarithm of n over k, summed up: a difference of three Lgamma would
	// lose six digits at 10^9 trials.
	ways := 0.
	for i := range min(misses, total-misses) {
		ways += math.Log((n - float64(i)) / float64(i+1))
	}
	// atMost is the probability of k misses or fewer at rate p. It is summed
	// from k away from the mode n·p, where the terms shrink.
	atMost := func(p float64) float64 {
		first := math.Exp(ways + k*math.Log(p) + (n-k)*math.Log1p(-p))
		odds := p / (1 - p)
		sum, term := 0., first
		if k < n*p {
			for i := misses; term > sum*1e-17; i-- {
				sum += term
				term *= float64(i) / float64(total-i+1) / odds
			}
			return sum
		}
		for i := misses; term > sum*1e-17; i++ {
			term *= float64(total-i) / float64(i+1) * odds
			sum += term
		}
		return 1 - sum
	}
	low, high := 0., 1.
	for {
		p := low + (high-low)/2
		if p == low || p == high {
			return high
		}
		if atMost(p) > 1-confidence {
			low = p
		} else {
			high = p
		}
	}
}

func check(count, total int, confidence float64) {
	if count < 0 || count > total || !(confidence > 0 && confidence < 1) {
		panic(fmt.Sprintf("quality: %d of %d at confidence %v", count, total, confidence))
	}
}
