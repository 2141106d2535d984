package eval

// SetMostPairs sets the most pairs of a sample, and returns what sets the former number again.
func SetMostPairs(n int) (restore func()) {
	former := mostPairs
	mostPairs = n
	return func() { mostPairs = former }
}
