package codec

import "bytes"

// Lines is the part of Codec that formats with one record per line embed.
//
// A line ends with LF; a CR before it belongs to the terminator. The last line of a file may
// lack its terminator.
type Lines struct{}

// End finds the end of the line.
func (Lines) End(data []byte, _ State, atEOF bool) (n int, next State, ok bool) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, 0, true
	}
	return len(data), 0, atEOF
}

// Unclosed returns "": the end of the file ends a line.
func (Lines) Unclosed(State, []byte, bool) (what string, lost bool) { return "", false }

// Sync finds the first line that begins inside the split.
func (Lines) Sync(data []byte, _ bool) (n int, ok bool) {
	i := bytes.IndexByte(data, '\n')
	return i + 1, i >= 0
}

// Splittable returns true: every LF ends a line.
func (Lines) Splittable() bool { return true }

// Separated returns false: a line includes its terminator.
func (Lines) Separated() bool { return false }

// Sequential is the part of Codec that formats embed whose files have no header and must be read from their start.
type Sequential struct{}

// Header returns 0: a file begins with a record.
func (Sequential) Header([]byte, bool) (n int, ok bool) { return 0, true }

// Unclosed returns "": Decode reports what a record lacks.
func (Sequential) Unclosed(State, []byte, bool) (what string, lost bool) { return "", false }

// Sync finds nothing: the content of a record may look like records.
func (Sequential) Sync([]byte, bool) (n int, ok bool) { return 0, false }

// Splittable returns false.
func (Sequential) Splittable() bool { return false }

// Separated returns false: a record includes its terminator.
func (Sequential) Separated() bool { return false }

// TrimNewline returns line without its terminator.
func TrimNewline(line []byte) []byte {
	if rest, ok := bytes.CutSuffix(line, []byte("\n")); ok {
		return bytes.TrimSuffix(rest, []byte("\r"))
	}
	return line
}

var byteOrderMark = []byte("\xEF\xBB\xBF")

// BOM returns the length of the UTF-8 byte order mark that a file begins with: 3 or 0. ok=false: data is too short to
// tell.
func BOM(data []byte, atEOF bool) (n int, ok bool) {
	if bytes.HasPrefix(data, byteOrderMark) {
		return len(byteOrderMark), true
	}
	return 0, atEOF || !bytes.HasPrefix(byteOrderMark, data)
}
