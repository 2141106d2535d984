package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/neardup/neardup/records"
)

// mostInputs is how many inputs a command names.
const mostInputs = 200

// Command is what repeats a run from the folder where it was started, as a POSIX shell reads it: the flags that are not what
// they are by default.
func Command(run, byDefault records.Parameters) string {
	values, defaults := flags(run), flags(byDefault)
	inputs := run.Inputs
	delete(values, "input")
	if len(inputs) <= mostInputs { // which have those of the file
		delete(values, "inputs_from")
	} else if run.InputsFrom != "" {
		inputs = nil
	}
	command := []string{"neardup dedup"}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if string(values[name]) == string(defaults[name]) {
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
	if len(inputs) > 0 && slices.ContainsFunc(inputs, func(in string) bool { return strings.HasPrefix(in, "-") && in != "-" }) {
		command = append(command, "--")
	}
	for _, in := range inputs[:min(len(inputs), mostInputs)] {
		command = append(command, quoted(in))
	}
	if len(inputs) > mostInputs {
		command = append(command, fmt.Sprintf("# and %d more", len(inputs)-mostInputs))
	}
	return strings.Join(command, " ")
}

func flags(p records.Parameters) map[string]json.RawMessage {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts, numbers, and lists of these
	}
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &values); err != nil {
		panic(err)
	}
	return values
}

// arguments are the values that a flag is given: none if it is not, and "" for one without a value.
func arguments(name string, value json.RawMessage) (all []string) {
	var decoded any
	decoder := json.NewDecoder(strings.NewReader(string(value)))
	decoder.UseNumber()
	if err := decoder.Decode(&decoded); err != nil {
		panic(err)
	}
	switch v := decoded.(type) {
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
	case map[string]any: // --labels reads JSON
		if len(v) > 0 {
			all = append(all, string(value))
		}
	}
	return all
}

// quoted is a word of a POSIX shell.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
