package reading

import (
	"fmt"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/charset"
)

// AutoEncoding asks for the encoding of a file's byte order mark, or else UTF-8. DetectEncoding also detects the
// encoding of a file that has no mark and is not UTF-8 from its text.
const (
	AutoEncoding   = "auto"
	DetectEncoding = "detect"
)

// ByContent reports whether the content of each file, or of each member of an archive, decides an Options.Encoding.
func ByContent(asked string) bool { return asked == AutoEncoding || asked == DetectEncoding }

// CheckEncoding returns an error if name is not valid for Options.Encoding.
func CheckEncoding(name string) error {
	if ByContent(name) {
		return nil
	}
	_, err := charset.Named(name)
	return err
}

// OwnEncoding returns an error if asked, an Options.Encoding, is an encoding other than UTF-8. It is for files whose
// format defines an encoding.
func OwnEncoding(file *blocks.File, asked string) error {
	if asked == "" || ByContent(asked) {
		return nil
	}
	if e, err := charset.Named(asked); e == nil {
		return err
	}
	return fmt.Errorf("%s: the %s format defines its own encoding; drop --encoding", file.Path, file.Format)
}
