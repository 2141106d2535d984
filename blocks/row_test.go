package blocks_test

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/records"
)

// read reads one row and its sort key.
func read[T blocks.Row](d *blocks.Decoder) (own, second blocks.Key, got T, err error) {
	own, second, err = readOver(d, &got)
	return own, second, got, err
}

// readOver reads one row into another.
func readOver[T blocks.Row](d *blocks.Decoder, row *T) (own, second blocks.Key, err error) {
	part := d.RowPart()
	own, second = part.Order.A, part.Order.B
	fields := blocks.NewDecoder(part.Fields)
	blocks.DecodeFields(fields, row)
	if err = d.Err(); err == nil {
		err = fields.Err()
	}
	return own, second, err
}

func roundTrip[T blocks.Row](t *testing.T, anyRow *rapid.Generator[T]) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(anyRow, 1, 4).Draw(t, "rows")
		a, b := anyKey.Draw(t, "own"), anyKey.Draw(t, "second")
		var block []byte
		for i := range rows {
			block = blocks.NewRow(nil, a, b, &rows[i]).Append(block)
		}
		d, over := blocks.NewDecoder(block), blocks.NewDecoder(block)
		var row T
		var all []T
		for _, want := range rows {
			own, second, got, err := read[T](d)
			if err != nil || own != a || second != b || !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, %v, %+v, error %v, want %v, %v, %+v", own, second, got, err, a, b, want)
			}
			if _, _, err := readOver(over, &row); err != nil {
				t.Fatal(err)
			}
			all = append(all, row)
		}
		exhausted(t, d)
		if !reflect.DeepEqual(all, rows) {
			t.Fatalf("one over the other: got %+v, want %+v", all, rows)
		}
	})
}

func TestPairsRoundTrip(t *testing.T) {
	roundTrip(t, rapid.Custom(func(t *rapid.T) records.Pair {
		return records.Pair{
			IDA: anyText.Draw(t, "id_a"), IDB: anyText.Draw(t, "id_b"),
			SourceA: anyText.Draw(t, "source_a"), SourceB: anyText.Draw(t, "source_b"),
			PositionA: rapid.Int64().Draw(t, "position_a"), PositionB: rapid.Int64().Draw(t, "position_b"),
			Similarity: rapid.Float64().Draw(t, "similarity"), Same: optional(anyText).Draw(t, "same"), Shared: rapid.Int32().Draw(t, "shared"),
			SizeA: rapid.Int32().Draw(t, "size_a"), SizeB: rapid.Int32().Draw(t, "size_b"),
			InA: optional(anyText).Draw(t, "in_a"), Matches: anyList(rapid.Float64()).Draw(t, "matches"),
		}
	}))
}

func TestClusteredRoundTrip(t *testing.T) {
	roundTrip(t, rapid.Custom(func(t *rapid.T) records.Clustered {
		return records.Clustered{
			Cluster: rapid.Int64().Draw(t, "cluster"), ID: anyText.Draw(t, "id"), Source: anyText.Draw(t, "source"),
			Position: rapid.Int64().Draw(t, "position"), Size: rapid.Int32().Draw(t, "size"),
			Members: rapid.Int32().Draw(t, "members"), Kept: rapid.Bool().Draw(t, "kept"),
			In: optional(anyText).Draw(t, "in"), Partial: optional(rapid.Bool()).Draw(t, "partial"),
		}
	}))
}

func TestRemovedRoundTrip(t *testing.T) {
	roundTrip(t, rapid.Custom(func(t *rapid.T) records.Removed {
		return records.Removed{
			ID: anyText.Draw(t, "id"), Source: anyText.Draw(t, "source"), Position: rapid.Int64().Draw(t, "position"),
			Cluster: rapid.Int64().Draw(t, "cluster"), KeptID: anyText.Draw(t, "kept_id"),
			KeptSource: anyText.Draw(t, "kept_source"), KeptPosition: rapid.Int64().Draw(t, "kept_position"),
			Similarity: optional(rapid.Float64()).Draw(t, "similarity"), Reason: anyText.Draw(t, "reason"),
			KeptIn: optional(anyText).Draw(t, "kept_in"), Differs: anyList(anyText).Draw(t, "differs"),
		}
	}))
}

func TestRejectedRoundTrip(t *testing.T) {
	roundTrip(t, rapid.Custom(func(t *rapid.T) records.Rejected {
		r := records.Rejected{
			Source: anyText.Draw(t, "source"), Position: rapid.Int64().Draw(t, "position"),
			ID: optional(anyText).Draw(t, "id"), Reason: anyText.Draw(t, "reason"), Detail: anyText.Draw(t, "detail"),
		}
		if rapid.Bool().Draw(t, "unreadable") {
			r.Raw = new(append([]byte{}, anyBytes.Draw(t, "raw")...))
		}
		return r
	}))
}

func TestBucketedRoundTrip(t *testing.T) {
	roundTrip(t, rapid.Custom(func(t *rapid.T) records.Bucketed {
		return records.Bucketed{
			Band: rapid.Int32().Draw(t, "band"), Bucket: anyText.Draw(t, "bucket"), Label: anyText.Draw(t, "label"),
			ID: anyText.Draw(t, "id"), Source: anyText.Draw(t, "source"), Position: rapid.Int64().Draw(t, "position"),
		}
	}))
}

func TestCandidatesRoundTrip(t *testing.T) {
	roundTrip(t, rapid.Custom(func(t *rapid.T) records.Candidate {
		return records.Candidate{
			IDA: anyText.Draw(t, "id_a"), IDB: anyText.Draw(t, "id_b"),
			SourceA: anyText.Draw(t, "source_a"), SourceB: anyText.Draw(t, "source_b"),
			PositionA: rapid.Int64().Draw(t, "position_a"), PositionB: rapid.Int64().Draw(t, "position_b"),
		}
	}))
}

// TestStringColumnsAreUTF8: ids and file names may be any bytes, but a Parquet string may not.
func TestStringColumnsAreUTF8(t *testing.T) {
	const latin, want = "caf\xe9\xff au lait", "caf\uFFFD au lait"
	raw := []byte(latin)
	var block []byte
	block = blocks.NewRow(nil, 0, 0, &records.Pair{IDA: latin, IDB: latin, SourceA: latin, SourceB: latin}).Append(block)
	block = blocks.NewRow(nil, 0, 0, &records.Clustered{ID: latin, Source: latin}).Append(block)
	block = blocks.NewRow(nil, 0, 0, &records.Removed{ID: latin, Source: latin, KeptID: latin, KeptSource: latin, Reason: latin}).Append(block)
	block = blocks.NewRow(nil, 0, 0, &records.Rejected{Source: latin, ID: new(latin), Reason: latin, Detail: latin, Raw: &raw}).Append(block)
	block = blocks.NewRow(nil, 0, 0, &records.Bucketed{ID: latin, Source: latin}).Append(block)
	block = blocks.NewRow(nil, 0, 0, &records.Candidate{IDA: latin, IDB: latin, SourceA: latin, SourceB: latin}).Append(block)
	d := blocks.NewDecoder(block)
	_, _, pair, _ := read[records.Pair](d)
	_, _, clustered, _ := read[records.Clustered](d)
	_, _, removed, _ := read[records.Removed](d)
	_, _, rejected, _ := read[records.Rejected](d)
	_, _, bucketed, _ := read[records.Bucketed](d)
	_, _, candidate, err := read[records.Candidate](d)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{
		"id_a": pair.IDA, "id_b": pair.IDB, "source_a": pair.SourceA, "source_b": pair.SourceB,
		"clustered id": clustered.ID, "clustered source": clustered.Source,
		"removed id": removed.ID, "removed source": removed.Source, "kept_id": removed.KeptID,
		"kept_source": removed.KeptSource, "removed reason": removed.Reason,
		"rejected source": rejected.Source, "rejected id": *rejected.ID,
		"rejected reason": rejected.Reason, "detail": rejected.Detail,
		"bucketed id": bucketed.ID, "bucketed source": bucketed.Source,
		"candidate id_a": candidate.IDA, "candidate id_b": candidate.IDB,
		"candidate source_a": candidate.SourceA, "candidate source_b": candidate.SourceB,
	} {
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if string(*rejected.Raw) != latin {
		t.Errorf("raw is %q, want it untouched", *rejected.Raw)
	}
}

func TestTallies(t *testing.T) {
	const first, later = blocks.Key(3), blocks.Key(5)
	for name, got := range map[string][2]string{
		"pair of copies":           {blocks.CountName(&records.Pair{Similarity: 1, Same: new(records.ReasonEqual)}, first), blocks.CountCopies},
		"vectors of one direction": {blocks.CountName(&records.Pair{Similarity: 1}, first), blocks.CountNear},
		"near pair":                {blocks.CountName(&records.Pair{Similarity: 0.99}, first), blocks.CountNear},
		"cluster's first":          {blocks.CountName(&records.Clustered{Cluster: int64(first)}, first), blocks.CountClusters},
		"cluster's second":         {blocks.CountName(&records.Clustered{Cluster: int64(first)}, later), ""},
		"removed identical":        {blocks.CountName(&records.Removed{Reason: records.ReasonIdentical, Similarity: new(1.)}, first), blocks.CountIdentical},
		"removed equal":            {blocks.CountName(&records.Removed{Reason: records.ReasonEqual, Similarity: new(1.)}, first), blocks.CountEqual},
		"removed same-set":         {blocks.CountName(&records.Removed{Reason: records.ReasonSameSet, Similarity: new(1.)}, first), blocks.CountSameSet},
		"removed near":             {blocks.CountName(&records.Removed{Reason: records.ReasonNear, Similarity: new(0.9)}, first), blocks.CountNear},
		"removed by chains":        {blocks.CountName(&records.Removed{Reason: records.ReasonNear}, first), blocks.CountChained},
		"unreadable record":        {blocks.CountName(&records.Rejected{Raw: new([]byte(strings.Repeat("x", 3)))}, first), blocks.CountUnreadable},
		"not compared":             {blocks.CountName(&records.Rejected{Reason: records.ReasonNoToken}, first), "not_compared no token"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s counts as %q, want %q", name, got[0], got[1])
		}
	}
}
