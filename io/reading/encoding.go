package reading

import (
	"fmt"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/charset"
)

// AutoEncoding asks for the encoding of a file's byte order mark, or UTF-8, and DetectEncoding for that which the text
// of a file without a mark tells, if it is not UTF-8.
const (
	AutoEncoding   = "auto"
	DetectEncoding = "detect"
)

// CheckEncoding says what is wrong with a name of Options.Encoding.
func CheckEncoding(name string) error {
	if name == AutoEncoding || name == DetectEncoding {
		return nil
	}
	_, err := charset.Named(name)
	return err
}

// OwnEncoding returns an error if an encoding other than UTF-8 is asked
// for, as Options have it, of a file whose format has one of its own.
func OwnEncoding(file *blocks.File, asked string) error {
	if asked == "" || asked == AutoEncoding || asked == DetectEncoding {
		return nil
	}
	if e, err := charset.Named(asked); e == nil {
		return err
	}
	return fmt.Errorf("%s: format %s defines its own encoding; leave --encoding out", file.Path, file.Format)
}
