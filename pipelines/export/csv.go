package export

import (
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Limits of Excel.
const (
	excelRows   = 1<<20 - 1 // below the header
	excelCell   = 32767     // UTF-16 units
	excelDigits = 15        // significant digits
)

// lines writes rows as CSV. Null is empty, bytes are base64, and lists are JSON.
type lines struct {
	w     *csv.Writer
	excel bool
	cells []string
}

func newLines(w io.Writer, columns []string, excel bool) (*lines, error) {
	l := &lines{w: csv.NewWriter(w), excel: excel, cells: make([]string, len(columns))}
	if excel {
		if _, err := io.WriteString(w, "\ufeff"); err != nil {
			return nil, err
		}
	}
	return l, l.w.Write(columns)
}

func (l *lines) write(row reflect.Value) error {
	for i := range l.cells {
		l.cells[i] = l.cell(row.Field(i))
	}
	return l.w.Write(l.cells)
}

func (l *lines) flush() error {
	l.w.Flush()
	return l.w.Error()
}

func (l *lines) cell(field reflect.Value) string {
	if (field.Kind() == reflect.Pointer || field.Kind() == reflect.Slice) && field.IsNil() {
		return ""
	}
	field = reflect.Indirect(field)
	switch field.Kind() {
	case reflect.String:
		if l.excel {
			return cut(guarded(field.String()))
		}
		return field.String()
	case reflect.Bool:
		return strconv.FormatBool(field.Bool())
	case reflect.Float64:
		return strconv.FormatFloat(field.Float(), 'g', -1, 64)
	case reflect.Slice:
		text := listed(field)
		if l.excel {
			return cut(guarded(text))
		}
		return text
	default:
		digits := strconv.FormatInt(field.Int(), 10)
		if l.excel && len(digits) > excelDigits {
			return "'" + digits
		}
		return digits
	}
}

// listed returns bytes as base64, and other lists as JSON.
func listed(field reflect.Value) string {
	if bytes, ok := field.Interface().([]byte); ok {
		return base64.StdEncoding.EncodeToString(bytes)
	}
	text, _ := json.Marshal(field.Interface()) // strings and numbers always encode
	return string(text)
}

// guarded puts an apostrophe before text that a spreadsheet would read as a formula (OWASP, CSV injection), including
// formulas behind white space or in full-width characters, or as a number that it would write differently.
func guarded(s string) string {
	if strings.IndexAny(strings.TrimLeft(s, " \u00a0\u3000\ufeff"), "=+-@\t\r\n＝＋－＠") == 0 || rewritten(s) {
		return "'" + s
	}
	return s
}

// rewritten reports whether s is a number in another form than a spreadsheet gives it, such as 007, 1e5 or one with
// more digits than it keeps.
func rewritten(s string) bool {
	if s == "" || s[0] != '.' && (s[0] < '0' || s[0] > '9') {
		return false
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return false
	}
	return len(strings.Replace(s, ".", "", 1)) > excelDigits || strconv.FormatFloat(v, 'f', -1, 64) != s
}

// cut shortens text that exceeds a cell of Excel, which would spill it into the cells below.
func cut(s string) string {
	if len(s) <= excelCell {
		return s
	}
	units := 0
	for i, r := range s {
		if units += utf16.RuneLen(r); units > excelCell {
			return s[:i]
		}
	}
	return s
}
