package blocks

import "encoding/binary"

// fields reads the fields of a value from a decoder or, without one, appends them: one list of its fields serves both.
type fields struct {
	from *Decoder
	to   []byte
}

// appended appends the value whose fields list lists.
func appended[V any](block []byte, v *V, list func(*fields, *V)) []byte {
	f := fields{to: block}
	list(&f, v)
	return f.to
}

// read reads the value whose fields list lists.
func read[V any](d *Decoder, list func(*fields, *V)) (v V) {
	list(&fields{from: d}, &v)
	return v
}

// kind is a type of fields. read is given the value that the field has.
type kind[V any] struct {
	write func(dst []byte, v V) []byte
	read  func(d *Decoder, before V) V
}

// The types of fields. Parquet requires a text to be valid UTF-8, which ids and file names need not be.
var (
	text = kind[string]{
		func(dst []byte, s string) []byte { return AppendBytes(dst, ValidText(s)) },
		func(d *Decoder, before string) string {
			if text := d.Bytes(); string(text) != before {
				return string(text)
			}
			return before
		},
	}
	number = kind[int64]{
		func(dst []byte, n int64) []byte { return AppendUint64(dst, uint64(n)) },
		func(d *Decoder, _ int64) int64 { return int64(d.Uint64()) },
	}
	size = kind[int32]{
		func(dst []byte, n int32) []byte { return AppendUint32(dst, uint32(n)) },
		func(d *Decoder, _ int32) int32 { return int32(d.Uint32()) },
	}
	count = kind[int]{
		func(dst []byte, n int) []byte { return binary.AppendUvarint(dst, uint64(n)) },
		func(d *Decoder, _ int) int { return int(d.Uvarint()) },
	}
	float  = kind[float64]{AppendFloat64, plain((*Decoder).Float64)}
	flag   = kind[bool]{appendBool, plain((*Decoder).bool)}
	key    = kind[Key]{AppendKey, plain((*Decoder).Key)}
	copied = kind[[]byte]{AppendBytes[[]byte], func(d *Decoder, _ []byte) []byte { return append([]byte{}, d.Bytes()...) }}

	texts, numbers, floats      = list(text), list(number), list(float)
	optionalText, optionalFloat = optional(text), optional(float)
	optionalFlag, optionalBytes = optional(flag), optional(copied)
)

// plain returns a read that ignores the value before.
func plain[V any](read func(*Decoder) V) func(*Decoder, V) V {
	return func(d *Decoder, _ V) V { return read(d) }
}

// each reads or appends fields.
func (k *kind[V]) each(f *fields, values ...*V) {
	for _, v := range values {
		if f.from != nil {
			*v = k.read(f.from, *v)
		} else {
			f.to = k.write(f.to, *v)
		}
	}
}

// optional returns the type of fields that may be nil.
func optional[V any](k kind[V]) kind[*V] {
	return kind[*V]{
		func(dst []byte, v *V) []byte {
			if v == nil {
				return appendBool(dst, false)
			}
			return k.write(appendBool(dst, true), *v)
		},
		func(d *Decoder, before *V) *V {
			if !d.bool() {
				return nil
			}
			if before == nil {
				before = new(V)
			}
			return new(k.read(d, *before))
		},
	}
}

// list returns the type of lists, which keep whether they are nil.
func list[V any](k kind[V]) kind[[]V] {
	return kind[[]V]{
		func(dst []byte, values []V) []byte {
			if values == nil {
				return binary.AppendUvarint(dst, 0)
			}
			dst = binary.AppendUvarint(dst, uint64(len(values))+1)
			for _, v := range values {
				dst = k.write(dst, v)
			}
			return dst
		},
		func(d *Decoder, _ []V) []V {
			n := d.Uvarint()
			if n == 0 {
				return nil
			}
			values := []V{}
			for ; n > 1 && d.Err() == nil; n-- {
				values = append(values, k.read(d, *new(V)))
			}
			return values
		},
	}
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func (d *Decoder) bool() bool {
	b := d.Fixed(1)
	return b != nil && b[0] != 0
}
