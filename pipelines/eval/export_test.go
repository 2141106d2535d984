package eval

// SetMostPairs sets the maximum number of pairs of a sample, and returns a function that restores the former number.
func SetMostPairs(n int) (restore func()) {
	former := mostPairs
	mostPairs = n
	return func() { mostPairs = former }
}
