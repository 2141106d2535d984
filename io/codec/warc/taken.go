package warc

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"sort"
	"strings"
)

// taken returns the offset in a record's content (all but its final line ends) at which other records begin that a
// wrong length has swallowed: whole records, one after another up to the end.
//
// A page may also quote records, or be a file of records. It is accepted as a page if a digest or the length of an HTTP
// body confirms it, or if it is followed by the line ends of a record in addition to those of the last record in it.
func taken(h header, record []byte, length int) (at int, ok bool) {
	content, ends := record[:length], record[length:]
	if !bytes.Contains(content, []byte(mark)) {
		return 0, false
	}
	type gap struct{ from, to int } // line ends before a record that is followed by records only
	var gaps []gap
	text := len(bytes.TrimRight(record, "\r\n"))
	for i := len(content); ; {
		if i = bytes.LastIndex(content[:i], []byte(mark)); i < 0 {
			break
		}
		start := i + 1
		before := len(bytes.TrimRight(content[:start], "\r\n"))
		if bytes.Count(content[before:start], []byte("\n")) < 2 {
			continue
		}
		inner, _ := headOf(record[start:])
		n, ok := inner.length()
		if !ok || inner.get("WARC-Type") == nil || n > int64(len(record)-start-len(inner)) {
			continue
		}
		end := start + len(inner) + int(n)
		next := sort.Search(len(gaps), func(i int) bool { return gaps[i].from <= end })
		switch {
		case next < len(gaps) && end <= gaps[next].to:
		case end < text || end != length && !closed(record[end:]) || end < length && closed(ends):
			continue // other data follows, or the line ends belong to a quoted record
		}
		gaps = append(gaps, gap{before, start})
	}
	if len(gaps) == 0 || confirmed(h, content) {
		return 0, false
	}
	return gaps[len(gaps)-1].to, true
}

// closed reports whether data begins with the line ends that terminate a record.
func closed(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\r\n\r\n")) || bytes.HasPrefix(data, []byte("\n\n"))
}

// confirmed reports whether the record has other evidence than its length that content is its own.
func confirmed(h header, content []byte) bool {
	if matches(h.get("WARC-Block-Digest"), content) {
		return true
	}
	if !bytes.HasPrefix(content, []byte("HTTP/")) {
		return matches(h.get("WARC-Payload-Digest"), content)
	}
	message, _ := headOf(content)
	body := content[len(message):]
	length, ok := message.contentLength()
	return ok && length == int64(len(body)) || matches(h.get("WARC-Payload-Digest"), body)
}

// matches reports whether digest, such as sha1:BASE32, is the digest of data.
func matches(digest, data []byte) bool {
	algorithm, value, _ := strings.Cut(string(digest), ":")
	var sum []byte
	switch strings.ToLower(algorithm) {
	case "sha1":
		s := sha1.Sum(data)
		sum = s[:]
	case "sha256":
		s := sha256.Sum256(data)
		sum = s[:]
	default:
		return false
	}
	return strings.EqualFold(value, fmt.Sprintf("%x", sum)) ||
		strings.EqualFold(value, base32.StdEncoding.EncodeToString(sum))
}
