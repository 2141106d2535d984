package report

import (
	"strings"
	"testing"

	"github.com/neardup/neardup/records"
)

// TestDetectedEncodings checks that a summary lists the encodings that were detected, and those that were too
// uncertain.
func TestDetectedEncodings(t *testing.T) {
	run := &records.Run{Input: records.RunInput{Files: 9, Decoded: 2, Encodings: []records.FileEncoding{
		{Name: "big5", Files: 2, Read: true, Percent: 95, File: "a"}, {Name: "koi8-r", Files: 1, Percent: 40, File: "b\x1b"},
		{Name: "ibm437", Files: 1, File: "d"}, {Name: records.UnknownEncoding, Files: 3, File: "c"},
	}}}
	var out strings.Builder
	if err := Summary(&out, 200, run, "out", nil); err != nil {
		t.Fatal(err)
	}
	const want = "detected      2 files read as big5 (confidence at least 95 %)\n" +
		"              1 file of uncertain encoding: b· may be koi8-r (confidence 40 %); specify it with --encoding\n" +
		"              1 file of uncertain encoding: d may be ibm437; specify it with --encoding\n" +
		"              3 files of unknown encoding, for example c; specify it with --encoding\n"
	if got := out.String(); !strings.Contains(got, want) || strings.Contains(got, "read as utf-8") {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
