package plan

import "encoding/binary"

// Coders of the Beam model.
const (
	coderBytes    = "beam:coder:bytes:v1"
	coderString   = "beam:coder:string_utf8:v1"
	coderBool     = "beam:coder:bool:v1"
	coderVarInt   = "beam:coder:varint:v1"
	coderDouble   = "beam:coder:double:v1"
	coderPrefixed = "beam:coder:length_prefix:v1"
	coderKV       = "beam:coder:kv:v1"
	coderNullable = "beam:coder:nullable:v1"
	coderIterable = "beam:coder:iterable:v1"
	coderWindowed = "beam:coder:windowed_value:v1"
	coderInterval = "beam:coder:interval_window:v1"
)

// sizer returns the size of the encoded value that b begins with, or a negative number if the value is cut off.
type sizer func(b []byte) int

// sizer returns a function that measures values of a coder without decoding them, or nil if there is none.
func (g *graph) sizer(id string) sizer {
	c := g.comps.GetCoders()[id]
	switch c.GetSpec().GetUrn() {
	case coderBytes, coderString, coderPrefixed:
		return prefixed
	case coderVarInt:
		return varint
	case coderBool:
		return fixed(1)
	case coderDouble:
		return fixed(8)
	case coderKV:
		first, second := g.sizer(c.GetComponentCoderIds()[0]), g.sizer(c.GetComponentCoderIds()[1])
		if first == nil || second == nil {
			return nil
		}
		return func(b []byte) int { return sequence(b, first, second) }
	case coderNullable:
		inner := g.sizer(c.GetComponentCoderIds()[0])
		if inner == nil {
			return nil
		}
		return func(b []byte) int {
			if len(b) > 0 && b[0] == 0 {
				return 1
			}
			return sequence(b, fixed(1), inner)
		}
	}
	return nil
}

func fixed(n int) sizer {
	return func(b []byte) int {
		if len(b) < n {
			return -1
		}
		return n
	}
}

func varint(b []byte) int {
	for i, c := range b {
		if c < 0x80 {
			return i + 1
		}
	}
	return -1
}

func prefixed(b []byte) int {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return -1
	}
	return n + int(length)
}

func sequence(b []byte, first, second sizer) int {
	n := first(b)
	if n < 0 {
		return -1
	}
	m := second(b[n:])
	if m < 0 {
		return -1
	}
	return n + m
}

// components returns the URNs of a KV's key coder and value coder.
func (g *graph) components(coder string) (key, value string) {
	ids := g.comps.GetCoders()[coder].GetComponentCoderIds()
	return g.comps.GetCoders()[ids[0]].GetSpec().GetUrn(), g.comps.GetCoders()[ids[1]].GetSpec().GetUrn()
}

// keyed prepares the coder of a KV from which the key is cut: sized is the coder to write, and size measures a key.
func (g *graph) keyed(coder string) (sized string, size sizer, wrapped bool) {
	c := g.comps.GetCoders()[coder]
	key, value := c.GetComponentCoderIds()[0], c.GetComponentCoderIds()[1]
	if size := g.sizer(key); size != nil {
		return coder, size, false
	}
	return g.coder(coderKV, g.coder(coderPrefixed, key), value), prefixed, true
}
