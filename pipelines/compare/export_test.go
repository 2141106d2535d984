package compare

// Hold sets the maximum number of pairs of a method.
func (j *Job) Hold(most int) { j.most = most }
