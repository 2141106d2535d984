package plan

// Coders of the Beam model.
const (
	coderBytes    = "beam:coder:bytes:v1"
	coderVarInt   = "beam:coder:varint:v1"
	coderDouble   = "beam:coder:double:v1"
	coderPrefixed = "beam:coder:length_prefix:v1"
	coderKV       = "beam:coder:kv:v1"
	coderIterable = "beam:coder:iterable:v1"
	coderWindowed = "beam:coder:windowed_value:v1"
	coderInterval = "beam:coder:interval_window:v1"
)

// components returns the URNs of a KV's key coder and value coder.
func (g *graph) components(coder string) (key, value string) {
	ids := g.comps.GetCoders()[coder].GetComponentCoderIds()
	return g.comps.GetCoders()[ids[0]].GetSpec().GetUrn(), g.comps.GetCoders()[ids[1]].GetSpec().GetUrn()
}

// keyed returns the coder of a KV and of its key, with a length by which the runner cuts the key off.
func (g *graph) keyed(coder string) (pair, key string) {
	ids := g.comps.GetCoders()[coder].GetComponentCoderIds()
	key = g.coder(coderPrefixed, ids[0])
	return g.coder(coderKV, key, ids[1]), key
}
