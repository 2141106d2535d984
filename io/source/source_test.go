package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/reading/readertest"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/records"
)

// share passes in to the workers.
func share(t *testing.T, in *Inputs, o Options) Params {
	t.Helper()
	path := filepath.Join(storagetest.RunFolder(t), "inputs")
	if err := in.Share(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Forget(path) })
	return Params{Inputs: path, Options: o}
}

// output collects what readFn emits.
type output struct {
	local, spread []blocks.Document
	rejected      map[int64][]records.Rejected // by shard
	dropped       map[int64][]blocks.Key       // by batch
	facts         []blocks.Fact
}

// run reads all splits.
func run(t *testing.T, in *Inputs, o Options) output {
	t.Helper()
	return runWith(t, in, o, 1)
}

func runWith(t *testing.T, in *Inputs, o Options, workers int) output {
	t.Helper()
	f := &readFn{Params: share(t, in, o)}
	f.Params.Workers = workers
	var rows blocks.RowJoiner
	out := output{rejected: map[int64][]records.Rejected{}, dropped: map[int64][]blocks.Key{}}
	for i := range in.Splits.Len() {
		err := f.ProcessElement(t.Context(), int64(i),
			func(block []byte) { out.local = append(out.local, documents(t, block)...) },
			func(block []byte) { out.spread = append(out.spread, documents(t, block)...) },
			func(shard int64, block []byte) {
				out.rejected[shard] = append(out.rejected[shard], rejected(t, &rows, block)...)
			},
			func(batch int64, block []byte) { out.dropped[batch] = append(out.dropped[batch], keys(t, block)...) },
			func(line []byte) {
				var fact blocks.Fact
				if err := json.Unmarshal(line, &fact); err != nil {
					t.Fatal(err)
				}
				out.facts = append(out.facts, fact)
			}, func(int64, []byte) { t.Error("a record is listed") })
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

func documents(t *testing.T, block []byte) (docs []blocks.Document) {
	t.Helper()
	d := blocks.NewDecoder(bytes.Clone(block)) // a block may be reused
	for !d.Done() {
		docs = append(docs, d.Document())
	}
	if d.Err() != nil || len(docs) == 0 && len(block) > 0 || len(block) > 1<<20 && len(docs) > 1 {
		t.Fatalf("a block of %d documents in %d bytes, error %v", len(docs), len(block), d.Err())
	}
	return docs
}

func keys(t *testing.T, block []byte) (keys []blocks.Key) {
	t.Helper()
	d := blocks.NewDecoder(block)
	for !d.Done() {
		keys = append(keys, d.Key())
	}
	if d.Err() != nil {
		t.Fatal(d.Err())
	}
	return keys
}

func rejected(t *testing.T, parts *blocks.RowJoiner, block []byte) (rows []records.Rejected) {
	t.Helper()
	d := blocks.NewDecoder(block)
	for !d.Done() {
		part, whole, err := parts.Add(d.RowPart())
		if err != nil {
			t.Fatal(err)
		}
		if !whole {
			continue
		}
		own, second := part.Order.A, part.Order.B
		fields := blocks.NewDecoder(part.Fields)
		var row records.Rejected
		blocks.DecodeFields(fields, &row)
		if own != second || own.Position() != row.Position || fields.Err() != nil || d.Err() != nil {
			t.Fatalf("row %+v with sort key %v, %v", row, own, second)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestEndsAreRead checks that a document with several text columns records where they end.
func TestEndsAreRead(t *testing.T) {
	for columns, want := range map[string]string{"a": "", "a b": "\x03"} {
		o := Options{Fields: codec.Fields{Text: strings.Fields(columns)}, MaxDocument: 1000}
		out := run(t, inputs(t, o, write(t, t.TempDir(), "a.jsonl", []byte(`{"a":"one","b":"two"}`))), o)
		if len(out.local) != 1 || string(out.local[0].Ends) != want {
			t.Errorf("%s: %+v", columns, out.local)
		}
	}
}

// TestRead checks that every record is either a document or rejected, whatever the splits.
func TestRead(t *testing.T) {
	for _, f := range codectest.Samples() {
		for _, splitBytes := range []int64{0, 1, 10} {
			o := optionsOf(f)
			o.SplitBytes = splitBytes
			in := inputs(t, o, write(t, storagetest.RunFolder(t), "file"+f.Ending, f.Content))
			out := run(t, in, o)
			var want []blocks.Document
			var bad []int64
			for _, rec := range codectest.Seen(f.Records, o.MaxRecord()) {
				if rec.Unreadable {
					bad = append(bad, rec.Position)
					continue
				}
				want = append(want, blocks.Document{
					Key: blocks.NewKey(0, rec.Position), ID: []byte(rec.ID), HasID: rec.ID != "", Text: []byte(rec.Text),
				})
			}
			same := func(a, b blocks.Document) bool {
				return a.Key == b.Key && a.HasID == b.HasID && string(a.ID) == string(b.ID) && string(a.Text) == string(b.Text) && a.Component == 0
			}
			if !slices.EqualFunc(out.local, want, same) || len(out.spread) != 0 {
				t.Errorf("%s: documents %+v\nwant %+v", f.Format, out.local, want)
			}
			var rows, drops []int64
			for _, row := range out.rejected[0] {
				rows = append(rows, row.Position)
				rec := f.Records[slices.IndexFunc(f.Records, func(r codectest.Planted) bool { return r.Position == row.Position })]
				if row.Source != "file"+f.Ending || string(*row.Raw) != rec.Raw || !strings.HasSuffix(row.Detail, fmt.Sprintf("; the record has %d bytes", len(rec.Raw))) {
					t.Errorf("%s: row %+v of %+v", f.Format, row, rec)
				}
			}
			for _, key := range out.dropped[0] {
				drops = append(drops, key.Position())
			}
			if !slices.Equal(rows, bad) || !slices.Equal(drops, bad) {
				t.Errorf("%s: rejected %v, dropped %v, want %v", f.Format, rows, drops, bad)
			}
			sum := map[string]int64{}
			var bytes int64
			for i, fact := range out.facts {
				if fact.Kind != blocks.FactRead || fact.Name != fmt.Sprint(i) {
					t.Errorf("fact %d is %+v", i, fact)
				}
				for name, n := range fact.Counts {
					sum[name] += n
				}
				bytes += fact.Bytes
			}
			if sum[blocks.CountRecords] != int64(len(codectest.Seen(f.Records, o.MaxRecord()))) || sum[blocks.CountUnreadable] != int64(len(bad)) ||
				bytes != int64(len(f.Content)-f.Header) || len(out.facts) != in.Splits.Len() {
				t.Errorf("%s: counts %v of %d bytes in %d facts", f.Format, sum, bytes, len(out.facts))
			}
		}
	}
}

// TestReadRejects checks what happens to records that are unreadable, too large or have no text.
func TestReadRejects(t *testing.T) {
	const most = 1000 // bytes of text
	o := Options{Fields: fields, MaxDocument: most, SplitBytes: 16 << 20}
	limit := o.MaxRecord()
	f := &codectest.Sample{}
	f.Record(`{"id":"fits","text":"`+strings.Repeat("x", most)+"\"}\n", "", "")
	f.Record(`{"id":"large","text":"`+strings.Repeat("x", most+1)+"\"}\n", "", "")
	f.Record(`{"text":"`+strings.Repeat("x", most+1)+"\"}\n", "", "")
	f.Record(`{"text":"x","id":"`+strings.Repeat("i", limit)+"\"}\n", "", "")
	broken := `{"text":"` + strings.Repeat("y", records.MaxRaw) + "\n"
	f.Record(broken, "", "")
	f.Record(`{"id":"`+strings.Repeat("i", MaxID)+`","text":true}`+"\n", "", "")
	f.Record(`{"id":"`+strings.Repeat("i", MaxID+1)+`","text":"x"}`+"\n", "", "")
	f.Record(`{"id":"`+strings.Repeat("i", MaxID+1)+`","text":true}`+"\n", "", "")
	f.Record(`{"id":"last","text":"x"}`, "", "")
	root := storagetest.RunFolder(t)
	write(t, root, "a.jsonl", f.Content)
	write(t, root, "b.sgm", []byte(`<REUTERS OLDID="7"><TITLE>only</TITLE></REUTERS>`))
	in := inputs(t, o, root+"/a.jsonl", root+"/b.sgm")
	in.Shards = 2
	out := run(t, in, o)

	var ids []string
	for _, doc := range out.local {
		ids = append(ids, string(doc.ID))
	}
	if want := []string{"fits", "last"}; !slices.Equal(ids, want) {
		t.Errorf("documents %q, want %q", ids, want)
	}
	type row struct {
		source, id, reason, detail string
		raw                        int
	}
	var got []row
	for shard := range int64(2) {
		for _, r := range out.rejected[shard] {
			if want := in.Shard(blocks.NewKey(slices.Index(sources(in), r.Source), r.Position)); shard != int64(want) {
				t.Errorf("the row at %d of %s is in shard %d, want %d", r.Position, r.Source, shard, want)
			}
			id := "null"
			if r.ID != nil {
				id = *r.ID
			}
			raw := 0
			if r.Raw != nil {
				raw = len(*r.Raw)
			}
			got = append(got, row{r.Source, id, r.Reason, r.Detail, raw})
		}
	}
	at := func(i int) string { return fmt.Sprintf("a.jsonl@%d", f.Records[i].Position) }
	want := []row{
		{"a.jsonl", "large", "too large", "1001 bytes of text; --max-doc-bytes is 1000", 0},
		{"a.jsonl", at(2), "too large", "1001 bytes of text; --max-doc-bytes is 1000", 0},
		{"a.jsonl", "null", "too large", fmt.Sprintf("the record is larger than %d bytes; raise --max-doc-bytes to compare it", limit), 0},
		{"a.jsonl", "null", codec.BrokenJSON, fmt.Sprintf("column %d: unexpected end of line; the record has %d bytes", len(broken), len(broken)), 1 << 20},
		{"a.jsonl", strings.Repeat("i", MaxID), codec.TextNotString, fmt.Sprintf("\"text\" is a boolean; the record has %d bytes", len(f.Records[5].Raw)), len(f.Records[5].Raw)},
		{"a.jsonl", at(6), "id too long", "the id has 4097 bytes (maximum: 4096)", 0},
		{"a.jsonl", at(7), codec.TextNotString, fmt.Sprintf("\"text\" is a boolean; the record has %d bytes", len(f.Records[7].Raw)), len(f.Records[7].Raw)},
		{"b.sgm", "7", "no text", "", 0},
	}
	if !slices.Equal(got, want) {
		t.Errorf("rejected\n%+v\nwant\n%+v", got, want)
	}
	var unreadable []blocks.Key
	for _, i := range []int{4, 5, 7} {
		unreadable = append(unreadable, blocks.NewKey(0, f.Records[i].Position))
	}
	if got, want := out.dropped[in.Batch(unreadable[0])], unreadable; !slices.Equal(got, want) || len(out.dropped) != 1 {
		t.Errorf("dropped %v, want %v", out.dropped, want)
	}
	if got := out.facts[0].Counts; got[blocks.CountRecords] != 9 || got[blocks.CountUnreadable] != 3 {
		t.Errorf("counts %v", got)
	}
}

// TestReadSpread checks that the blocks of a large compressed file are spread, except for documents that are too large
// to travel.
func TestReadSpread(t *testing.T) {
	var lines strings.Builder
	noise := uint32(1)
	for range 25_000 {
		for range 10 {
			noise = noise*1664525 + 1013904223
			fmt.Fprintf(&lines, "%08x", noise)
		}
		lines.WriteString("\n")
	}
	lines.WriteString(strings.Repeat("x", blocks.BlockBytes+1) + "\n")
	o := Options{Format: "lines", Fields: fields, MaxDocument: 1 << 20}
	for _, tt := range []struct {
		compression            string
		workers, local, spread int
	}{{"", 100, 25_001, 0}, {"zstd", 3, 1, 25_000}, {"zstd", 2, 25_001, 0}} {
		in := inputs(t, o, write(t, storagetest.RunFolder(t), "file", readertest.Pack(t, []byte(lines.String()), tt.compression)))
		if tt.compression != "" && in.Size(0) <= spreadBytes {
			t.Fatalf("the file has %d bytes only", in.Size(0))
		}
		out := runWith(t, in, o, tt.workers)
		if len(out.local) != tt.local || len(out.spread) != tt.spread {
			t.Errorf("%q with %d workers: %d documents stay and %d travel, want %d and %d", tt.compression, tt.workers, len(out.local), len(out.spread), tt.local, tt.spread)
		}
	}
}

func TestReadErrors(t *testing.T) {
	o := Options{Fields: fields, MaxDocument: 1000}
	path := write(t, storagetest.RunFolder(t), "file.jsonl", []byte(oneDocument))
	in := inputs(t, o, path)
	write(t, "", path, []byte(oneDocument+oneDocument))
	none := func([]byte) { t.Error("something was emitted") }
	none2 := func(int64, []byte) { t.Error("something was emitted") }
	f := &readFn{Params: share(t, in, o)}
	if err := f.ProcessElement(t.Context(), 0, none, none, none2, none2, none, none2); err == nil || !strings.HasPrefix(err.Error(), path) {
		t.Errorf("of a file that grew: error %v", err)
	}
	f = &readFn{Params: Params{Inputs: path + ".missing"}}
	if err := f.ProcessElement(t.Context(), 0, none, none, none2, none2, none, none2); err == nil {
		t.Error("without inputs: no error")
	}
}

func TestSplitsFn(t *testing.T) {
	in := &Inputs{Inputs: &blocks.Inputs{Shards: 1}}
	in.Add(&blocks.File{Source: "a", Size: 9}, []int64{3, 6}, nil)
	var got []int64
	f := &splitsFn{Inputs: share(t, in, Options{}).Inputs}
	if err := f.ProcessElement(t.Context(), nil, func(i int64) { got = append(got, i) }); err != nil {
		t.Fatal(err)
	}
	if want := []int64{0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("splits %v, want %v", got, want)
	}
}

// iterate returns an iterator over blocks like that of a grouped value.
func iterate(packed ...[]byte) func(*[]byte) bool {
	return func(block *[]byte) bool {
		if len(packed) == 0 {
			return false
		}
		*block, packed = packed[0], packed[1:]
		return true
	}
}

// TestFetch reads documents again, requested in any order.
func TestFetch(t *testing.T) {
	var lengths []int
	for i := range 300 {
		lengths = append(lengths, 200+i*i%10_000)
	}
	f := codectest.OfLengths("jsonl", lengths...)
	for _, compression := range []string{"", "gzip"} {
		o := Options{Format: "jsonl", Fields: fields, MaxDocument: 1 << 20, SplitBytes: 1 << 20}
		in := inputs(t, o, write(t, storagetest.RunFolder(t), "file", readertest.Pack(t, f.Content, compression)))
		if compression == "" && in.Splits.Len() < 2 {
			t.Fatal("one split only")
		}
		members := map[int64][][]byte{}
		wanted := map[blocks.Key]string{}
		for i := len(f.Records) - 1; i >= 0; i -= 1 + i%70 {
			key := blocks.NewKey(0, f.Records[i].Position)
			wanted[key] = f.Records[i].Text
			split := int64(in.Split(key))
			members[split] = append(members[split], blocks.AppendMember(nil, blocks.Member{Key: key, Component: key / 2, Of: 2}))
		}
		fn := &fetchFn{Params: share(t, in, o)}
		for split, packed := range members {
			err := fn.ProcessElement(t.Context(), split, iterate(packed...), func(block []byte) {
				for _, doc := range documents(t, block) {
					if text, ok := wanted[doc.Key]; !ok || string(doc.Text) != text || doc.Component != doc.Key/2 || doc.Of != 2 || doc.Copied {
						t.Errorf("document %v of %d bytes for %v was wanted: %v", doc.Key, len(doc.Text), doc.Component, ok)
					}
					delete(wanted, doc.Key)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(wanted) != 0 {
			t.Errorf("%d documents are missing", len(wanted))
		}
		key, read := blocks.NewKey(0, f.Records[150].Position), 0
		err := Lookup(t.Context(), in, []blocks.Key{key, key}, o, func(blocks.Document) { read++ })
		if err != nil || read != 1 {
			t.Errorf("a document named twice was read %d times: error %v", read, err)
		}
		text, err := Text(t.Context(), in, key, o)
		if err != nil || text != f.Records[150].Text {
			t.Errorf("Text: %d bytes, error %v", len(text), err)
		}
		if _, err := Text(t.Context(), in, blocks.NewKey(0, f.Records[150].Position+1), o); err == nil || !strings.Contains(err.Error(), "no record begins there") {
			t.Errorf("Text of no document: error %v", err)
		}
		wrong := blocks.AppendMember(nil, blocks.Member{Key: blocks.NewKey(0, 1)})
		err = fn.ProcessElement(t.Context(), 0, iterate(wrong), func([]byte) {})
		if err == nil || !strings.Contains(err.Error(), in.File(0).Path+" at byte 1: no record begins there") {
			t.Errorf("a document that is not there: error %v", err)
		}
		if err := fn.ProcessElement(t.Context(), 0, iterate([]byte("x")), func([]byte) {}); err == nil {
			t.Error("a corrupt block of members: no error")
		}
	}
}

// TestFetchRanks checks that documents get the ranks to sort by if these are requested, and no extra bytes otherwise.
func TestFetchRanks(t *testing.T) {
	path := write(t, storagetest.RunFolder(t), "a.jsonl", []byte(`{"id":"a","text":"xx","n":{"v":"7"}}
{"id":"b","text":"xxxxxxxxxx","n":{"v":-7}}
{"id":"c","text":"","n":{"v":null}}
{"id":"d","text":"éé","n":{"v":70}}
`))
	for _, tt := range []struct {
		rank Rank
		want string
	}{
		{Rank{{Column: "n.v"}}, "bdac"},
		{Rank{{Column: "n.v", Largest: true}}, "dbac"},
		{Rank{{Length: true}}, "cadb"},
		{Rank{{Length: true, Largest: true}}, "bdac"},
		{nil, "abcd"},
	} {
		o := Options{Fields: fields, MaxDocument: 1 << 20, Rank: tt.rank}
		in := inputs(t, o, path)
		var members []byte
		for _, doc := range run(t, in, o).local {
			if len(doc.Rank) > 0 {
				t.Errorf("%+v: the first read ranks", tt.rank)
			}
			members = blocks.AppendMember(members, blocks.Member{Key: doc.Key})
		}
		var docs []blocks.Document
		err := (&fetchFn{Params: share(t, in, o)}).ProcessElement(t.Context(), 0, iterate(members), func(block []byte) {
			docs = append(docs, documents(t, block)...)
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(docs, func(a, b blocks.Document) int { return bytes.Compare(a.Rank, b.Rank) })
		got := ""
		for _, doc := range docs {
			got += string(doc.ID)
			if tt.rank == nil && len(doc.Rank) > 0 {
				t.Errorf("document %s has a rank of %d bytes", doc.ID, len(doc.Rank))
			}
		}
		if got != tt.want {
			t.Errorf("%+v: order %s, want %s", tt.rank, got, tt.want)
		}
	}
}

// TestSpreadBlocksAreNotReused checks that the receiver of a spread block may keep it.
func TestSpreadBlocksAreNotReused(t *testing.T) {
	var w blockWriter
	var held [][]byte
	w.begin(func([]byte) { t.Error("a block stays") }, func(block []byte) { held = append(held, block) })
	const documents = 10
	for i := range documents {
		w.add(&blocks.Document{Key: blocks.NewKey(0, int64(i)), Text: bytes.Repeat([]byte{'x'}, blocks.BlockBytes)})
	}
	w.flush()
	for i, block := range held {
		if doc := blocks.NewDecoder(block).Document(); doc.Key != blocks.NewKey(0, int64(i)) {
			t.Errorf("block %d begins with %v", i, doc.Key)
		}
	}
	if len(held) != documents {
		t.Errorf("%d blocks, want %d", len(held), documents)
	}
}
