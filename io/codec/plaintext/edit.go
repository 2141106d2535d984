package plaintext

import "github.com/neardup/neardup/io/codec"

// Edit replaces the line.
func (lines) Edit(dst, record []byte, edit func(text []byte) []byte) (edited []byte, ok bool) {
	line := codec.TrimNewline(record)
	return append(append(dst, edit(line)...), record[len(line):]...), true
}

// Edit replaces the file.
func (file) Edit(dst, record []byte, edit func(text []byte) []byte) (edited []byte, ok bool) {
	return append(dst, edit(record)...), true
}

var _, _ codec.Editor = lines{}, file{}
