package blocks_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/records"
)

var (
	anyKey = rapid.Custom(func(t *rapid.T) blocks.Key {
		return blocks.NewKey(
			rapid.IntRange(0, blocks.MaxFiles-1).Draw(t, "file"),
			rapid.Int64Range(0, blocks.MaxPosition-1).Draw(t, "position"))
	})
	anyBytes = rapid.SliceOf(rapid.Byte())
	anyText  = rapid.String()
	anyHash  = rapid.Custom(func(t *rapid.T) blocks.Hash {
		return blocks.Hash{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
	})
)

// optional generates pointers, including nil.
func optional[T any](value *rapid.Generator[T]) *rapid.Generator[*T] {
	return rapid.Custom(func(t *rapid.T) *T {
		if !rapid.Bool().Draw(t, "there") {
			return nil
		}
		v := value.Draw(t, "value")
		return &v
	})
}

// anyList draws a list, or nil.
func anyList[T any](value *rapid.Generator[T]) *rapid.Generator[[]T] {
	return rapid.Custom(func(t *rapid.T) []T {
		if !rapid.Bool().Draw(t, "there") {
			return nil
		}
		return append([]T{}, rapid.SliceOfN(value, 0, 3).Draw(t, "values")...)
	})
}

func TestDocumentsRoundTrip(t *testing.T) {
	anyDocument := rapid.Custom(func(t *rapid.T) blocks.Document {
		doc := blocks.Document{
			Key: anyKey.Draw(t, "key"), Component: anyKey.Draw(t, "component"), Of: rapid.IntRange(0, 1<<31).Draw(t, "of"),
			Copied: rapid.Bool().Draw(t, "copied"),
			HasID:  rapid.Bool().Draw(t, "has id"), Rank: anyBytes.Draw(t, "rank"), Text: anyBytes.Draw(t, "text"), Ends: anyBytes.Draw(t, "ends"),
		}
		if doc.HasID {
			doc.ID = anyBytes.Draw(t, "id")
		}
		return doc
	})
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.SliceOf(anyDocument).Draw(t, "documents")
		var block []byte
		for i := range docs {
			block = blocks.AppendDocument(block, &docs[i])
		}
		d := blocks.NewDecoder(block)
		for _, want := range docs {
			got := d.Document()
			if got.Key != want.Key || got.Component != want.Component || got.Of != want.Of || got.Copied != want.Copied || got.HasID != want.HasID ||
				!bytes.Equal(got.ID, want.ID) || !bytes.Equal(got.Rank, want.Rank) || !bytes.Equal(got.Text, want.Text) || !bytes.Equal(got.Ends, want.Ends) {
				t.Fatalf("got %+v, want %+v", got, want)
			}
		}
		exhausted(t, d)
	})
}

// A document with one text column has one byte for the ends of columns.
func TestDocumentOfOneColumn(t *testing.T) {
	one := blocks.AppendDocument(nil, &blocks.Document{Text: []byte("text")})
	two := blocks.AppendDocument(nil, &blocks.Document{Text: []byte("text"), Ends: []byte{1}})
	if len(two)-len(one) != 1 || one[len(one)-1] != 0 {
		t.Errorf("%v with an end, %v without", two, one)
	}
}

// A profile without traits has one byte for them, and one without copies has one byte for these.
func TestLeanProfile(t *testing.T) {
	lean := blocks.AppendProfile(nil, &blocks.Profile{})
	full := blocks.AppendProfile(nil, &blocks.Profile{Traits: blocks.Traits{Symbols: 1}})
	if len(full)-len(lean) != 48 || !bytes.HasSuffix(lean, []byte{0, 0}) {
		t.Errorf("%d bytes with traits, %v without", len(full), lean)
	}
}

// ownProfile draws what a document does not share with its copies, except the traits.
func ownProfile(t *rapid.T) blocks.Profile {
	p := blocks.Profile{
		Key: anyKey.Draw(t, "key"), HasID: rapid.Bool().Draw(t, "has id"), Rank: append([]byte{}, anyBytes.Draw(t, "rank")...),
	}
	if p.HasID {
		p.ID = append([]byte{}, anyBytes.Draw(t, "id")...)
	}
	return p
}

var anyTraits = rapid.Custom(func(t *rapid.T) blocks.Traits {
	return blocks.Traits{Text: anyHash.Draw(t, "text"), Tokens: anyHash.Draw(t, "tokens"), Symbols: rapid.Uint64().Draw(t, "symbols")}
})

func TestProfilesRoundTrip(t *testing.T) {
	anyOwn := rapid.Custom(func(t *rapid.T) blocks.Profile {
		p := ownProfile(t)
		if rapid.Bool().Draw(t, "has traits") {
			p.Traits = anyTraits.Draw(t, "traits")
		}
		return p
	})
	blocksRoundTrip(t, rapid.Custom(func(t *rapid.T) blocks.Profile {
		p := anyOwn.Draw(t, "own")
		p.Hash, p.Size = anyHash.Draw(t, "hash"), rapid.IntRange(0, math.MaxInt).Draw(t, "size")
		p.Words = rapid.IntRange(0, math.MaxInt).Draw(t, "words")
		if p.Copies = rapid.IntRange(0, 3).Draw(t, "copies"); p.Copies > 0 {
			p.Best = optional(anyOwn).Draw(t, "best")
		}
		if p.Best != nil {
			p.Best.Hash, p.Best.Size, p.Best.Words = p.Hash, p.Size, p.Words
		}
		return p
	}), blocks.AppendProfile, (*blocks.Decoder).Profile)
}

// A copy shares hash and size with the first document of its group, but does not have that one's component.
func TestCopiesRoundTrip(t *testing.T) {
	blocksRoundTrip(t, rapid.Custom(func(t *rapid.T) blocks.Copy {
		c := blocks.Copy{Of: anyKey.Draw(t, "of"), Profile: ownProfile(t)}
		c.Profile.Traits = anyTraits.Draw(t, "traits")
		if rapid.Bool().Draw(t, "same tokens") {
			c.Profile.Traits.Tokens = blocks.Hash{}
		}
		if rapid.Bool().Draw(t, "first") {
			c.Of = c.Profile.Key
		}
		if c.IsFirst() {
			c.Profile.Hash, c.Profile.Size = anyHash.Draw(t, "hash"), rapid.IntRange(0, math.MaxInt).Draw(t, "size")
			c.Profile.Words = rapid.IntRange(0, math.MaxInt).Draw(t, "words")
			c.Component, c.Documents = anyKey.Draw(t, "component"), rapid.IntRange(1, 1<<31).Draw(t, "documents")
		}
		return c
	}), blocks.AppendCopy, (*blocks.Decoder).Copy)
}

func TestVerdictsRoundTrip(t *testing.T) {
	blocksRoundTrip(t, rapid.Custom(func(t *rapid.T) blocks.Verdict {
		v := blocks.Verdict{
			Of: anyKey.Draw(t, "of"), Tokens: anyHash.Draw(t, "tokens"), Size: rapid.IntRange(0, math.MaxInt).Draw(t, "size"),
			First: ownProfile(t), Kept: ownProfile(t), Cluster: anyKey.Draw(t, "cluster"), Members: rapid.IntRange(2, 1<<31).Draw(t, "members"),
			Near: rapid.Bool().Draw(t, "near"), Similarity: rapid.Float64Range(0, 1).Draw(t, "similarity"),
		}
		v.First.Rank, v.Kept.Rank, v.Kept.Traits = nil, nil, anyTraits.Draw(t, "traits")
		return v
	}), blocks.AppendVerdict, (*blocks.Decoder).Verdict)
}

// blocksRoundTrip appends values to a block and reads them.
func blocksRoundTrip[T any](t *testing.T, anyValue *rapid.Generator[T], write func([]byte, *T) []byte, read func(*blocks.Decoder) T) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(anyValue).Draw(t, "values")
		var block []byte
		for i := range values {
			block = write(block, &values[i])
		}
		d := blocks.NewDecoder(block)
		for _, want := range values {
			if got := read(d); !reflect.DeepEqual(got, want) {
				t.Fatalf("got %+v, want %+v", got, want)
			}
		}
		exhausted(t, d)
	})
}

// exhausted checks that a block was read to its end.
func exhausted(t *rapid.T, d *blocks.Decoder) {
	t.Helper()
	if !d.Done() || d.Err() != nil {
		t.Fatalf("bytes left: %v, error %v", !d.Done(), d.Err())
	}
}

func TestPackedKeysRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(anyKey).Draw(t, "keys")
		var members []blocks.Member
		var edges []blocks.Edge
		var pairs []blocks.NearPair
		var firsts []blocks.First
		var memberBlock, edgeBlock, pairBlock, firstBlock []byte
		for i := 0; i+1 < len(keys); i += 2 {
			m, e := blocks.Member{Key: keys[i], Component: keys[i+1], Of: int32(i)}, blocks.Edge{A: keys[i], B: keys[i+1]}
			p := blocks.NearPair{A: keys[i], B: keys[i+1], Score: rapid.Int().Draw(t, "score"), Shared: rapid.IntRange(0, math.MaxInt32).Draw(t, "shared")}
			members, edges, pairs = append(members, m), append(edges, e), append(pairs, p)
			memberBlock = blocks.AppendMember(memberBlock, m)
			edgeBlock = blocks.AppendEdge(edgeBlock, e)
			pairBlock = blocks.AppendNearPair(pairBlock, p)
			firsts = append(firsts, blocks.First{Hash: blocks.Hash{Hi: uint64(i), Lo: uint64(keys[i])}, Key: keys[i+1]})
			firstBlock = blocks.AppendFirst(firstBlock, firsts[len(firsts)-1])
		}
		if got, err := blocks.DecodeFirsts(nil, firstBlock); err != nil || !slices.Equal(got, firsts) {
			t.Errorf("firsts %v, %v, want %v", got, err, firsts)
		}
		if got, err := blocks.DecodeMembers(nil, memberBlock); err != nil || !slices.Equal(got, members) {
			t.Errorf("members %v, %v, want %v", got, err, members)
		}
		if got, err := blocks.DecodeEdges(nil, edgeBlock); err != nil || !slices.Equal(got, edges) {
			t.Errorf("edges %v, %v, want %v", got, err, edges)
		}
		if got, err := blocks.DecodeNearPairs(nil, pairBlock); err != nil || !reflect.DeepEqual(got, pairs) {
			t.Errorf("pairs %v, %v, want %v", got, err, pairs)
		}
	})
}

func TestTurnsRoundTrip(t *testing.T) {
	anyNumber := rapid.OneOf(rapid.IntRange(0, math.MaxUint32), rapid.Just(math.MaxUint32))
	rapid.Check(t, func(t *rapid.T) {
		want := blocks.Turn{Component: anyKey.Draw(t, "component"), Batch: anyNumber.Draw(t, "batch"), Number: anyNumber.Draw(t, "number")}
		behind := anyBytes.Draw(t, "behind")
		d := blocks.NewDecoder(append(blocks.AppendTurn(nil, want), behind...))
		if got := d.Turn(); got != want || d.Err() != nil || d.Left() != len(behind) {
			t.Fatalf("got %+v, want %+v, %d bytes left of %d, error %v", got, want, d.Left(), len(behind), d.Err())
		}
	})
}

func TestSetPartsRoundTrip(t *testing.T) {
	const limit = 1 << 20 // of an element
	for _, size := range []int{1, 2, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200_000} {
		set := make([]uint64, size)
		for i := range set {
			set[i] = uint64(i) * 0x9e3779b97f4a7c15
		}
		key, hash := blocks.NewKey(7, 1<<39), blocks.Hash{Hi: 1, Lo: 2}
		got := make([]uint64, size)
		blocks.SetParts(nil, key, hash, set, func(block []byte) {
			if len(block) > limit {
				t.Errorf("size %d: a part of %d bytes", size, len(block))
			}
			d := blocks.NewDecoder(block)
			part := d.SetPart()
			if d.Err() != nil || part.Key != key || part.Hash != hash || part.Total != size {
				t.Fatalf("size %d: part %v of %d, hash %v, error %v", size, part.Key, part.Total, part.Hash, d.Err())
			}
			part.CopyTo(got)
		})
		if !slices.Equal(got, set) {
			t.Errorf("size %d: the parts are not the set", size)
		}
	}
}

// TestSetPartOutOfBounds: a part that CopyTo would write beyond the set is corrupt.
func TestSetPartOutOfBounds(t *testing.T) {
	part := func(total, first uint32, values ...byte) []byte {
		block := make([]byte, 8+16)
		return append(blocks.AppendUint32(blocks.AppendUint32(block, total), first), values...)
	}
	for name, block := range map[string][]byte{
		"longer than the set": part(1, 0, make([]byte, 16)...),
		"begins beyond it":    part(2, 2, make([]byte, 8)...),
		"half a shingle":      part(2, 0, make([]byte, 12)...),
		"first near overflow": part(2, math.MaxUint32, make([]byte, 8)...),
	} {
		d := blocks.NewDecoder(block)
		if got := d.SetPart(); !errors.Is(d.Err(), blocks.ErrCorrupt) {
			t.Errorf("%s: got %+v, error %v", name, got, d.Err())
		}
	}
}

// kind is a block of one kind and its reader.
type kind struct {
	block []byte
	read  func(*blocks.Decoder)
}

// rowKind is a block of one row.
func rowKind[R blocks.Row](t *rapid.T, key blocks.Key, row *R) kind {
	return kind{blocks.NewRow(nil, key, key, row).Append(nil), func(d *blocks.Decoder) {
		inner := blocks.NewDecoder(d.RowPart().Fields)
		blocks.DecodeFields(inner, new(R))
		if inner.Err() != nil && d.Err() == nil {
			t.Fatal("the frame is whole and the fields are not")
		}
	}}
}

// kinds returns one of each.
func kinds(t *rapid.T) map[string]kind {
	key := anyKey.Draw(t, "key")
	id, text := anyBytes.Draw(t, "id"), anyBytes.Draw(t, "text")
	raw := append([]byte{'{'}, text...)
	name := anyText.Draw(t, "name")
	similarity := 0.5
	return map[string]kind{
		"document": {
			blocks.AppendDocument(nil, &blocks.Document{Key: key, ID: id, HasID: true, Rank: text, Text: text}),
			func(d *blocks.Decoder) { d.Document() },
		},
		"profile": {
			blocks.AppendProfile(nil, &blocks.Profile{Key: key, Size: 300, ID: id, HasID: true, Rank: text, Copies: 300, Best: &blocks.Profile{Key: key}}),
			func(d *blocks.Decoder) { d.Profile() },
		},
		"copy": {
			blocks.AppendCopy(nil, &blocks.Copy{Of: key, Profile: blocks.Profile{Key: key, ID: id, HasID: true}, Documents: 300}),
			func(d *blocks.Decoder) { d.Copy() },
		},
		"verdict": {
			blocks.AppendVerdict(nil, &blocks.Verdict{Of: key, First: blocks.Profile{ID: id, HasID: true}, Members: 300}),
			func(d *blocks.Decoder) { d.Verdict() },
		},
		"turn": {
			blocks.AppendTurn(nil, blocks.Turn{Component: key, Batch: 300, Number: 70_000}),
			func(d *blocks.Decoder) { d.Turn() },
		},
		"pair":      rowKind(t, key, &records.Pair{IDA: name, SourceB: name}),
		"clustered": rowKind(t, key, &records.Clustered{ID: name, Kept: true}),
		"removed":   rowKind(t, key, &records.Removed{ID: name, Similarity: &similarity}),
		"rejected":  rowKind(t, key, &records.Rejected{ID: &name, Raw: &raw}),
	}
}

// TestTruncated: the decoder detects a block that is cut short anywhere.
func TestTruncated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for name, kind := range kinds(t) {
			for n := 1; n < len(kind.block); n++ {
				d := blocks.NewDecoder(kind.block[:n])
				if kind.read(d); !errors.Is(d.Err(), blocks.ErrCorrupt) {
					t.Fatalf("%s cut to %d of %d bytes: error %v", name, n, len(kind.block), d.Err())
				}
				if !d.Done() {
					t.Fatalf("%s cut to %d bytes: a loop over Done would not end", name, n)
				}
			}
		}
		key := anyKey.Draw(t, "key")
		pair := blocks.AppendNearPair(nil, blocks.NearPair{A: key, B: key, Score: 700, Shared: 300})
		edge := blocks.AppendEdge(nil, blocks.Edge{A: key, B: key})
		for n := 1; n < len(pair); n++ {
			if _, err := blocks.DecodeNearPairs(nil, pair[:n]); !errors.Is(err, blocks.ErrCorrupt) {
				t.Fatalf("pair cut to %d bytes: error %v", n, err)
			}
		}
		for n := 1; n < len(edge); n++ {
			if _, err := blocks.DecodeEdges(nil, edge[:n]); !errors.Is(err, blocks.ErrCorrupt) {
				t.Fatalf("edge cut to %d bytes: error %v", n, err)
			}
			if _, err := blocks.DecodeMembers(nil, edge[:n]); !errors.Is(err, blocks.ErrCorrupt) {
				t.Fatalf("member cut to %d bytes: error %v", n, err)
			}
		}
	})
}

// FuzzDecoder: no bytes make a decoder panic, read without end or take much more memory than they have.
func FuzzDecoder(f *testing.F) {
	huge := binary.AppendUvarint(nil, math.MaxUint64)
	for _, prefix := range []int{0, 8, 9, 10, 24, 25, 32} {
		f.Add(append(make([]byte, prefix), huge...))
	}
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}) // 4 G band entries
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func(*blocks.Decoder){
			func(d *blocks.Decoder) { d.Document() },
			func(d *blocks.Decoder) { d.Profile() },
			func(d *blocks.Decoder) { d.Copy() },
			func(d *blocks.Decoder) { d.Verdict() },
			func(d *blocks.Decoder) { d.Optional() },
			func(d *blocks.Decoder) { d.Turn() },
			func(d *blocks.Decoder) { blocks.DecodeFields(d, new(records.Pair)) },
			func(d *blocks.Decoder) { blocks.DecodeFields(d, new(records.Clustered)) },
			func(d *blocks.Decoder) { blocks.DecodeFields(d, new(records.Removed)) },
			func(d *blocks.Decoder) { blocks.DecodeFields(d, new(records.Rejected)) },
			func(d *blocks.Decoder) {
				if part := d.SetPart(); part.Total <= 1<<16 {
					part.CopyTo(make([]uint64, part.Total))
				}
			},
		} {
			d := blocks.NewDecoder(data)
			for steps := 0; !d.Done(); steps++ {
				if read(d); steps > len(data) {
					t.Fatal("a loop over Done does not end")
				}
			}
		}
		for _, decode := range []func() (int, error){
			func() (int, error) { v, err := blocks.DecodeBands(nil, data); return len(v), err },
			func() (int, error) { v, err := blocks.DecodeEdges(nil, data); return len(v), err },
			func() (int, error) { v, err := blocks.DecodeMembers(nil, data); return len(v), err },
			func() (int, error) { v, err := blocks.DecodeFirsts(nil, data); return len(v), err },
			func() (int, error) { v, err := blocks.DecodeNearPairs(nil, data); return len(v), err },
		} {
			if n, _ := decode(); n > len(data) {
				t.Fatalf("%d values out of %d bytes", n, len(data))
			}
		}
	})
}

func TestDecoderLengths(t *testing.T) {
	for _, length := range []uint64{4, 1 << 31, 1 << 32, 1<<63 - 1, 1 << 63, math.MaxUint64} {
		data := append(binary.AppendUvarint(nil, length), "abc"...)
		d := blocks.NewDecoder(data)
		if b := d.Bytes(); b != nil || d.Err() == nil {
			t.Errorf("Bytes of length %d in 3: %q, error %v", length, b, d.Err())
		}
		d = blocks.NewDecoder(data)
		if b, _ := d.Optional(); length != 4 && (b != nil || d.Err() == nil) {
			t.Errorf("Optional of length %d in 3: %q, error %v", length-1, b, d.Err())
		}
		d = blocks.NewDecoder(data)
		if b := d.Fixed(int(length)); length != 4 && (b != nil || d.Err() == nil) {
			t.Errorf("Fixed(%d) of 5 or more: %q, error %v", int(length), b, d.Err())
		}
	}
	d := blocks.NewDecoder(bytes.Repeat([]byte{0xff}, 11)) // more than 64 bits
	if v := d.Uvarint(); v != 0 || d.Err() == nil {
		t.Errorf("Uvarint of eleven bytes: %d, error %v", v, d.Err())
	}
}

// A truncated block yields its whole documents, and an error.
func TestDocumentsOfCutBlock(t *testing.T) {
	first := blocks.AppendDocument(nil, &blocks.Document{Key: 1, Text: []byte("one")})
	both := blocks.AppendDocument(first, &blocks.Document{Key: 2, Text: []byte("two")})
	for n := range len(both) + 1 {
		d := blocks.NewDecoder(both[:n])
		var keys []blocks.Key
		for doc := range d.Documents() {
			keys = append(keys, doc.Key)
		}
		whole := n == 0 || n == len(first) || n == len(both)
		want := []blocks.Key{1, 2}[:min(n/len(first), 2)]
		if n < len(both) {
			want = want[:min(len(want), 1)]
		}
		if !slices.Equal(keys, want) || whole != (d.Err() == nil) {
			t.Errorf("%d of %d bytes: documents %v, want %v, error %v", n, len(both), keys, want, d.Err())
		}
	}
}

func TestBatchesRoundTrip(t *testing.T) {
	number := rapid.IntRange(0, math.MaxInt)
	rapid.Check(t, func(t *rapid.T) {
		want := blocks.Batch{
			Number: number.Draw(t, "number"), Sets: number.Draw(t, "sets"), Shingles: number.Draw(t, "shingles"),
			Smallest: number.Draw(t, "smallest"), Largest: number.Draw(t, "largest"),
		}
		behind := anyBytes.Draw(t, "behind")
		d := blocks.NewDecoder(append(blocks.AppendBatch(nil, want), behind...))
		if got := d.Batch(); got != want || d.Err() != nil || d.Left() != len(behind) {
			t.Fatalf("got %+v, want %+v, %d bytes left of %d, error %v", got, want, d.Left(), len(behind), d.Err())
		}
	})
}

// Sets that were written are read again, all or some; truncated data is an error.
func TestPickSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var want blocks.Sets
		for i := range rapid.IntRange(0, 12).Draw(t, "sets") {
			set := make([]uint64, r.IntN(1<<rapid.SampledFrom([]int{1, 5, 14, 18}).Draw(t, "size")))
			for k := range set {
				set[k] = r.Uint64()
			}
			want.Keys, want.Sets = append(want.Keys, blocks.NewKey(1, int64(i))), append(want.Sets, set)
		}
		var file bytes.Buffer
		if err := want.Write(&file); err != nil {
			t.Fatal(err)
		}
		var wanted []int
		for i := range want.Sets {
			if r.IntN(2) == 0 {
				wanted = append(wanted, i)
			}
		}
		if len(wanted) > 0 {
			got, err := blocks.PickSets(bytes.NewReader(file.Bytes()), wanted)
			if err != nil || !slices.Equal(got.Keys, want.Keys) {
				t.Fatalf("keys %v, error %v", got.Keys, err)
			}
			for i := range want.Sets {
				if slices.Contains(wanted, i) && !slices.Equal(got.Sets[i], want.Sets[i]) {
					t.Errorf("set %d of %d is another", i, len(want.Sets))
				}
			}
		}
		all, err := blocks.DecodeSets(file.Bytes())
		if err != nil || !slices.Equal(all.Keys, want.Keys) || !slices.EqualFunc(all.Sets, want.Sets, slices.Equal[[]uint64]) {
			t.Errorf("all sets are others, error %v", err)
		}
		if _, err := blocks.DecodeSets(file.Bytes()[:file.Len()-1]); err == nil {
			t.Error("a file that was cut is read")
		}
	})
}
