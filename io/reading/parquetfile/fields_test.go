package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	core "github.com/neardup/neardup/io/codec/parquet"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
)

// nested is a row with everything that a path can lead through.
type nested struct {
	Meta struct {
		Title string  `parquet:"title"`
		Score float64 `parquet:"score"`
	} `parquet:"meta"`
	Dotted string   `parquet:"meta.title"`
	Tags   []string `parquet:"tags,list"`
	Turns  []struct {
		Role string `parquet:"role"`
		Text string `parquet:"text"`
	} `parquet:"turns,list"`
	Plain []string          `parquet:"plain"`
	Map   map[string]string `parquet:"map"`
	Flag  bool              `parquet:"flag"`
	Count int64             `parquet:"count,optional"`
}

// planted writes a file below folders, and inspects it.
func planted[T any](t *testing.T, folders string, o codec.Fields, rows ...T) (*blocks.File, error) {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), folders, "file.parquet")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	file := readertest.Listed(t, path)
	return file, Reader{}.Inspect(t.Context(), file, reading.Options{Fields: o, MaxRecord: 1 << 20})
}

// described returns, for each row, a description of what was read.
func described(t *testing.T, file *blocks.File, o codec.Fields) (all []string) {
	t.Helper()
	_, err := Reader{}.Read(t.Context(), file, []blocks.Span{{End: blocks.End}}, reading.Options{Fields: o, MaxRecord: 1 << 20}, func(r *reading.Record) error {
		d := r.Doc
		all = append(all, fmt.Sprintf("id %v %q text %v %q missing %v value %d %q", d.HasID, d.ID, !d.NoText, d.Text, d.Missing, d.Value.Kind, d.Value.Text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFields(t *testing.T) {
	var row nested
	row.Meta.Title, row.Meta.Score, row.Dotted = "inner", 0.1, "dotted"
	row.Tags, row.Plain = []string{"one", "two"}, []string{"three", "four"}
	row.Map = map[string]string{"key": "word"}
	row.Turns = slices.Grow(row.Turns, 2)[:2]
	row.Turns[0].Role, row.Turns[0].Text, row.Turns[1].Role, row.Turns[1].Text = "user", "question", "bot", "answer"
	for _, c := range []struct {
		folders string
		o       codec.Fields
		want    string // description of the row, or the error
	}{
		{"", codec.Fields{Text: []string{"meta.title"}}, `id false "" text true "dotted" missing [] value 0 ""`},
		{"", codec.Fields{Text: []string{"tags"}, ID: "meta.title", Value: "meta.score"}, `id true "dotted" text true "one two" missing [] value 1 "0.1"`},
		{"", codec.Fields{Text: []string{"tags.list.element", "plain"}}, `id false "" text true "one two three four" missing [] value 0 ""`},
		{"", codec.Fields{Text: []string{"tags", "absent", "plain"}, Items: true}, `id false "" text true "one\ntwo\nthree\nfour\n" missing [1] value 0 ""`},
		{"", codec.Fields{Text: []string{"tags", "plain", "absent"}, Values: 2, Items: true}, `id false "" text true "one\ntwo\n three four " missing [2] value 0 ""`},
		{"", codec.Fields{Text: []string{"turns.text"}, ID: "id"}, `id false "" text true "question answer" missing [] value 0 ""`},
		{"", codec.Fields{Text: []string{"turns.list.element.role", "absent"}}, `id false "" text true "user bot " missing [1] value 0 ""`},
		{"", codec.Fields{Text: []string{"map.key_value.value"}}, `id false "" text true "word" missing [] value 0 ""`},
		{"", codec.Fields{Text: []string{"meta.score"}, Value: "flag"}, `id false "" text true "0.1" missing [] value 0 ""`},
		{"", codec.Fields{Text: []string{"count"}, ID: "count"}, `id false "" text false "" missing [] value 0 ""`},
		{"dt=2026-11-20/lang=de", codec.Fields{Text: []string{"tags"}, ID: "lang", Value: "dt"}, `id true "de" text true "one two" missing [] value 2 "2026-11-20"`},
		{"year=2025/year=2026", codec.Fields{Text: []string{"tags"}, Value: "year"}, `id false "" text true "one two" missing [] value 1 "2026"`},
		{"name=a%2Fb%", codec.Fields{Text: []string{"tags"}, ID: "name"}, `id true "a/b%" text true "one two" missing [] value 0 ""`},
		{"name=__HIVE_DEFAULT_PARTITION__", codec.Fields{Text: []string{"tags"}, ID: "name"}, `id false "" text true "one two" missing [] value 0 ""`},
		{"flag=other", codec.Fields{Text: []string{"tags"}, Value: "flag"}, `id false "" text true "one two" missing [] value 0 ""`},
		{"text=de", codec.Fields{Text: []string{"text"}}, `"text" is the name of a folder, not of a column`},
		{"", codec.Fields{Text: []string{"absent"}}, `no text column "absent"; the columns are "`},
		{"", codec.Fields{Text: []string{"tags"}, ID: "absent"}, `no id column "absent"; the columns are`},
		{"", codec.Fields{Text: []string{"tags"}, Value: "absent"}, `no column "absent" to rank documents by; the columns are "meta.`},
		{"dt=2026-11-19/%C3%A9=1/dt=2026-11-20", codec.Fields{Text: []string{"tags"}, ID: "absent"}, `no id column "absent"; the columns are "dt", "é", "meta.`},
		{"dt=2026-11-20", codec.Fields{Text: []string{"tags"}, Value: "absent"}, `no column "absent" to rank documents by; the columns are "dt", "meta.`},
		{"dt=2026-11-20", codec.Fields{Text: []string{"absent"}}, `no text column "absent"; the columns are "meta.`},
		{"", codec.Fields{Text: []string{"turns"}}, `column "turns" is a group; name one of its columns: "turns.role", "turns.text"`},
		{"", codec.Fields{Text: []string{"meta"}}, `column "meta" is a group; name one of its columns: "meta.`},
		{"", codec.Fields{Text: []string{"flag"}}, `text column "flag" holds booleans, not text`},
		{"", codec.Fields{Text: []string{"tags"}, ID: "tags"}, `id column "tags.list.element" is a list`},
		{"", codec.Fields{Text: []string{"tags"}, ID: "flag"}, `id column "flag" holds booleans, not ids`},
	} {
		file, err := planted(t, c.folders, c.o, row)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), file.Path) {
				t.Errorf("%s %+v: error %v, want %q", c.folders, c.o, err, c.want)
			}
			continue
		}
		if got := described(t, file, c.o); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s %+v:\n%s, want\n%s", c.folders, c.o, got, c.want)
		}
	}
}

// TestColumnTypes: the type of a column says what its values mean to people, such as times.
func TestColumnTypes(t *testing.T) {
	type row struct {
		Text  string    `parquet:"text"`
		When  time.Time `parquet:"when,timestamp(microsecond)"`
		Day   int32     `parquet:"day,date"`
		At    int64     `parquet:"at,time(microsecond)"`
		Price int64     `parquet:"price,decimal(2:9)"`
		Key   [16]byte  `parquet:"key,uuid"`
		N     int64     `parquet:"n"`
	}
	file, err := planted(t, "", codec.Fields{Text: []string{"text"}}, row{Text: "one"})
	if err != nil {
		t.Fatal(err)
	}
	columns, err := Columns(t.Context(), file)
	want := "[{text string} {when timestamp} {day date} {at time} {price decimal} {key uuid} {n int64}]"
	if got := fmt.Sprint(columns); got != want || err != nil {
		t.Errorf("columns %s, error %v; want %s", got, err, want)
	}
	for converted, want := range convertedKinds { // in files of old writers
		root := &core.Node{Children: []*core.Node{{Converted: converted}}}
		if got := columnsOf(root); got[0].Type != want {
			t.Errorf("%v: %s, want %s", converted, got[0].Type, want)
		}
	}
}

// TestDrift: files of one input may have a column with different number types, whose values are ordered alike.
func TestDrift(t *testing.T) {
	o := codec.Fields{Text: []string{"text"}, Value: "n"}
	type narrow struct {
		Text string `parquet:"text"`
		N    int32  `parquet:"n"`
	}
	type wide struct {
		N    int64  `parquet:"n"`
		Text string `parquet:"text"`
	}
	type real struct {
		Text string  `parquet:"text"`
		N    float64 `parquet:"n"`
	}
	a, errA := planted(t, "", o, narrow{"one", -7})
	b, errB := planted(t, "", o, wide{-7, "one"})
	c, errC := planted(t, "", o, real{"one", -7}, real{"one", math.NaN()}, real{"one", math.Inf(-1)}, real{"one", math.Inf(1)})
	if errA != nil || errB != nil || errC != nil {
		t.Fatal(errA, errB, errC)
	}
	want := `id false "" text true "one" missing [] value 1 "-7"`
	none := `id false "" text true "one" missing [] value 0 ""`
	least := `id false "" text true "one" missing [] value 1 "-1e999999999"`
	greatest := `id false "" text true "one" missing [] value 1 "+1e999999999"`
	got := slices.Concat(described(t, a, o), described(t, b, o), described(t, c, o))
	if !slices.Equal(got, []string{want, want, want, none, least, greatest}) {
		t.Errorf("got %s", got)
	}
}

func TestRendering(t *testing.T) {
	four := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	eight := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	for _, c := range []struct {
		e     core.Node
		value []byte
		want  string
	}{
		{core.Node{Kind: format.Int32, Converted: none}, four(1 << 31), "-2147483648"},
		{core.Node{Kind: format.Int32, Converted: deprecated.Uint8 + 2}, four(1 << 31), "2147483648"},
		{core.Node{Kind: format.Int64, Converted: none, Logical: logicalInteger, Unsigned: true}, eight(1<<64 - 1), "18446744073709551615"},
		{core.Node{Kind: format.Int64, Converted: none, Logical: logicalInteger}, eight(1<<64 - 1), "-1"},
		{core.Node{Kind: format.Float, Converted: none}, four(math.Float32bits(0.1)), "0.1"},
		{core.Node{Kind: format.Double, Converted: none}, eight(math.Float64bits(1e21)), "1e+21"},
		{core.Node{Kind: format.Int32, Converted: deprecated.Decimal, Scale: 2}, four(5), "0.05"},
		{core.Node{Kind: format.Int64, Converted: none, Logical: logicalDecimal, Scale: 3}, eight(1<<64 - 12345), "-12.345"},
		{core.Node{Kind: format.FixedLenByteArray, TypeLength: 3, Converted: none, Logical: logicalDecimal, Scale: 1}, []byte{0xff, 0xff, 0x85}, "-12.3"},
		{core.Node{Kind: format.ByteArray, Converted: none, Logical: logicalDecimal}, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0}, "18446744073709551616"},
		{core.Node{Kind: format.ByteArray, Converted: none, Logical: logicalDecimal, Scale: 2}, nil, "0.00"},
		{core.Node{Kind: format.Int32, Converted: none, Logical: logicalDate}, four(0), "1970-01-01"},
		{core.Node{Kind: format.Int32, Converted: deprecated.Date}, four(1<<32 - 1), "1969-12-31"},
		{core.Node{Kind: format.Int64, Converted: none, Logical: logicalTimestamp, Unit: 1}, eight(1<<64 - 1), "1969-12-31T23:59:59.999000000"},
		{core.Node{Kind: format.Int64, Converted: deprecated.TimestampMicros}, eight(1), "1970-01-01T00:00:00.000001000"},
		{core.Node{Kind: format.Int64, Converted: none, Logical: logicalTime, Unit: 3}, eight(86_399_999_999_999), "23:59:59.999999999"},
		{core.Node{Kind: format.Int32, Converted: deprecated.TimeMillis}, four(1), "00:00:00.001000000"},
		{core.Node{Kind: format.Int96, Converted: none}, slices.Concat(eight(3_600_000_000_000), four(2_440_589)), "1970-01-02T01:00:00.000000000"},
		{core.Node{Kind: format.FixedLenByteArray, TypeLength: 16, Converted: none, Logical: logicalUUID}, []byte("0123456789abcdef"), "30313233-3435-3637-3839-616263646566"},
		{core.Node{Kind: format.FixedLenByteArray, TypeLength: 2, Converted: none, Logical: logicalFloat16}, []byte{0, 0x3e}, "1.5"},
		{core.Node{Kind: format.FixedLenByteArray, TypeLength: 2, Converted: none, Logical: logicalFloat16}, []byte{1, 0x80}, "-5.9604645e-08"},
		{core.Node{Kind: format.FixedLenByteArray, TypeLength: 2, Converted: none, Logical: logicalFloat16}, []byte{0, 0xfc}, "-Inf"},
		{core.Node{Kind: format.FixedLenByteArray, TypeLength: 2, Converted: none, Logical: logicalFloat16}, []byte{1, 0xfc}, "NaN"},
		{core.Node{Kind: format.ByteArray, Converted: none, Logical: logicalString}, []byte("text"), "text"},
		{core.Node{Kind: format.ByteArray, Converted: none}, []byte{0xff}, "\xff"},
	} {
		r := renderingOf(&c.e)
		if r.foreign != "" {
			t.Errorf("%+v: foreign, %s", c.e, r.foreign)
			continue
		}
		if got := string(r.append([]byte("before "), c.value)); got != "before "+c.want {
			t.Errorf("%+v, value %x: %q, want %q", c.e, c.value, got, c.want)
		}
	}
	for want, e := range map[string]core.Node{
		"booleans": {Kind: format.Boolean, Converted: none}, "BSON": {Kind: format.ByteArray, Converted: deprecated.Bson},
		"decimals of 65 bytes": {Kind: format.FixedLenByteArray, TypeLength: 65, Converted: none, Logical: logicalDecimal},
		"intervals":            {Kind: format.FixedLenByteArray, TypeLength: 12, Converted: deprecated.Interval}, unknown: {Kind: format.ByteArray, Converted: none, Logical: 99},
	} {
		if got := renderingOf(&e).foreign; got != want {
			t.Errorf("%+v: foreign %q, want %q", e, got, want)
		}
	}
}

// TestDates: a timestamp is rendered as package time renders it.
func TestDates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moment := time.UnixMicro(rapid.Int64Range(-62_135_596_800_000_000, 253_402_300_799_999_999).Draw(t, "microseconds")).UTC()
		e := core.Node{Kind: format.Int64, Converted: none, Logical: logicalTimestamp, Unit: 2}
		got := string(renderingOf(&e).append(nil, binary.LittleEndian.AppendUint64(nil, uint64(moment.UnixMicro()))))
		if want := moment.Format("2006-01-02T15:04:05.000000000"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
