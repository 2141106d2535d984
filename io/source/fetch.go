package source

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
)

func init() {
	flow.Register[fetchFn]()
}

var (
	fetchDocuments = beam.NewCounter("fetch", "documents")
	fetchValues    = beam.NewCounter("fetch", "values")
	fetchDates     = beam.NewCounter("fetch", "dates") // values that are dates but do not sort by time
)

// Fetch reads documents a second time: the input does not change, and reading it again is cheaper than carrying every
// text along.
//
//	KV<split, members> → blocks of documents, as Read's, each with its component and rank
//
// A document that has copies becomes a component of its own if it is in none, or in one with its copies only. If a
// document is a copy, that overrides its component; if it is a copy of several documents, the first of them counts, so
// a copy of a copy in the same split becomes a copy of the first document. One GroupByKey by split, whose members are
// held in memory at 32 bytes each.
func Fetch(s beam.Scope, members flow.Members, p Params) flow.Fetched {
	s = s.Scope("source.Fetch")
	return flow.Fetched(beam.ParDo(s, &fetchFn{Params: p}, beam.GroupByKey(s, beam.PCollection(members))))
}

type fetchFn struct {
	Params Params

	out blockWriter
}

func (f *fetchFn) ProcessElement(
	ctx context.Context, number int64, packed func(*[]byte) bool, emit func([]byte),
) error {
	in, err := Shared(ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	var wanted []blocks.Member
	var block []byte
	for packed(&block) {
		if wanted, err = blocks.DecodeMembers(wanted, block); err != nil {
			return err
		}
	}
	wanted = resolve(wanted)
	split := in.Splits.At(int(number))
	values, dates, err := f.fetch(ctx, in, split, wanted, emit)
	switch {
	case err != nil && in.Stores(blocks.NewKey(split.File, 0)):
		return fmt.Errorf("reading again: %w; neardup index check says what is damaged", err)
	case err != nil:
		return fmt.Errorf("reading again: %w", err)
	}
	fetchDocuments.Inc(ctx, int64(len(wanted)))
	fetchValues.Inc(ctx, values)
	fetchDates.Inc(ctx, dates)
	return nil
}

// resolve returns each document once, in input order. It overwrites members.
func resolve(members []blocks.Member) []blocks.Member {
	slices.SortFunc(members, blocks.Member.Compare)
	all := members[:0]
	for len(members) > 0 {
		m, n := members[0], 1
		for n < len(members) && members[n].Key == m.Key {
			n++
		}
		switch last := members[n-1]; {
		case m.IsCopy():
			i, found := slices.BinarySearchFunc(all, m.Component,
				func(m blocks.Member, key blocks.Key) int { return cmp.Compare(m.Key, key) })
			if found && all[i].IsCopy() {
				m.Component = all[i].Component
			}
		case m.HasCopies():
			alone := 1 - m.Of // the document and its copies
			m.Of, m.Copied = 1, true
			if last.Of > alone {
				m.Component, m.Of = last.Component, last.Of
			}
		}
		all, members = append(all, m), members[n:]
	}
	return all
}

// fetch emits the wanted documents of a split. It returns how many have a value in the column to rank by, and how many
// of these values are dates that end in the year.
func (f *fetchFn) fetch(
	ctx context.Context, in *Inputs, split blocks.Span, wanted []blocks.Member, emit func([]byte),
) (values, dates int64, err error) {
	positions := make([]int64, len(wanted))
	for i, m := range wanted {
		positions[i] = m.Key.Position()
	}
	f.out.begin(emit, nil)
	options := f.Params.Options.of(in.Standing(split.File))
	options.KeepInvalid = true // the first read has refused invalid texts
	source := in.Name(split.File)
	var rank []byte
	err = recordsAt(ctx, in, split, positions, options, func(record *reading.Record) error {
		m, doc := wanted[0], record.Doc
		wanted = wanted[1:]
		if doc.Value.Kind != codec.NoValue {
			values++
		}
		if doc.Value.Kind == codec.StringValue && endsInYear(doc.Value.Text) {
			dates++
		}
		rank = options.Rank.append(rank[:0], source, doc)
		f.out.add(&blocks.Document{
			Key: m.Key, ID: doc.ID, HasID: doc.HasID, Component: m.Component, Of: int(m.Of), Copied: m.Copied,
			Rank: rank, Text: doc.Text, Ends: in.Ends(m.Key, doc.ID, doc.Ends), Values: doc.Values,
		})
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	f.out.flush()
	return values, dates, nil
}

var dateWithLateYear = regexp.MustCompile(`^\d{1,2}([./-])\d{1,2}[./-](\d{2}|\d{4})\b`)

// endsInYear reports whether a value is a date with the day or the month first, as 9/3/2026.
func endsInYear(value []byte) bool {
	return len(value) > 0 && value[0] <= '9' && dateWithLateYear.Match(value)
}

// append appends the rank of doc, a document of the file source. No value of a key is encoded as a prefix of another
// value of that key, so concatenated keys sort as the keys do.
func (r Rank) append(dst []byte, source string, doc *codec.Document) []byte {
	for _, k := range r {
		switch {
		case k.Column != "":
			dst = codec.AppendRank(dst, doc.Value, k.Largest)
		case k.Length:
			length := strconv.AppendInt(nil, int64(len(doc.Text)), 10)
			dst = codec.AppendRank(dst, codec.Value{Kind: codec.NumberValue, Text: length}, k.Largest)
		default:
			dst = binary.BigEndian.AppendUint32(dst, uint32(FirstMatch(k.Globs, source)))
		}
	}
	return dst
}
