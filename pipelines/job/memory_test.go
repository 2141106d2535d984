package job

import (
	"strings"
	"testing"

	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/records"
)

// If one document or one file alone could exceed the memory within its limit, the limit is refused with both numbers,
// and with a sufficient memory. The default limits fit the minimum memory, whatever is compared, unless features have
// weights.
func TestLimitsFitMemory(t *testing.T) {
	const word, char = "word:5", "char:9"
	for _, tt := range []struct {
		kind             string
		weights          vector.Weights
		document, window records.Bytes
		memory           records.Bytes
		says             string
	}{
		{word, vector.Unit, 16 << 20, 128 << 20, 256e6, ""},
		{"stopword:3", vector.Unit, 16 << 20, 128 << 20, 256e6, ""},
		{char, vector.Unit, 16 << 20, 128 << 20, 256e6, ""},
		{"char32:9", vector.Unit, 16 << 20, 128 << 20, 256e6, ""},
		{"byte:13", vector.Unit, 16 << 20, 128 << 20, 256e6, ""},
		{word, vector.Unit, 64 << 20, 128 << 20, 256e6, ""},
		{char, vector.Unit, 64 << 20, 128 << 20, 256e6, "--max-doc-bytes 64MiB: a document of this size may take 738,197,504 bytes of memory, but the limit is 256,000,000 (set by --memory); use at least --memory 659MB"},
		{char, vector.Unit, 64 << 20, 128 << 20, 659e6, ""},
		{word, vector.Unit, 1 << 30, 128 << 20, 256e6, "--max-doc-bytes 1GiB: a document of this size may take 5,368,709,120 bytes of memory, but the limit is 256,000,000 (set by --memory); use at least --memory 5289MB"},
		{word, vector.Unit, 1 << 30, 128 << 20, 5289e6, ""},
		{word, vector.Unit, 1 << 30, 128 << 20, 5288e6, "--max-doc-bytes"},
		{word, vector.Unit, 1 << 30, 1 << 31, 0, ""},
		{word, vector.Unit, 1 << 20, 512 << 20, 256e6, "--max-window 512MiB: a file with such a window takes that much memory, besides intermediate data, but the limit is 256,000,000 bytes (set by --memory); use at least --memory 914MB"},
		{word, vector.Unit, 1 << 20, 512 << 20, 914e6, ""},
		{word, vector.Unit, 1 << 20, 512 << 20, 913e6, "--max-window"},
		{word, vector.TFIDF, 16 << 20, 128 << 20, 256e6, ""},
		{char, vector.TF, 16 << 20, 128 << 20, 256e6, "--max-doc-bytes 16MiB: a document of this size may take 788,529,152 bytes of memory, but the limit is 256,000,000 (set by --memory); use at least --memory 709MB"},
		{char, vector.TF, 16 << 20, 128 << 20, 709e6, ""},
	} {
		spec := records.Default()
		spec.Inputs, spec.Shingle, spec.Method, spec.Weights, spec.MaxDocBytes, spec.MaxWindow = []string{"in"}, tt.kind, Complete, string(tt.weights), tt.document, tt.window
		if tt.weights != vector.Unit {
			spec.Compare = Cosine
		}
		asked, err := Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		err = (&Running{Memory: tt.memory}).Check(asked)
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.says) || Status(err) != 2) {
			t.Errorf("%+v: error %v", tt, err)
		}
	}
}
