// Package quality draws samples, and computes how reliable a proportion measured on one, such as the recall, is.
package quality

import (
	"fmt"
	"math"
)

// A Unit is what one draw contributed: the number of trials, and of those found. A trial that two draws contributed
// counts half in each.
type Unit struct{ Found, Total float64 }

// Interval returns the two-sided confidence interval of the proportion found among all trials of a population, of which
// the units are a simple random sample. The trials of one unit may be correlated in any way.
//
// It is the interval of Clopper and Pearson for the effective number of trials n/d. The design effect d (Korn and
// Graubard 1998) is the factor by which the variance of the ratio Σ Found / Σ Total exceeds that for n independent
// trials. Units without trials change nothing; ok is false if there are no trials.
//
// Interval panics unless 0 ≤ Found ≤ Total in each unit, and 0 < confidence < 1.
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
	variance := 0. // of Found, by the jackknife (Tukey 1958): a unit of many trials pulls p towards itself
	for _, u := range units {
		if u.Total < n {
			residual := (u.Found - p*u.Total) / (1 - u.Total/n)
			variance += residual * residual
		}
	}
	// A few misses say little about how misses cluster. Add one, from a unit that was missed as a whole, to account for
	// that; without misses it is the only one (Kish 1965, §8.2).
	whole := squares / n
	design := max(1, (variance+whole)/(n*p*(1-p)+1))
	// A variance estimated from few units is itself uncertain.
	effective := n / design
	ratio := math.Sqrt2 * math.Erfinv(confidence) / student(confidence, max(1, n*n/squares-1))
	effective *= ratio * ratio
	low, high = clopperPearson(p, effective, confidence)
	return math.Floor(low*digits) / digits, math.Ceil(high*digits) / digits, true
}

// digits is the inverse of the unit to which bounds are rounded, outwards: for few effective trials a bound is near 0
// or 1.
const digits = 1e6

// clopperPearson returns the interval for a proportion p of n trials (Clopper and Pearson 1934). Neither n nor p·n need
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

// student returns the t that the absolute value of a Student variable with these degrees of freedom does not exceed
// with this probability.
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
	// Lentz's method: sum is the fraction so far, and c and d are its two quotients.
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
