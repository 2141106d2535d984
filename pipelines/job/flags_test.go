package job

import (
	"strings"
	"testing"
)

func TestDelimiter(t *testing.T) {
	for text, want := range map[string]byte{";": ';', "\t": '\t', `\t`: '\t', "tab": '\t', " ": ' ', "~": '~'} {
		var d Delimiter
		if err := d.UnmarshalText([]byte(text)); err != nil || d.Byte() != want {
			t.Errorf("%q: %q, error %v", text, d.Byte(), err)
		}
	}
	for _, text := range []string{"", `"`, ",,", "\n", `\n`, "é", "\x7f"} {
		if err := new(Delimiter).UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "give one ASCII character other than a quote, or the word tab") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
