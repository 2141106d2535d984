// Package quality draws samples, and says how far a proportion measured on one, such as the recall, can be trusted.
package quality

import (
	"fmt"
	"math"
)

// A Unit is what one draw brought: so many trials, and so many of them found. A trial that two draws
// brought is half of each.
type Unit struct{ Found, Total float64 }

// Interval returns the two-sided interval of the share found of all trials of a population, of which these
// units are a simple random sample. Trials of one unit may be as alike as they like.
//
// It is that of Clopper and Pearson for the effective number of trials n/d, where d is the design effect
// (Korn and Graubard 1998): by how much the variance of the ratio Σ Found / Σ Total exceeds that of n
// independent trials. Units without trials change nothing, and without any trial it is not ok.
//
// It panics unless 0 ≤ Found ≤ Total in each unit, and 0 < confidence < 1.
func Interval(units []Unit, confidence float64) (low, high float64, ok bool) {
	var sum Unit
	squares := 0.
	for _, u := range units {
		if !(u.Found >= 0 && u.Found <= u.Total) || !(confidence > 0 && confidence < 1) {
			panic(fmt.Sprintf("quality: %v of %v at confidence %v", u.Found, u.Total, confidence))
		}
		sum.Found += u.Found
		sum.Total += u.Total
		squares += u.Total * u.Total
	}
	if sum.Total == 0 {
		return 0, 0, false
	}
	n, p := sum.Total, sum.Found/sum.Total
	variance := 0. // of Found, by the jackknife (Tukey 1958): a unit of many trials draws p towards itself
	for _, u := range units {
		if u.Total < n {
			residual := (u.Found - p*u.Total) / (1 - u.Total/n)
			variance += residual * residual
		}
	}
	// Few misses say little of how misses come together. One more, from a unit that was missed as a
	// whole, stands for what they do not say; without misses it is all there is (Kish 1965, §8.2).
	whole := squares / n
	design := max(1, (variance+whole)/(n*p*(1-p)+1))
	// A variance estimated from few units is itself uncertain.
	effective := n / design
	ratio := math.Sqrt2 * math.Erfinv(confidence) / student(confidence, max(1, n*n/squares-1))
	effective *= ratio * ratio
	low, high = clopperPearson(p, effective, confidence)
	return math.Floor(low*digits) / digits, math.Ceil(high*digits) / digits, true
}

// digits are those to which the ends are rounded, away from each other: of few effective trials an end is near 0 or 1.
const digits = 1e6

// clopperPearson returns the interval of a share p of n trials (Clopper and Pearson 1934), of which neither need
// be whole.
func clopperPearson(p, n, confidence float64) (low, high float64) {
	tail := (1 - confidence) / 2
	high = 1
	if p > 0 {
		low = betaQuantile(tail, p*n, (1-p)*n+1)
	}
	if p < 1 {
		high = betaQuantile(1-tail, p*n+1, (1-p)*n)
	}
	return low, high
}

// student returns the t that a Student variable of so many degrees of freedom exceeds neither way with
// this probability.
func student(confidence, degrees float64) float64 {
	x := betaQuantile(1-confidence, degrees/2, .5)
	return math.Sqrt(degrees * (1 - x) / x)
}

// betaQuantile returns the x with beta(x, a, b) = share.
func betaQuantile(share, a, b float64) float64 {
	low, high := 0., 1.
	for {
		x := low + (high-low)/2
		if x == low || x == high {
			return x
		}
		if beta(x, a, b) < share {
			low = x
		} else {
			high = x
		}
	}
}

// beta returns the regularised incomplete beta function I_x(a, b), for 0 < x < 1, by its continued fraction
// (DLMF 8.17.22), which converges where x is below the mean.
func beta(x, a, b float64) float64 {
	if x > (a+1)/(a+b+2) {
		return 1 - beta(1-x, b, a)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	// Lentz's method: sum is the fraction so far, c and d its two quotients.
	c, d := 1., 1/(1-(a+b)*x/(a+1))
	sum := d
	for m := 1.; ; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/(1+even*d), 1+even/c
		sum *= c * d
		d, c = 1/(1+odd*d), 1+odd/c
		sum *= c * d
		if math.Abs(c*d-1) < 1e-15 {
			return front * sum
		}
	}
}
