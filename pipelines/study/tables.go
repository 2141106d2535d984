package study

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"reflect"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// Names of a study's files, besides drawings. StudyFile holds a records.Study.
const (
	StudyFile   = "study.json"
	CSVFile     = "similarity.csv"
	ParquetFile = "similarity.parquet"
)

// pairColumns precede one column for each setting, which is named after it and has the similarity in per cent.
var pairColumns = []string{"id_a", "id_b", "source_a", "source_b"}

// withTables calls do with a function that writes a pair to both tables, which are complete when withTables returns.
func (r *Job) withTables(ctx context.Context, do func(write func(records.StudiedPair) error) error) error {
	if r.config.Output == "" {
		return do(func(records.StudiedPair) error { return nil })
	}
	return r.stage(ctx, CSVFile, func(text io.Writer) (int64, error) {
		err := r.stage(ctx, ParquetFile, func(binary io.Writer) (int64, error) {
			t := r.newTables(text, binary)
			err := errors.Join(do(t.write), t.close())
			return r.study.Pairs, err
		})
		return r.study.Pairs, err
	})
}

// tables writes the similarities of all pairs as CSV and as Parquet.
type tables struct {
	documents []records.StudiedDocument
	csv       *csv.Writer
	parquet   *parquet.GenericWriter[any]
	line      []string
	rows      []parquet.Row
}

func (r *Job) newTables(text, binary io.Writer) *tables {
	// The schema comes from a struct, because a struct's fields keep their order.
	var fields []reflect.StructField
	line := pairColumns
	column := func(name, tag string, of reflect.Type) {
		fields = append(fields, reflect.StructField{Name: "C" + strconv.Itoa(len(fields)), Type: of,
			Tag: reflect.StructTag(`parquet:"` + name + tag + `"`)})
	}
	for _, name := range pairColumns {
		column(name, ",dict", reflect.TypeFor[string]())
	}
	for _, s := range r.study.Settings {
		column(s.Name, "", reflect.TypeFor[float64]())
		line = append(line, s.Name)
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	metadata := map[string]string{"measure": verifier.Jaccard, "neardup.language": r.study.Language,
		"neardup.format.text": shingle.FormatID}
	t := &tables{
		documents: r.study.Documents, csv: csv.NewWriter(text), line: line,
		parquet: parquet.NewGenericWriter[any](binary, append(output.WriterOptions(metadata), schema)...),
	}
	_ = t.csv.Write(line) // close returns the error
	return t
}

// rowBatch is how many rows are written at a time.
const rowBatch = 1024

func (t *tables) write(pair records.StudiedPair) error {
	a, b := &t.documents[pair.A], &t.documents[pair.B]
	line, row := t.line[:0], make(parquet.Row, 0, cap(t.line))
	for i, text := range []string{a.ID, b.ID, a.Source, b.Source} {
		line = append(line, text)
		row = append(row, parquet.ByteArrayValue([]byte(text)).Level(0, 0, i))
	}
	for _, similarity := range pair.Similarities {
		perCent := 100 * similarity
		row = append(row, parquet.DoubleValue(perCent).Level(0, 0, len(line)))
		line = append(line, strconv.FormatFloat(perCent, 'f', 4, 64))
	}
	t.rows = append(t.rows, row)
	if err := t.csv.Write(line); err != nil {
		return err
	}
	if len(t.rows) < rowBatch {
		return nil
	}
	return t.flush()
}

func (t *tables) flush() error {
	_, err := t.parquet.WriteRows(t.rows)
	t.rows = t.rows[:0]
	return err
}

func (t *tables) close() error {
	t.csv.Flush()
	return errors.Join(t.csv.Error(), t.flush(), t.parquet.Close())
}
