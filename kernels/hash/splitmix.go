package hash

// SplitMix64 returns the generator of Steele, Lea and Flood (2014), from which constants and other numbers that depend
// on a seed are drawn.
func SplitMix64(state uint64) func() uint64 {
	return func() uint64 {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
}
