package blocks_test

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"math/big"
	"reflect"
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

// listing is the files that inputs are made from, in a form that is easily looked up.
type listing struct {
	*blocks.Inputs
	files          []blocks.File
	splits, pieces []blocks.Span
}

// anyInputs are files of any size, including 0, cut at arbitrary multiples.
var anyInputs = rapid.Custom(func(t *rapid.T) *listing {
	in := &listing{Inputs: &blocks.Inputs{Root: "/r", Shards: rapid.IntRange(1, 20).Draw(t, "shards")}}
	var offset int64
	n := rapid.IntRange(1, 40).Draw(t, "files")
	references := rapid.IntRange(0, n-1).Draw(t, "references")
	for i := range n {
		size := rapid.OneOf(rapid.Int64Range(0, 40), rapid.Int64Range(0, blocks.MaxPosition/40)).Draw(t, "size")
		file := blocks.File{
			Source: rapid.StringMatching(`[ab]{0,3}é?/[a-c]{0,9}`).Draw(t, "source"), Size: size, Offset: offset,
			IDIsSource: rapid.Bool().Draw(t, "id is source"), Positions: rapid.SampledFrom([]int64{0, 0, 0, 1, 77, 1 << 39}).Draw(t, "positions"),
		}
		file.Path = rapid.SampledFrom([]string{"/r/" + file.Source, "/elsewhere"}).Draw(t, "path")
		offset += size
		splits, pieces := cuts(t, size), cuts(t, size)
		in.splits = append(in.splits, spans(i, splits)...)
		if i < references {
			file.Standing, file.Path = blocks.Reference, file.Source
		} else {
			in.pieces = append(in.pieces, spans(i, pieces)...)
		}
		in.files = append(in.files, file)
		file.Offset = -1 // Add sets it
		in.Add(&file, splits, pieces)
	}
	return in
})

func cuts(t *rapid.T, size int64) []int64 {
	cuts := rapid.SliceOfNDistinct(rapid.Int64Range(1, max(size, 1)), 0, 5, rapid.ID).Draw(t, "cuts")
	slices.Sort(cuts)
	return cuts
}

func spans(file int, cuts []int64) (spans []blocks.Span) {
	start := int64(0)
	for _, end := range append(slices.Clone(cuts), blocks.End) {
		spans = append(spans, blocks.Span{File: file, Start: start, End: end})
		start = end
	}
	return spans
}

// table returns the spans of a table.
func table(spans *blocks.Spans) (all []blocks.Span) {
	for i := range spans.Len() {
		all = append(all, spans.At(i))
	}
	return all
}

// TestInputs: what was added is found again by number, also in another process.
func TestInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInputs.Draw(t, "inputs")
		prefer := rapid.Bool().Draw(t, "prefer")
		if prefer {
			in.Prefer(func(source string) int { return len(source) % 3 })
		}
		protect := rapid.Bool().Draw(t, "protect")
		if protect {
			in.Protect(func(source string) bool { return len(source)%2 == 0 })
		}
		spooled := rapid.IntRange(0, in.Len()-1).Draw(t, "spooled")
		in.Spool(spooled)
		data, err := in.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var again blocks.Inputs
		if err := again.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		for _, got := range []*blocks.Inputs{in.Inputs, &again} {
			if got.Root != "/r" || got.Shards != in.Shards || got.Len() != len(in.files) {
				t.Fatalf("root %q, %d shards, %d files", got.Root, got.Shards, got.Len())
			}
			if !slices.Equal(table(&got.Splits), in.splits) || !slices.Equal(table(&got.Pieces), in.pieces) {
				t.Errorf("splits %v, want %v; pieces %v, want %v", table(&got.Splits), in.splits, table(&got.Pieces), in.pieces)
			}
			for i, want := range in.files {
				if want.Standing == blocks.Input && protect && len(want.Source)%2 == 0 {
					want.Standing = blocks.Protected
				}
				if file := got.File(i); !reflect.DeepEqual(file, want) {
					t.Errorf("file %d is %+v, want %+v", i, file, want)
				}
				if got.Spooled(i) != (i == spooled) || got.Elsewhere(i) != (want.Path == "/elsewhere") || got.Size(i) != want.Size || got.Name(i) != want.Source {
					t.Errorf("file %d: spooled %t, elsewhere %t, size %d, name %q", i, got.Spooled(i), got.Elsewhere(i), got.Size(i), got.Name(i))
				}
			}
			var paths []string
			for path := range got.Paths() {
				paths = append(paths, path)
			}
			for i, want := range in.files {
				if paths[i] != want.Path {
					t.Errorf("file %d is at %q, want %q", i, paths[i], want.Path)
				}
			}
			a, b := keyOf(t, in), keyOf(t, in)
			standing := func(key blocks.Key) blocks.Standing { return got.File(key.File()).Standing }
			if got.Kept(a) != (standing(a) != blocks.Input) || got.IsReference(a) != (standing(a) == blocks.Reference) {
				t.Errorf("%v is kept: %v, a reference: %v", a, got.Kept(a), got.IsReference(a))
			}
			order := cmp.Compare(standing(b), standing(a))
			switch {
			case order != 0:
			case prefer && standing(a) != blocks.Reference:
				order = cmp.Compare(len(in.files[a.File()].Source)%3, len(in.files[b.File()].Source)%3)
			}
			if order = cmp.Or(order, cmp.Compare(a, b)); got.Preferred(&blocks.Profile{Key: a}, &blocks.Profile{Key: b}) != order {
				t.Errorf("%v is not preferred to %v as %d", a, b, order)
			}
		}
	})
}

// TestTruncate: everything before the last record stays, and nothing after it.
func TestTruncate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInputs.Draw(t, "inputs")
		last := keyOf(t, in)
		if in.IsReference(last) { // all references are read
			return
		}
		in.Truncate(in.Split(last), last.Position())
		for name, tt := range map[string]struct{ got, all []blocks.Span }{"splits": {table(&in.Splits), in.splits}, "pieces": {table(&in.Pieces), in.pieces}} {
			var want []blocks.Span
			for _, span := range tt.all {
				if span.File < last.File() || span.File == last.File() && span.Start <= last.Position() {
					want = append(want, span)
				}
			}
			want[len(want)-1].End = last.Position() + 1
			if !slices.Equal(tt.got, want) {
				t.Errorf("to %v: %s %v, want %v", last, name, tt.got, want)
			}
		}
		data, _ := in.MarshalBinary()
		var again blocks.Inputs
		if err := again.UnmarshalBinary(data); err != nil || !slices.Equal(table(&again.Splits), table(&in.Splits)) {
			t.Errorf("shared: %v, %v", table(&again.Splits), err)
		}
	})
}

// TestBrokenInputs: no byte may differ, and none may be missing.
func TestBrokenInputs(t *testing.T) {
	in := &blocks.Inputs{Root: "/r", Shards: 3}
	details := &blocks.Details{}
	for _, source := range []string{"a", "ab", "b"} {
		file := &blocks.File{Source: source, Path: "/" + source, Size: 5, Positions: 3, Format: "lines", Version: "1", Header: []byte("h")}
		in.Add(file, []int64{2}, []int64{3})
		details.Add(file, source == "a")
	}
	in.Prefer(func(string) int { return 1 })
	for name, tt := range map[string]struct {
		encoding.BinaryMarshaler
		encoding.BinaryUnmarshaler
	}{"inputs": {in, &blocks.Inputs{}}, "details": {details, &blocks.Details{}}} {
		data, err := tt.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			broken := slices.Clone(data)
			broken[i] ^= 0x10
			if err := tt.UnmarshalBinary(broken); !errors.Is(err, blocks.ErrCorrupt) {
				t.Errorf("%s with another byte %d: error %v", name, i, err)
			}
			if err := tt.UnmarshalBinary(data[:i]); !errors.Is(err, blocks.ErrCorrupt) {
				t.Errorf("%s of %d bytes: error %v", name, i, err)
			}
		}
		if err := tt.UnmarshalBinary(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDetails: what is known about a file is known whoever found it out, and is not known about other files.
func TestDetails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d blocks.Details
		var want []blocks.File
		n := rapid.IntRange(1, 50).Draw(t, "files")
		inspected := make([]bool, n)
		const first = 3 * blocks.DetailsFiles
		for i := range n {
			file := blocks.File{Format: rapid.SampledFrom([]string{"lines", "csv"}).Draw(t, "format"), Version: rapid.String().Draw(t, "version")}
			if inspected[i] = rapid.Bool().Draw(t, "inspected"); inspected[i] {
				find(t, &file)
			}
			d.Add(&file, inspected[i])
			want = append(want, file)
		}
		data, _ := d.MarshalBinary()
		var again blocks.Details
		if err := again.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		check := func(d *blocks.Details) {
			t.Helper()
			for i := range n {
				var got blocks.File
				if known, err := d.Complete(first+i, &got); err != nil || known != inspected[i] || !reflect.DeepEqual(got, want[i]) {
					t.Errorf("file %d: %+v, %t, %v, want %+v, %t", i, got, known, err, want[i], inspected[i])
				}
			}
			if _, err := d.Complete(first+n, &blocks.File{}); err == nil {
				t.Error("a file more: no error")
			}
		}
		check(&d)
		check(&again)
		for i := range n {
			if !inspected[i] && rapid.Bool().Draw(t, "keep") {
				inspected[i] = true
				find(t, &want[i])
				again.Keep(first+i, &want[i])
			}
		}
		check(&again)
		data, _ = again.MarshalBinary()
		var shared blocks.Details
		if err := shared.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		check(&shared) // with what was kept
	})
}

// find sets what an inspection finds.
func find(t *rapid.T, f *blocks.File) {
	f.Compression = rapid.SampledFrom([]string{"", "gzip"}).Draw(t, "compression")
	f.Encoding = rapid.SampledFrom([]string{"", "UTF-16LE"}).Draw(t, "encoding")
	f.Detected, f.Percent = rapid.SampledFrom([]string{"", "big5"}).Draw(t, "detected"), rapid.IntRange(0, 99).Draw(t, "percent")
	f.Window, f.Positions = rapid.Int64Range(0, 1<<40).Draw(t, "window"), rapid.Int64Range(0, 3).Draw(t, "positions")
	f.Sequential = rapid.Bool().Draw(t, "sequential")
	if header := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "header"); len(header) > 0 {
		f.Header = header
	}
}

// TestKeepBounded: if all files differ, not all are kept.
func TestKeepBounded(t *testing.T) {
	var d blocks.Details
	for range blocks.DetailsFiles {
		d.Add(&blocks.File{}, false)
	}
	kept := 0
	for i := range blocks.DetailsFiles {
		header := bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 500)
		d.Keep(i, &blocks.File{Header: header})
		var file blocks.File
		known, err := d.Complete(i, &file)
		if err != nil || known && !bytes.Equal(file.Header, header) {
			t.Fatalf("file %d: %d bytes of header, %v", i, len(file.Header), err)
		}
		if known {
			kept++
		}
	}
	if kept < 200 || kept > 262 { // 256 KiB, at slightly more than 1000 bytes each
		t.Errorf("%d are kept", kept)
	}
	if !d.Full() {
		t.Error("it is not full")
	}
}

// TestSpanOfKey: every key is in exactly one span, and Split and Piece name it.
func TestSpanOfKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInputs.Draw(t, "inputs")
		key := keyOf(t, in)
		for name, spans := range map[string][]blocks.Span{"split": in.splits, "piece": in.pieces} {
			got := in.Split(key)
			if name == "piece" {
				if in.IsReference(key) {
					continue
				}
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

// TestBatches: together, batches have each piece once. A key's batch has its piece, and pieces of large files have
// their own batches.
func TestBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in blocks.Inputs
		for range rapid.IntRange(1, 100).Draw(t, "files") {
			f := &blocks.File{Size: rapid.SampledFrom([]int64{0, 1000, 64 << 10, 64<<10 + 1, 1 << 20}).Draw(t, "size")}
			in.Add(f, nil, [][]int64{nil, {10}, {10, 20}}[rapid.IntRange(0, 2).Draw(t, "cuts")])
		}
		found := map[int]bool{}
		for batch := range in.Batches() {
			n := 0
			for piece := range in.Batched(batch) {
				if n++; found[piece] {
					t.Errorf("piece %d is in two batches", piece)
				}
				found[piece] = true
				span := in.Pieces.At(piece)
				if large := in.Size(span.File) > 64<<10; n > 1 && large || n > 16 {
					t.Errorf("piece %d, large: %v, is number %d of its batch", piece, large, n)
				}
				if got := in.Batch(blocks.NewKey(span.File, span.Start)); got != batch {
					t.Errorf("piece %d of batch %d begins in batch %d", piece, batch, got)
				}
			}
			if n == 0 {
				t.Errorf("batch %d is empty", batch)
			}
		}
		if len(found) != in.Pieces.Len() {
			t.Errorf("%d of %d pieces are in batches", len(found), in.Pieces.Len())
		}
	})
}

// keyOf draws a key of a file: near the bounds or anywhere, also beyond the listed size, as compressed files have them.
func keyOf(t *rapid.T, in *listing) blocks.Key {
	file := rapid.IntRange(0, len(in.files)-1).Draw(t, "file")
	edges := []int64{0, in.files[file].Size}
	for _, s := range slices.Concat(in.splits, in.pieces) {
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

// TestShards: reading shards in order gives input order, for inputs and for references. Each shard has its share of the
// bytes.
func TestShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInputs.Draw(t, "inputs")
		a, b := keyOf(t, in), keyOf(t, in)
		if a > b {
			a, b = b, a
		}
		first, second := in.Shard(a), in.Shard(b)
		if first > second && in.IsReference(a) == in.IsReference(b) {
			t.Errorf("%v is in shard %d and %v after it in %d", a, first, b, second)
		}
		for _, shard := range []int{first, second} {
			if shard < 0 || shard >= in.Shards {
				t.Errorf("shard %d of %d", shard, in.Shards)
			}
		}
	})
}

// TestPositions: offsets and positions convert into each other, and neither exceeds the end.
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
		// The last byte at or before the share p/Positions.
		p := rapid.Int64Range(0, file.Positions).Draw(t, "position")
		want := new(big.Int).Mul(big.NewInt(p), big.NewInt(file.Size))
		if want.Div(want, big.NewInt(file.Positions)); file.OffsetAt(p) != want.Int64() {
			t.Errorf("%+v: position %d is at %d, want %d", file, p, file.OffsetAt(p), want)
		}
		if at := file.OffsetAt(blocks.End); at != file.Size {
			t.Errorf("%+v: the end is at %d", file, at)
		}
	})
}

// A limit excludes files, and of the last one everything after the last record.
func TestBytesOfSplits(t *testing.T) {
	in := &blocks.Inputs{Shards: 1}
	if got := in.BytesOfSplits(); got != 0 {
		t.Errorf("no file has %d bytes", got)
	}
	for _, size := range []int64{60, 20, 40} {
		in.Add(&blocks.File{Size: size}, []int64{10}, nil)
	}
	if got := in.BytesOfSplits(); got != 120 {
		t.Errorf("%d bytes, want 120", got)
	}
	last := blocks.NewKey(1, 14)
	in.Truncate(in.Split(last), last.Position())
	if got := in.BytesOfSplits(); got != 75 {
		t.Errorf("%d bytes up to a record at 14 of the second file, want 75", got)
	}
}

func TestShardShares(t *testing.T) {
	in := &blocks.Inputs{Shards: 4}
	in.Add(&blocks.File{Size: 1000, Standing: blocks.Reference}, nil, nil)
	for _, size := range []int64{60, 0, 20, 0} {
		in.Add(&blocks.File{Size: size}, nil, nil)
	}
	for _, tt := range []struct {
		file     int
		position int64
		want     int
	}{
		{1, 0, 0}, {1, 19, 0}, {1, 20, 1}, {1, 59, 2}, {1, 1 << 39, 2}, // the third shard is bytes 40 to 59
		{2, 0, 3}, {3, 0, 3}, {3, 1 << 39, 3}, {4, 0, 3},
		{0, 249, 0}, {0, 250, 1}, {0, 1 << 39, 3}, // a reference by its share of the references
	} {
		if got := in.Shard(blocks.NewKey(tt.file, tt.position)); got != tt.want {
			t.Errorf("file %d, position %d: shard %d, want %d", tt.file, tt.position, got, tt.want)
		}
	}
	empty := &blocks.Inputs{Shards: 4}
	empty.Add(&blocks.File{}, nil, nil)
	empty.Add(&blocks.File{}, nil, nil)
	if got := empty.Shard(blocks.NewKey(1, 0)); got != 0 {
		t.Errorf("of empty files: shard %d, want 0", got)
	}
}

func TestNames(t *testing.T) {
	in := &blocks.Inputs{Shards: 1}
	in.Add(&blocks.File{Source: "news/a.jsonl"}, nil, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	in.Add(&blocks.File{Source: "b.txt", IDIsSource: true}, nil, nil)
	in.Add(&blocks.File{Source: "v1.2/noending"}, nil, []int64{7})
	for i, want := range map[int]string{
		0: "news/a-00000-of-00012.jsonl", 11: "news/a-00011-of-00012.jsonl", 12: "b.txt", 14: "v1.2/noending-00001-of-00002",
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
		{blocks.NewKey(0, 17), "", true, ""}, // an empty id is an id
		{blocks.NewKey(0, 17), "", false, "news/a.jsonl@17"},
		{blocks.NewKey(1, 0), "", false, "b.txt"},
	} {
		if got := in.ID(tt.key, []byte(tt.id), tt.hasID); got != tt.want {
			t.Errorf("id of %v is %q, want %q", tt.key, got, tt.want)
		}
	}
}
