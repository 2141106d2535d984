// Package export writes the tables of a finished output for programs that do not read Parquet: as CSV, as JSON Lines,
// or as SQL views of the files.
package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// Config says what to write, and where.
type Config struct {
	From   string    `arg:"" name:"dir" help:"Output of a finished run of dedup, passages or compare."`
	Format Format    `required:"" enum:"${exports}" help:"Format of the files: csv (with a header, quoted as in RFC 4180), jsonl (one object per row) or sql (a file with a view of each table, for DuckDB)." group:"Export"`
	Tables []Table   `name:"table" placeholder:"NAME" help:"Write only this table; repeat for several (default: every table of the output but documents, which has a file for each input file)." group:"Export"`
	Output string    `short:"o" required:"" placeholder:"DIR" help:"Folder for the files; must be new. - prints one table, or the views of sql." group:"Export"`
	Excel  bool      `help:"Write CSV for spreadsheets. The file begins with a byte order mark. neardup writes values that look like formulas, and numbers that a spreadsheet would rewrite, as text, and cuts texts to 32,767 characters." group:"Export"`
	Stdout io.Writer `kong:"-"`
}

// Format is a format for tables.
type Format string

// Values of Format.
const (
	asCSV   Format = "csv"
	asJSONL Format = "jsonl"
	asSQL   Format = "sql"
)

// Table is the name of a table.
type Table output.Part

// rows reads the rows of a table, each as a pointer to a struct.
type rows func(context.Context, *output.Finished, output.Part) iter.Seq2[reflect.Value, error]

func rowsOf[T any](ctx context.Context, f *output.Finished, table output.Part) iter.Seq2[reflect.Value, error] {
	return func(yield func(reflect.Value, error) bool) {
		for row, err := range output.Rows[T](ctx, f, table) {
			if !yield(reflect.ValueOf(row), err) {
				return
			}
		}
	}
}

// rowType is a kind of table, with the type of its rows.
type rowType struct {
	name output.Part
	row  reflect.Type
	rows rows
}

// ofCompare is the table pairs of a comparison.
var ofCompare = rowType{output.Pairs, reflect.TypeFor[records.Found](), rowsOf[records.Found]}

// known lists the tables that can be exported.
var known = []rowType{
	{output.Pairs, reflect.TypeFor[records.Pair](), rowsOf[records.Pair]},
	{output.Clusters, reflect.TypeFor[records.Clustered](), rowsOf[records.Clustered]},
	{output.Removed, reflect.TypeFor[records.Removed](), rowsOf[records.Removed]},
	{output.Rejected, reflect.TypeFor[records.Rejected](), rowsOf[records.Rejected]},
	{output.Buckets, reflect.TypeFor[records.Bucketed](), rowsOf[records.Bucketed]},
	{output.Candidates, reflect.TypeFor[records.Candidate](), rowsOf[records.Candidate]},
	{output.Passages, reflect.TypeFor[records.Passage](), rowsOf[records.Passage]},
	{output.Coverage, reflect.TypeFor[records.Coverage](), rowsOf[records.Coverage]},
	{output.Contaminated, reflect.TypeFor[records.Contaminated](), rowsOf[records.Contaminated]},
	{output.Repeats, reflect.TypeFor[records.Repeat](), rowsOf[records.Repeat]},
}

// Vars returns the values of variables in the tags of flags.
func Vars() map[string]string {
	var names []output.Part
	for _, of := range known {
		names = append(names, of.name)
	}
	return map[string]string{"exports": job.Names(asCSV, asJSONL, asSQL), "exported": job.Names(names...)}
}

// viewsFile is the name of the file of the format sql.
const viewsFile = "views.sql"

// table is a table of the output.
type table struct {
	name    output.Part
	rows    rows
	columns []string
	count   int64
	files   []string
}

// columnsOf returns the names of the columns of a type of rows.
func columnsOf(row reflect.Type) (names []string) {
	for i := range row.NumField() {
		name, _, _ := strings.Cut(row.Field(i).Tag.Get("parquet"), ",")
		names = append(names, name)
	}
	return names
}

// Export writes the tables, and returns warnings.
func Export(ctx context.Context, c Config) (warnings []string, err error) {
	if c.Excel && c.Format != asCSV {
		return nil, job.Usage("--excel: --format %s is not for spreadsheets; use --format csv, or drop --excel", c.Format)
	}
	toStdout := c.Output == "-"
	if strings.HasSuffix(c.Output, "."+string(c.Format)) {
		return nil, job.Usage("--output %s: --output names a folder; for one file, use --output - >%[1]s", c.Output)
	}
	if !toStdout {
		if err := job.CheckPath("--output", c.Output); err != nil {
			return nil, err
		}
		there, err := storage.Exists(ctx, c.Output)
		if err != nil {
			return nil, err
		}
		if there {
			return nil, &job.OutputExistsError{Reason: c.Output + " already exists; choose another --output"}
		}
	}
	open := func(ctx context.Context, dir string) (*output.Finished, error) {
		return job.OpenOutput(ctx, dir, "dedup", "passages", "compare")
	}
	if slices.Equal(c.Tables, []Table{Table(output.Rejected)}) {
		open = output.OpenRejected
	}
	finished, err := open(ctx, c.From)
	if err != nil {
		return nil, err
	}
	tables, err := c.tables(finished)
	if err != nil {
		return nil, err
	}
	if toStdout && c.Format != asSQL && len(tables) != 1 {
		return nil, job.Usage("--output -: the output has %d tables, but standard output can take only one; use --table",
			len(tables))
	}
	var written []string
	defer func() {
		if err == nil || toStdout {
			return
		}
		for _, path := range written {
			err = errors.Join(err, storage.RemoveAll(context.WithoutCancel(ctx), path))
		}
		storage.RemoveEmpty(c.Output)
	}()
	put := func(name string, write func(io.Writer) error) error {
		if toStdout {
			return storage.Buffered(c.Stdout, write)
		}
		path := storage.Join(c.Output, name)
		_, err := storage.WriteFile(ctx, path, write)
		if err == nil {
			written = append(written, path)
		}
		return err
	}
	if c.Format == asSQL {
		if finished.Dir, err = storage.Abs(c.From); err != nil { // so that the views work from any folder
			return nil, err
		}
		err = put(viewsFile, func(w io.Writer) error { return views(w, finished, tables) })
	} else {
		for _, t := range tables {
			if err = put(string(t.name)+"."+string(c.Format),
				func(w io.Writer) error { return c.write(ctx, w, finished, t) }); err != nil {
				break
			}
			if c.Excel && t.count > excelRows {
				warnings = append(warnings,
					fmt.Sprintf("%s has %s; Excel shows only the first %s", t.name, records.Plural(t.count, "row"),
						records.Count(excelRows)))
			}
		}
	}
	if err != nil {
		return nil, err
	}
	finished.Dir = c.From
	return warnings, finished.CheckUnchanged(ctx)
}

// tables returns the tables to write.
func (c *Config) tables(f *output.Finished) ([]table, error) {
	there := tablesOf(f)
	if len(there) == 0 {
		return nil, job.Usage("%s has no tables; give an output of dedup, passages or compare", c.From)
	}
	if len(c.Tables) == 0 {
		return there, nil
	}
	var names []Table
	var asked []table
	for _, t := range there {
		names = append(names, Table(t.name))
		if slices.Contains(c.Tables, names[len(names)-1]) {
			asked = append(asked, t)
		}
	}
	for _, name := range c.Tables {
		if !slices.Contains(names, name) {
			return nil, job.Usage("--table %s: %s has no such table; use %s", name, c.From, records.Or(names...))
		}
	}
	return asked, nil
}

// tablesOf returns the tables of an output that have files.
func tablesOf(f *output.Finished) (tables []table) {
	for _, k := range known {
		if k.name == output.Pairs && f.Run.Comparison != nil {
			k = ofCompare
		}
		t := table{name: k.name, rows: k.rows, columns: columnsOf(k.row)}
		for _, file := range f.Manifest.Files {
			if output.PartOf(file.Path) == k.name {
				t.files = append(t.files, file.Path)
				t.count += file.Rows
			}
		}
		if len(t.files) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// write writes one table.
func (c *Config) write(ctx context.Context, w io.Writer, f *output.Finished, t table) error {
	if c.Format == asJSONL {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		for row, err := range t.rows(ctx, f, t.name) {
			if err != nil {
				return err
			}
			if err := encoder.Encode(row.Interface()); err != nil {
				return err
			}
		}
		return nil
	}
	lines, err := newLines(w, t.columns, c.Excel)
	if err != nil {
		return err
	}
	for row, err := range t.rows(ctx, f, t.name) {
		if err != nil {
			return err
		}
		if err := lines.write(row); err != nil {
			return err
		}
	}
	return lines.flush()
}

// views writes a view of each table, over its files.
func views(w io.Writer, f *output.Finished, tables []table) error {
	text := &strings.Builder{}
	fmt.Fprintf(text, "-- Views of %s for DuckDB: duckdb -init %s\n", strings.Map(inComment, f.Dir), viewsFile)
	for _, t := range tables {
		fmt.Fprintf(text, "CREATE OR REPLACE VIEW %s AS SELECT * FROM read_parquet([", t.name)
		for i, file := range t.files {
			if i > 0 {
				text.WriteString(",")
			}
			fmt.Fprintf(text, "\n  '%s'", literal.Replace(f.Path(file)))
		}
		text.WriteString("\n], hive_partitioning = false);\n") // a folder dt=2026 above the output is not a column
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// literal escapes a path for a string of SQL that DuckDB's patterns match literally.
var literal = strings.NewReplacer("'", "''", "*", "[*]", "?", "[?]", "[", "[[]")

// inComment replaces control characters, which could end the comment.
func inComment(r rune) rune {
	if r < ' ' || r == '\x7f' {
		return ' '
	}
	return r
}
