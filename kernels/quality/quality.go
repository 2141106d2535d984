// Package quality says how far a measured proportion, such as the recall of a
// sample, can be trusted.
package quality

import "fmt"

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
	return betaQuantile(confidence, float64(misses+1), float64(total-misses))
}

func check(count, total int, confidence float64) {
	if count < 0 || count > total || !(confidence > 0 && confidence < 1) {
		panic(fmt.Sprintf("quality: %d of %d at confidence %v", count, total, confidence))
	}
}
