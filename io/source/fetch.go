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
	"github.com/neardup/neardup/internal/dofn"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
)

func init() {
	dofn.Register[fetchFn]()
}

var (
	fetchDocuments = beam.NewCounter("fetch", "documents")
	fetchValues    = beam.NewCounter("fetch", "values")
	fetchDates     = beam.NewCounter("fetch", "dates") // values that do not sort by time
)

// Fetch reads documents a second time: the input does not change, and reading it again is cheaper than
// carrying every text along.
//
//	KV<split, members> → blocks of documents, each with its component and rank, as Read's
//
// A document that has copies becomes a component if it is in none, or in one of its copies
// only. What makes a document a copy overrules its component, and of several documents that
// it is a copy of the first counts: so a copy of a copy in the same split becomes one of the
// first document. One GroupByKey by split; its members are held in memory, 32 bytes each.
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

// resolve returns each document once, in input order, in the place of members.
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
			alone := 1 - m.Of // with its copies
			m.Of, m.Copied = 1, true
			if last.Of > alone {
				m.Component, m.Of = last.Component, last.Of
			}
		}
		all, members = append(all, m), members[n:]
	}
	return all
}

// fetch emits the documents wanted of a split and returns how many have a value in the column to rank by, and how many
// a date there that ends in its year.
func (f *fetchFn) fetch(
	ctx context.Context, in *Inputs, split blocks.Span, wanted []blocks.Member, emit func([]byte),
) (values, dates int64, err error) {
	positions := make([]int64, len(wanted))
	for i, m := range wanted {
		positions[i] = m.Key.Position()
	}
	f.out.begin(emit, nil)
	options := f.Params.Options.of(in.Standing(split.File))
	options.KeepInvalid = true // the first read has refused it
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

// append appends the rank of doc, whose file is source. No key's bytes begin with another value's of the same key, so
// one after another they sort as their keys do.
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
