package compare

// Hold sets how many pairs of a method are held.
func (j *Job) Hold(most int) { j.most = most }
