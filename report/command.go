package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/neardup/neardup/records"
)

// mostInputs is the maximum number of inputs that a command names.
const mostInputs = 200

// Command returns the command, for a POSIX shell, that repeats a run from the folder where it was started, with the
// flags that differ from their defaults.
func Command(run *records.Run) string {
	usual := records.Default()
	usual.Compare = "jaccard" // the default, which run.json names explicitly
	values, defaults := inForce(run), flags(usual)
	defaults["runner"] = "local"
	for _, name := range run.Given {
		delete(defaults, name)
	}
	inputs := run.Parameters.Inputs
	delete(values, "input")
	if len(inputs) <= mostInputs { // these include those of the file
		delete(values, "inputs_from")
	} else if run.Parameters.InputsFrom != "" {
		inputs = nil
	}
	command := []string{"neardup dedup"}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if reflect.DeepEqual(values[name], defaults[name]) {
			continue
		}
		flag := "--" + strings.ReplaceAll(name, "_", "-")
		for _, value := range arguments(name, values[name]) {
			if value != "" {
				command = append(command, flag+"="+quoted(value))
			} else {
				command = append(command, flag)
			}
		}
	}
	for _, in := range inputs[:min(len(inputs), mostInputs)] {
		if strings.HasPrefix(in, "-") && in != "-" {
			in = "./" + in // not a flag
		}
		command = append(command, quoted(in))
	}
	if len(inputs) > mostInputs {
		command = append(command, fmt.Sprintf("# and %d more", len(inputs)-mostInputs))
	}
	return strings.Join(command, " ")
}

// inForce returns all flags of a run.
func inForce(run *records.Run) map[string]any {
	values := flags(run.Parameters)
	for name, value := range flags(run.Running) { // in earlier versions, it has all flags
		if _, known := values[name]; !known && value != json.Number("0") && value != "0s" {
			values[name] = value
		}
	}
	return values
}

// flags returns the values of flags by name, with _ for -. It returns none if the argument is no JSON object.
func flags(of any) map[string]any {
	data, _ := json.Marshal(of)
	values := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	_ = decoder.Decode(&values)
	return values
}

// arguments returns the values to give a flag: none if it is not given, and "" for a flag without a value.
func arguments(name string, value any) (all []string) {
	switch v := value.(type) {
	case bool:
		if v {
			all = append(all, "")
		}
	case string:
		if v != "" {
			all = append(all, v)
		}
	case json.Number:
		all = append(all, v.String())
	case []any:
		for _, item := range v {
			all = append(all, fmt.Sprint(item))
		}
		if name == "write" {
			all = []string{strings.Join(all, ",")}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, fmt.Sprintf("%s=%v", key, v[key]))
		}
	}
	return all
}

// quoted returns s as a word of a POSIX shell.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
