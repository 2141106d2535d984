package plaintext

import "github.com/neardup/neardup/io/codec"

// Edit replaces the line.
func (lines) Edit(dst, record []byte, edit func(column int, text []byte) []byte) (edited []byte, ok bool) {
	line := codec.TrimNewline(record)
	return append(append(dst, edit(0, line)...), record[len(line):]...), true
}

// Edit replaces the file.
func (file) Edit(dst, record []byte, edit func(column int, text []byte) []byte) (edited []byte, ok bool) {
	return append(dst, edit(0, record)...), true
}
