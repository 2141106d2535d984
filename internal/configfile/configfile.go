// Package configfile sets flags of a command from the environment and from a job file: TOML with values under the
// flags' names, or the run.json of a run to repeat.
package configfile

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/neardup/neardup/kernels/edit"
	"github.com/neardup/neardup/records"
)

// maxSize is the maximum size of a job file: a larger one is a mistake, or endless.
const maxSize = 1 << 20

// Flag is the flag that names the job file. The command line and the environment take precedence over the file.
type Flag struct{ file *file }

// Error is a mistake in a job file.
type Error struct{ err error }

func (e *Error) Error() string { return e.err.Error() }

func (e *Error) Unwrap() error { return e.err }

// file is a job file.
type file struct {
	path   string
	values map[string]any // by key, with hyphens for underscores
	keys   []string       // top-level keys in order; a table has one
	lines  map[string]int // line of each key
	used   map[string]bool
}

// Decode sets the path.
func (f *Flag) Decode(ctx *kong.DecodeContext) error {
	f.file = &file{lines: map[string]int{}, used: map[string]bool{}}
	return ctx.Scan.PopValueInto("file", &f.file.path)
}

// BeforeResolve reads the file, once kong knows the command, and checks all of it.
func (*Flag) BeforeResolve(ctx *kong.Context, trace *kong.Path) error {
	f := ctx.FlagValue(trace.Flag).(Flag).file
	err := f.read()
	if err == nil {
		err = f.check(ctx.Model, ctx.Selected())
	}
	if err != nil {
		return &Error{err}
	}
	ctx.AddResolver(kong.ResolverFunc(f.resolve)) // all is checked
	return nil
}

func (f *file) read() error {
	// A pipe without a writer is empty; do not wait for one.
	stream, err := os.OpenFile(kong.ExpandPath(f.path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--config %s: %w; check the path", f.path, fs.ErrNotExist)
	}
	if err != nil {
		return f.unread(err)
	}
	defer stream.Close()
	info, err := stream.Stat()
	if err != nil {
		return f.unread(err)
	}
	data, err := io.ReadAll(io.LimitReader(stream, maxSize+1))
	switch {
	case info.IsDir():
		return fmt.Errorf("--config %s is a folder; give a file", f.path)
	case err != nil:
		return f.unread(err)
	case len(data) == 0 && info.Mode()&fs.ModeNamedPipe != 0:
		return fmt.Errorf("--config %s is a pipe that nothing writes to; give a job file", f.path)
	case len(data) > maxSize:
		return fmt.Errorf("--config %s is larger than 1 MiB; is it a job file?", f.path)
	}
	return f.parse(data)
}

// unread returns an error of the file system with the path as the user wrote it.
func (f *file) unread(err error) error {
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		err = of.Err
	}
	return fmt.Errorf("--config %s: %w", f.path, err)
}

// unquoted matches a line with a value, or an array of them, that may be text without its quotes.
var unquoted = regexp.MustCompile(`^\s*([\w-]+)\s*=\s*(\[?)([^"'\[\]{}#]*[^\s"'\[\]{}#])\s*(\]?)\s*(?:#.*)?$`)

// booleans matches a value that is probably meant as true or false.
var booleans = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off)$`)

// quoting says how to write a line whose value lacks quotes, or returns "" if something else is wrong with it.
func quoting(line string) string {
	bare := unquoted.FindStringSubmatch(line)
	if bare == nil || (bare[2] == "") != (bare[4] == "") {
		return ""
	}
	var values map[string]any
	if toml.Unmarshal([]byte("value = "+bare[2]+bare[3]+bare[4]), &values) == nil { // the key is wrong
		return ""
	}
	if _, err := strconv.ParseFloat(bare[3], 64); err == nil { // a number like .7, which TOML does not have
		return ""
	}
	if booleans.MatchString(bare[3]) {
		return "write true or false in lower case, or put text in quotes"
	}
	words := []string{bare[3]}
	if bare[2] != "" {
		words = strings.Split(bare[3], ",")
	}
	for i, word := range words {
		words[i] = strconv.Quote(strings.Trim(word, " \t“”‘’"))
	}
	return "put text in quotes: " + bare[1] + " = " + bare[2] + strings.Join(words, ", ") + bare[4]
}

var alreadyDefined = regexp.MustCompile(`^key (\S+) is already defined$`)

// inPlainWords returns what the TOML decoder found wrong in users' words.
func inPlainWords(reason string) string {
	const example = "a job file is TOML, as in threshold = 0.8"
	switch {
	case strings.HasSuffix(reason, "start of value"), strings.HasPrefix(reason, "expected value"):
		return "the value is missing or malformed; " + example
	case strings.HasSuffix(reason, "strings cannot have new lines"), strings.Contains(reason, "not terminated"):
		return "the closing quote is missing"
	case reason == "array is incomplete", strings.HasPrefix(reason, "expected ',' or ']'"):
		return "a comma or the closing bracket is missing"
	case strings.HasPrefix(reason, "expected newline"):
		return "more text follows the value; write one key per line"
	case strings.HasPrefix(reason, "invalid escape character"):
		return `"\" has a special meaning in double quotes; use single quotes, as in 'C:\data'`
	case strings.Contains(reason, "is too large to fit"):
		return "the number is too large"
	case strings.Contains(reason, "start of key"), strings.Contains(reason, "after key"):
		return "this line is not a key with a value; " + example
	}
	return alreadyDefined.ReplaceAllString(reason, "$1 is set twice; drop one")
}

func (f *file) parse(data []byte) error {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")) // some editors begin a file with a byte order mark
	if json.Valid(data) {
		return f.parseRun(data)
	}
	var values map[string]any
	if err := toml.Unmarshal(data, &values); err != nil {
		var mistake *toml.DecodeError
		if errors.As(err, &mistake) {
			line, _ := mistake.Position()
			if advice := quoting(strings.Split(string(data), "\n")[line-1]); advice != "" {
				return fmt.Errorf("%s:%d: %s", f.path, line, advice)
			}
			return fmt.Errorf("%s:%d: %s", f.path, line, inPlainWords(strings.TrimPrefix(mistake.Error(), "toml: ")))
		}
		return fmt.Errorf("%s: %w", f.path, err)
	}
	// The decoder does not report the lines of keys that it accepts; the parser does.
	f.values = map[string]any{}
	spelling := map[string]string{}
	var parser unstable.Parser
	parser.Reset(data)
	line, counted, inTable := 1, 0, false
	for parser.NextExpression() {
		node := parser.Expression()
		if node.Kind == unstable.KeyValue && inTable {
			continue
		}
		inTable = node.Kind != unstable.KeyValue
		name := node.Key()
		name.Next()
		begin := int(name.Node().Raw.Offset)
		line += bytes.Count(data[counted:begin], []byte("\n"))
		counted = begin
		written := string(name.Node().Data)
		key := strings.ReplaceAll(written, "_", "-")
		if _, again := f.values[key]; !again {
			f.keys = append(f.keys, key)
			f.lines[key], f.values[key] = line, values[written]
			spelling[key] = written
		} else if spelling[key] != written {
			return fmt.Errorf("%s:%d: %s and %s are the same key; drop one", f.path, line, written, spelling[key])
		}
	}
	return nil
}

// parseRun reads run.json: the settings of a run that differ from the defaults or were set explicitly. It ignores flags
// that only applied to that run: to replace or take over an output, or to only plan. A list of inputs is already part
// of the inputs.
func (f *file) parseRun(data []byte) error {
	var run records.Run
	if err := json.Unmarshal(data, &run); err != nil || run.Version == "" {
		return fmt.Errorf("%s is JSON, but not a run.json of neardup; a job file is TOML", f.path)
	}
	if command := run.Command(); command != "dedup" {
		return fmt.Errorf("%s was written by neardup %s; give a run.json of dedup", f.path, command)
	}
	f.values = map[string]any{}
	set := func(name string, value any) {
		key := strings.ReplaceAll(name, "_", "-")
		f.keys, f.values[key] = append(f.keys, key), value
	}
	usual := records.Fields(records.Default())
	for name, value := range records.Fields(run.Parameters) {
		none := value.Kind() == reflect.Slice && value.Len() == 0
		if !none && !reflect.DeepEqual(value.Interface(), usual[name].Interface()) || slices.Contains(run.Given, name) {
			set(name, plain(value))
		}
	}
	var running map[string]any
	if err := json.Unmarshal(run.Running, &running); err != nil {
		return fmt.Errorf("%s: running: %w", f.path, err)
	}
	for name, value := range running {
		if _, asked := usual[name]; !asked && value != nil && !reflect.ValueOf(value).IsZero() {
			set(name, value)
		}
	}
	for _, key := range []string{"inputs-from", "dry-run", "force-unlock", "overwrite", "weak-overwrite"} {
		delete(f.values, key)
	}
	f.keys = slices.Sorted(maps.Keys(f.values))
	return nil
}

// plain returns a value as TOML would decode it.
func plain(value reflect.Value) any {
	switch v := value.Interface().(type) {
	case []string:
		all := make([]any, len(v))
		for i, s := range v {
			all[i] = s
		}
		return all
	case bool:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// at returns the file and line of a key.
func (f *file) at(key string) string {
	if line, ok := f.lines[key]; ok {
		return fmt.Sprintf("%s:%d", f.path, line)
	}
	return f.path
}

// check returns the first mistake in the keys and their values.
func (f *file) check(app *kong.Application, command *kong.Node) error {
	flags := flagsOf(command)
	for _, key := range f.keys {
		flag, ok := flags[key]
		if !ok {
			return fmt.Errorf("%s: %s", f.at(key), unknown(app, command, key))
		}
		if err := checkValue(flag, f.values[key]); err != nil {
			return fmt.Errorf("%s: %s: %w", f.at(key), key, err)
		}
	}
	return nil
}

// flagsOf returns the flags that a job file may set, by name. They include hidden ones that have a group, so that plan
// accepts the job file of dedup.
func flagsOf(command *kong.Node) map[string]*kong.Flag {
	flags := map[string]*kong.Flag{}
	for _, flag := range slices.Concat(command.AllFlags(false)...) {
		if flag.Hidden && flag.Group == nil {
			continue
		}
		if flag.Name != "help" && flag.Name != "version" && !namesFile(flag) {
			flags[flag.Name] = flag
		}
	}
	return flags
}

// namesFile reports whether a flag is the one that names the job file.
func namesFile(flag *kong.Flag) bool { return flag.Target.Type() == reflect.TypeFor[Flag]() }

// unknown says what may have been meant by a key that the command does not have.
func unknown(app *kong.Application, command *kong.Node, key string) string {
	var others []string
	for _, other := range app.Leaves(true) {
		if flagsOf(other)[key] != nil {
			others = append(others, other.Name)
		}
	}
	if len(others) > 0 {
		last := len(others) - 1
		names := strings.TrimPrefix(strings.Join(others[:last], ", ")+" and "+others[last], " and ")
		return fmt.Sprintf("%q is a key of %s %s, not of %s", key, app.Name, names, command.Name)
	}
	if slices.ContainsFunc(slices.Concat(command.AllFlags(true)...), func(f *kong.Flag) bool { return f.Name == key }) {
		return fmt.Sprintf("a job file cannot set --%s; remove this line", key)
	}
	nearest := edit.Nearest(key, maps.Keys(flagsOf(command)))
	if nearest == "" {
		return fmt.Sprintf("unknown key %q; keys are the names of flags; see %s %s --help", key, app.Name, command.Name)
	}
	return fmt.Sprintf("unknown key %q; did you mean %q?", key, nearest)
}

// checkValue parses a value as kong will, to report what is wrong with it, and where.
func checkValue(flag *kong.Flag, value any) error {
	given, ok := argument(flag, value)
	if !ok {
		return fmt.Errorf("must be %s, not %s", expected(flag), kindOf(value))
	}
	target := reflect.New(flag.Target.Type()).Elem()
	scan := kong.Scan().PushTyped(given, kong.FlagValueToken)
	if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, target); err != nil {
		return errors.New(strings.TrimSuffix(err.Error(), " (string)"))
	}
	if flag.Enum == "" {
		return nil
	}
	for _, one := range each(target) {
		if !slices.Contains(flag.EnumSlice(), one) {
			return fmt.Errorf("%q is unknown; use %s", one, records.Or(flag.EnumSlice()...))
		}
	}
	return nil
}

// each returns the words of a value, of its elements, or of what it points to.
func each(value reflect.Value) (words []string) {
	value = reflect.Indirect(value)
	if value.Kind() != reflect.Slice {
		return []string{fmt.Sprint(value)}
	}
	for i := range value.Len() {
		words = append(words, fmt.Sprint(value.Index(i)))
	}
	return words
}

// argument returns what to pass to kong for a value, if the flag can have one of this kind.
func argument(flag *kong.Flag, value any) (any, bool) {
	switch value := value.(type) {
	case bool:
		return value, flag.IsBool()
	case []any:
		words := make([]any, len(value))
		texts := make([]string, len(value))
		for i, v := range value {
			word, ok := scalar(v)
			if !ok {
				return nil, false
			}
			words[i], texts[i] = word, word
		}
		if flag.IsSlice() && flag.Target.Type().Elem().Kind() != reflect.String { // kong converts no strings here
			return strings.Join(texts, string(flag.Tag.Sep)), true
		}
		return words, flag.IsSlice()
	case map[string]any:
		if _, read := flag.Target.Addr().Interface().(encoding.TextUnmarshaler); read {
			text, err := json.Marshal(value)
			return string(text), err == nil && flag.IsMap()
		}
		return value, flag.IsMap()
	default:
		word, ok := scalar(value)
		return word, ok && (!flag.IsBool() || flag.IsCounter())
	}
}

// scalar returns a string or number in the form of the command line, where a size or a tolerance may be a bare number.
func scalar(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case int64:
		return strconv.FormatInt(value, 10), true
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64), true
	default:
		return "", false
	}
}

func expected(flag *kong.Flag) string {
	switch {
	case flag.IsCounter():
		return "a number"
	case flag.IsBool():
		return "true or false"
	case flag.IsSlice():
		return "a string or an array of strings"
	case flag.Target.CanInt() && flag.Target.Type().PkgPath() == "", flag.Target.CanFloat():
		return "a number"
	default:
		return "a string or a number"
	}
}

func kindOf(value any) string {
	switch value := value.(type) {
	case string:
		return strconv.Quote(value)
	case int64, float64:
		return "a number"
	case bool:
		return fmt.Sprint(value)
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	default:
		return "a date or a time"
	}
}

// resolve returns the file's value for a flag, unless the command line or the environment sets it, or sets one that
// excludes it.
func (f *file) resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	value, ok := f.values[flag.Name]
	if _, set := lookup(flag.Name); set || !ok {
		return nil, nil
	}
	for _, given := range ctx.Path {
		excludes := func(group string) bool { return slices.Contains(given.Flag.Xor, group) }
		if given.Flag != nil && !given.Resolved && given.Flag != flag && slices.ContainsFunc(flag.Xor, excludes) {
			return nil, nil
		}
	}
	f.used[flag.Name] = true
	given, _ := argument(flag, value)
	return given, nil
}

var flagName = regexp.MustCompile(`--([a-z0-9-]+)`)

// Locate adds the line of the job file, or the variable, to an error, if the first flag in its text has its value from
// there.
func Locate(command *kong.Context, err error) error {
	name := flagName.FindStringSubmatch(err.Error())
	for _, path := range command.Path {
		if path.Flag == nil || name == nil {
			continue
		}
		if _, set := lookup(name[1]); set && path.Resolved && path.Flag.Name == name[1] {
			return fmt.Errorf("%s: %w", variable(name[1]), err)
		}
		if f, ok := command.FlagValue(path.Flag).(Flag); ok && f.file.used[name[1]] {
			return fmt.Errorf("%s: %w", f.file.at(name[1]), err)
		}
	}
	return err
}
