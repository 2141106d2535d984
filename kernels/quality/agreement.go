package quality

// Agreement counts the pairs of documents that two clusterings join.
type Agreement struct {
	Both, Found, True float64 // pairs in both clusterings, in the one found, and in the true one
	All               float64 // n·(n−1)/2 of n documents
}

// Pairs returns n·(n−1)/2.
func Pairs(n int) float64 { return float64(n) * float64(n-1) / 2 }

// Precision returns Both / Found, or 1 if nothing was found.
func (a Agreement) Precision() float64 { return share(a.Both, a.Found) }

// Recall returns Both / True, or 1 if nothing is true.
func (a Agreement) Recall() float64 { return share(a.Both, a.True) }

// F1 returns the harmonic mean of precision and recall, 2·Both / (Found + True), or 1 if there are no pairs.
func (a Agreement) F1() float64 { return share(2*a.Both, a.Found+a.True) }

// AdjustedRand returns the adjusted Rand index (Hubert and Arabie 1985): 1 for equal clusterings, about 0 for random
// ones, and 1 if there is only one possible clustering.
func (a Agreement) AdjustedRand() float64 {
	expected := 0.
	if a.All > 0 {
		expected = a.Found / a.All * a.True
	}
	most := (a.Found + a.True) / 2
	if most == expected {
		return 1
	}
	return (a.Both - expected) / (most - expected)
}

// F1Interval returns the two-sided interval of F1, as Interval does for the proportion 2·Both of Found + True. A unit
// is what one draw contributed, such as the documents that pairs of either kind connect; its All is ignored.
func F1Interval(units []Agreement, confidence float64) (low, high float64, ok bool) {
	var shares []Unit
	for _, u := range units {
		shares = append(shares, Unit{Found: 2 * u.Both, Total: u.Found + u.True})
	}
	return Interval(shares, confidence)
}

// RandInterval returns the interval of the adjusted Rand index of a, whose parts are units: that of F1, adjusted for
// the pairs joined by chance, whose number is taken as known.
func (a Agreement) RandInterval(units []Agreement, confidence float64) (low, high float64, ok bool) {
	low, high, ok = F1Interval(units, confidence)
	adjusted := func(f1 float64) float64 {
		a.Both = f1 * (a.Found + a.True) / 2
		return a.AdjustedRand()
	}
	return adjusted(low), adjusted(high), ok
}

func share(part, whole float64) float64 {
	if whole == 0 {
		return 1
	}
	return part / whole
}
