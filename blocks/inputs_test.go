package blocks_test

import (
	"cmp"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
)

func TestKeyOrder(t *testing.T) {
	last := blocks.NewKey(blocks.MaxFiles-1, blocks.MaxPosition-1)
	if last < 0 {
		t.Errorf("the last key is %d, want the sign to be 0", int64(last))
	}
	if got := last.String(); got != "8388607@1099511627775" {
		t.Errorf("the last key is %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyKey.Draw(t, "a"), anyKey.Draw(t, "b")
		want := cmp.Or(cmp.Compare(a.File(), b.File()), cmp.Compare(a.Position(), b.Position()))
		if got := cmp.Compare(a, b); got != want {
			t.Errorf("%v compares to %v as %d, want %d", a, b, got, want)
		}
		if again := blocks.NewKey(a.File(), a.Position()); again != a {
			t.Errorf("%v made anew is %v", a, again)
		}
	})
}

// anyInputs are files of any size, 0 among them, cut at multiples of anything.
var anyInputs = rapid.Custom(func(t *rapid.T) *blocks.Inputs {
	in := &blocks.Inputs{Shards: rapid.IntRange(1, 20).Draw(t, "shards")}
	for i := range rapid.IntRange(1, 6).Draw(t, "files") {
		size := rapid.OneOf(rapid.Int64Range(0, 40), rapid.Int64Range(0, blocks.MaxPosition)).Draw(t, "size")
		file := blocks.File{Source: string(rune('a' + i)), Size: size}
		if i > 0 {
			file.Offset = in.Files[i-1].Offset + in.Files[i-1].Size
		}
		in.Files = append(in.Files, file)
		in.Splits = append(in.Splits, cut(t, i, size)...)
		in.Pieces = append(in.Pieces, cut(t, i, size)...)
	}
	return in
})

func cut(t *rapid.T, file int, size int64) (spans []blocks.Span) {
	ends := rapid.SliceOfNDistinct(rapid.Int64Range(1, max(size, 1)), 0, 5, rapid.ID).Draw(t, "ends")
	slices.Sort(ends)
	start := int64(0)
	for _, end := range append(ends, blocks.End) {
		spans = append(spans, blocks.Span{File: file, Start: start, End: end})
		start = end
	}
	return spans
}

// TestSpanOfKey: every key is in exactly one span, and Split and Piece name it.
func TestSpanOfKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInputs.Draw(t, "inputs")
		key := keyOf(t, in)
		for name, spans := range map[string][]blocks.Span{"split": in.Splits, "piece": in.Pieces} {
			got := in.Split(key)
			if name == "piece" {
				got = in.Piece(key)
			}
			for i, s := range spans {
				holds := s.File == key.File() && s.Start <= key.Position() && key.Position() < s.End
				if holds != (i == got) {
					t.Errorf("%s %d %+v holds %v: %v, but the key is in %d", name, i, s, key, holds, got)
				}
			}
		}
	})
}

// keyOf draws a key of a file: near the edges, or anywhere, also beyond the listed size, as
// compressed files have them.
func keyOf(t *rapid.T, in *blocks.Inputs) blocks.Key {
	file := rapid.IntRange(0, len(in.Files)-1).Draw(t, "file")
	edges := []int64{0, in.Files[file].Size}
	for _, s := range slices.Concat(in.Splits, in.Pieces) {
		if s.File == file {
			edges = append(edges, s.Start)
		}
	}
	position := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) int64 {
			return rapid.SampledFrom(edges).Draw(t, "edge") + rapid.Int64Range(-1, 1).Draw(t, "beside")
		}),
		rapid.Int64Range(0, blocks.MaxPosition-1),
	).Draw(t, "position")
	return blocks.NewKey(file, min(max(position, 0), blocks.MaxPosition-1))
}

// TestShards: read one after another, shards are in input order; each has its share of the bytes.
func TestShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInputs.Draw(t, "inputs")
		a, b := keyOf(t, in), keyOf(t, in)
		if a > b {
			a, b = b, a
		}
		first, second := in.Shard(a), in.Shard(b)
		if first > second {
			t.Errorf("%v is in shard %d and %v after it in %d", a, first, b, second)
		}
		for _, shard := range []int{first, second} {
			if shard < 0 || shard >= in.Shards {
				t.Errorf("shard %d of %d", shard, in.Shards)
			}
		}
	})
}

// TestPositions: offsets and positions lead to each other, and beyond neither end.
func TestPositions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := blocks.File{
			Size:      rapid.OneOf(rapid.Int64Range(0, 40), rapid.Int64Range(0, blocks.MaxPosition)).Draw(t, "size"),
			Positions: rapid.OneOf(rapid.Int64Range(0, 40), rapid.Int64Range(0, blocks.MaxPosition)).Draw(t, "positions"),
		}
		offset := rapid.Int64Range(0, file.Size).Draw(t, "offset")
		got := file.PositionAt(offset)
		if file.Positions == 0 {
			if got != offset {
				t.Errorf("%+v: position %d at %d", file, got, offset)
			}
			return
		}
		// The first p with p/Positions ≥ offset/Size.
		at := func(p int64) int {
			left := new(big.Int).Mul(big.NewInt(p), big.NewInt(file.Size))
			return left.Cmp(new(big.Int).Mul(big.NewInt(offset), big.NewInt(file.Positions)))
		}
		if got < 0 || got > file.Positions || at(got) < 0 || got > 0 && file.Size > 0 && at(got-1) >= 0 {
			t.Errorf("%+v: position %d at %d", file, got, offset)
		}
	})
}

func TestShardShares(t *testing.T) {
	in := &blocks.Inputs{
		Shards: 4,
		Files:  []blocks.File{{Size: 60}, {Size: 0, Offset: 60}, {Size: 20, Offset: 60}, {Size: 0, Offset: 80}},
	}
	for _, tt := range []struct {
		file     int
		position int64
		want     int
	}{
		{0, 0, 0}, {0, 19, 0}, {0, 20, 1}, {0, 59, 2}, {0, 1 << 39, 2}, // the third shard is bytes 40 to 59
		{1, 0, 3}, {2, 0, 3}, {2, 1 << 39, 3}, {3, 0, 3},
	} {
		if got := in.Shard(blocks.NewKey(tt.file, tt.position)); got != tt.want {
			t.Errorf("file %d, position %d: shard %d, want %d", tt.file, tt.position, got, tt.want)
		}
	}
	empty := &blocks.Inputs{Shards: 4, Files: []blocks.File{{}, {}}}
	if got := empty.Shard(blocks.NewKey(1, 0)); got != 0 {
		t.Errorf("of empty files: shard %d, want 0", got)
	}
}

func TestNames(t *testing.T) {
	in := &blocks.Inputs{
		Files: []blocks.File{{Source: "news/a.jsonl"}, {Source: "b.txt", IDIsSource: true}, {Source: "v1.2/noending"}},
		Pieces: []blocks.Span{
			{File: 0, Part: 0, Parts: 12}, {File: 0, Part: 11, Parts: 12}, {File: 1}, {File: 2, Part: 1, Parts: 2},
		},
	}
	for i, want := range []string{
		"news/a-00000-of-00012.jsonl", "news/a-00011-of-00012.jsonl", "b.txt", "v1.2/noending-00001-of-00002",
	} {
		if got := in.PieceName(i); got != want {
			t.Errorf("piece %d is %s, want %s", i, got, want)
		}
	}
	for _, tt := range []struct {
		key   blocks.Key
		id    string
		hasID bool
		want  string
	}{
		{blocks.NewKey(0, 17), "own", true, "own"},
		{blocks.NewKey(0, 17), "", true, ""}, // an empty id is one
		{blocks.NewKey(0, 17), "", false, "news/a.jsonl@17"},
		{blocks.NewKey(1, 0), "", false, "b.txt"},
	} {
		if got := in.ID(tt.key, []byte(tt.id), tt.hasID); got != tt.want {
			t.Errorf("id of %v is %q, want %q", tt.key, got, tt.want)
		}
	}
}
