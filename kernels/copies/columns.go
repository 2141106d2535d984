package copies

import "github.com/neardup/neardup/kernels/hash"

// textHash returns the hash of a text, and of what else the document has if the text is a field.
func (r *Reader) textHash(text, ends []byte) hash.Sum128 {
	sum := textHash(text, ends)
	if r.field {
		values := hash.Bytes(r.values)
		sum.Hi, sum.Lo = sum.Hi^hash.Mix(values), sum.Lo^values
	}
	return sum
}

// textHash returns the hash of a text whose columns end at ends: that of the text, if it is one column.
func textHash(text, ends []byte) hash.Sum128 {
	sum := hash.Text(text)
	if len(ends) == 0 {
		return sum
	}
	columns := hash.Text(ends)
	return hash.Sequence([]uint64{sum.Hi, sum.Lo, columns.Hi, columns.Lo})
}
