package copies

import "github.com/neardup/neardup/kernels/hash"

// textHash returns the hash of a text and, if the text is a field, of the document's other values.
func (r *Reader) textHash(text, ends []byte) hash.Sum128 {
	sum := textHash(text, ends)
	if r.field {
		values := hash.Bytes(r.values)
		sum.Hi, sum.Lo = sum.Hi^hash.Mix(values), sum.Lo^values
	}
	return sum
}

// textHash returns the hash of a text whose columns end at ends. With a single column it is the hash of the text alone.
func textHash(text, ends []byte) hash.Sum128 {
	sum := hash.Text(text)
	if len(ends) == 0 {
		return sum
	}
	columns := hash.Text(ends)
	return hash.Sequence([]uint64{sum.Hi, sum.Lo, columns.Hi, columns.Lo})
}
