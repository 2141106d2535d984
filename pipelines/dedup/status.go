package dedup

// Status is the exit status.
func (*TooManyUnreadableError) Status() int { return 4 }
