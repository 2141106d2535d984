package job

import (
	"strings"
	"testing"
)

func TestDelimiter(t *testing.T) {
	for text, want := range map[string]byte{";": ';', "\t": '\t', `\t`: '\t', "tab": '\t', " ": ' ', "~": '~'} {
		if got, err := parseDelimiter(text); err != nil || got != want {
			t.Errorf("%q: %q, error %v", text, got, err)
		}
	}
	for _, text := range []string{"", `"`, ",,", "\n", `\n`, "é", "\x7f"} {
		if _, err := parseDelimiter(text); err == nil || !strings.Contains(err.Error(), "give one ASCII character other than a quote, or the word tab") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
