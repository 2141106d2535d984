package warc

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codectest"
)

var fields = codec.Fields{Text: []string{"text"}, ID: "id"}

func sample(t testing.TB) *codectest.Sample {
	t.Helper()
	for _, s := range codectest.Samples() {
		if s.Format == "warc" {
			return s
		}
	}
	t.Fatal("no sample")
	return nil
}

func TestInvariants(t *testing.T) {
	codectest.Invariants(t, codectest.Headed(New(fields)), sample(t).Content)
	long := "WARC/1.0\r\nX: " + strings.Repeat("x", codec.MaxHead) + "\r\nContent-Length: 0\r\n\r\n"
	codectest.Invariants(t, codectest.Headed(New(fields)), []byte(long+string(sample(t).Content)))
}

func FuzzInvariants(f *testing.F) {
	codectest.Fuzz(f, codectest.Headed(New(fields)), codectest.WARC("conversion", "a", "text/plain", "one")+codectest.WARC("request", "", "", ""),
		"WARC/1.0\nContent-Length: 4\n\n12345\r\n\r\nWARC/1.1\r\nContent-Length:2\r\n\r\n", "\r\nxWARC/1.\n\nWARC/1.0\r\n")
}

// decode returns the text of a record, "none", or the reason why it is unreadable.
func decode(record string, columns ...string) string {
	var doc codec.Document
	err := New(codec.Fields{Text: columns}).Decode([]byte(record), &doc)
	if e := (*codec.Error)(nil); errors.As(err, &e) {
		return e.Reason
	}
	if doc.NoText {
		return "none"
	}
	return string(doc.Text)
}

func packed(t *testing.T, encoding, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw":
		w, err = flate.NewWriter(&b, 6)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, err = zstd.NewWriter(&b)
	}
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestResponses(t *testing.T) {
	const page = "<html><title>A page</title><body>with some words on it"
	const text = "A page\nwith some words on it"
	response := func(head, body string) string {
		return codectest.WARC("response", "x", "application/http; msgtype=response", "HTTP/1.1 200 OK\r\n"+head+"\r\n"+body)
	}
	const isHTML = "content-type: Text/HTML; charset=utf-8\r\n"
	for name, c := range map[string]struct{ record, want string }{
		"plain body":         {response(isHTML, page), text},
		"line feeds":         {codectest.WARC("response", "x", "application/http", "HTTP/1.1 200 OK\nContent-Type: text/html\n\n"+page), text},
		"no body":            {response(isHTML, ""), ""},
		"chunks":             {response(isHTML+"Transfer-Encoding: chunked\r\n", "6;x=y\r\n<html>\r\n"+"30\r\n"+page[6:]+"\r\n0\r\n\r\n"), text},
		"no chunks":          {response(isHTML+"Transfer-Encoding: chunked\r\n", page), text},
		"broken chunks":      {response(isHTML+"Transfer-Encoding: chunked\r\n", "6\r\n<html>\r\nxx\r\n"), codec.BrokenHTTP},
		"gzip":               {response(isHTML+"Content-Encoding: gzip\r\n", packed(t, "gzip", page)), text},
		"gzip, truncated":    {response(isHTML+"Content-Encoding: gzip\r\n", packed(t, "gzip", page)[:40]), codec.BrokenHTTP},
		"gzip, decoded":      {response(isHTML+"Content-Encoding: gzip\r\n", page), text},
		"deflate":            {response(isHTML+"Content-Encoding: deflate\r\n", packed(t, "deflate", page)), text},
		"deflate, raw":       {response(isHTML+"Content-Encoding: deflate\r\n", packed(t, "raw", page)), text},
		"br":                 {response(isHTML+"Content-Encoding: br\r\n", packed(t, "br", page)), text},
		"br, decoded":        {response(isHTML+"Content-Encoding: br\r\n", page), text},
		"zstd":               {response(isHTML+"Content-Encoding: zstd\r\n", packed(t, "zstd", page)), text},
		"two":                {response(isHTML+"Content-Encoding: br, gzip\r\n", packed(t, "gzip", packed(t, "br", page))), text},
		"unknown":            {response(isHTML+"Content-Encoding: compress\r\n", page), codec.BrokenHTTP},
		"an image":           {response("Content-Type: image/png\r\nContent-Encoding: gzip\r\n", "x"), "none"},
		"no type":            {response("", page), "none"},
		"text":               {response("Content-Type: text/plain\r\n", page), page},
		"latin1":             {response("Content-Type: text/plain; charset=ISO-8859-1\r\n", "caf\xe9"), "café"},
		"meta":               {response("Content-Type: text/html\r\n", "<meta charset=koi8-r>\xd4\xc5\xcb\xd3\xd4"), "текст"},
		"byte order mark":    {response("Content-Type: text/plain; charset=latin1\r\n", "\xff\xfea\x00b\x00"), "ab"},
		"utf-8 far behind":   {response("Content-Type: text/plain\r\n", strings.Repeat("a", 2000)+"é"), strings.Repeat("a", 2000) + "é"},
		"no character set":   {response("Content-Type: text/plain\r\n", "caf\xe9 \x80"), "café €"},
		"not utf-8":          {response("Content-Type: text/plain; charset=utf-8\r\n", "caf\xe9"), "caf\uFFFD"},
		"refused charset":    {response("Content-Type: text/plain; charset=hz-gb-2312\r\n", "~{<:Ky2;~}"), "~{<:Ky2;~}"},
		"refused, utf-8":     {response("Content-Type: text/html\r\n", "<meta charset=iso-2022-kr>é"), "é"},
		"refused, not 7-bit": {response("Content-Type: text/plain; charset=iso-2022-cn\r\n", "caf\xe9 \x80"), "café €"},
		"no HTTP":            {codectest.WARC("response", "x", "application/http", "SSH"), codec.BrokenHTTP},
		"DNS":                {codectest.WARC("response", "x", "text/dns", "a 1.2.3.4"), "none"},
		"a resource":         {codectest.WARC("resource", "x", "text/html", page), text},
		"a conversion":       {codectest.WARC("conversion", "x", "text/plain", "a\xff\r\n<p>"), "a\xff\r\n<p>"},
		"truncated by size":  {strings.Replace(response(isHTML+"Transfer-Encoding: chunked\r\n", "ff\r\n"+page), "WARC-Type", "WARC-Truncated: length\r\nWARC-Type", 1), text},
	} {
		if got := decode(c.record); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestTaken checks that a record whose length ends where a record inside it ends is unreadable, unless it certainly
// contains that record.
func TestTaken(t *testing.T) {
	quoted := codectest.WARC("conversion", "x", "text/plain", "quoted")
	bare := strings.TrimSpace(quoted)
	record := func(fields, content, ends string) string {
		return fmt.Sprintf("WARC/1.1\r\nWARC-Type: resource\r\nContent-Type: text/plain\r\n%sContent-Length: %d\r\n\r\n%s%s", fields, len(content), content, ends)
	}
	http := func(fields, body string) string {
		return record(fields, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"+body, "\r\n\r\n")
	}
	sha1Of := func(text string) string {
		sum := sha1.Sum([]byte(text))
		return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
	}
	page := "one\r\n\r\n" + bare
	for name, c := range map[string]struct {
		record string
		taken  bool
	}{
		"the next record":                {record("", page, "\r\n\r\n"), true},
		"and its line ends":              {record("", page+"\r\n\r\n", ""), true},
		"and half of them":               {record("", page+"\r\n", "\r\n"), true},
		"all but an empty content":       {record("", "one\n\n"+strings.TrimSpace(codectest.WARC("request", "x", "", "")), "\r\n\r\n\r\n\r\n"), true},
		"two":                            {record("", "one\r\n\r\n"+quoted+bare, "\r\n\r\n"), true},
		"a wrong digest":                 {record("WARC-Block-Digest: "+sha1Of("one")+"\r\n", page, "\r\n\r\n"), true},
		"a digest of another kind":       {record("WARC-Block-Digest: xxh3:0\r\n", page, "\r\n\r\n"), true},
		"a shorter body":                 {http("", page), true},
		"a digest":                       {record("WARC-Block-Digest: "+sha1Of(page)+"\r\n", page, "\r\n\r\n"), false},
		"a digest in base 16":            {record(fmt.Sprintf("WARC-Block-Digest: SHA256:%X\r\n", sha256.Sum256([]byte(page))), page, "\r\n\r\n"), false},
		"a digest of the payload":        {record("WARC-Payload-Digest: "+sha1Of(page)+"\r\n", page, "\r\n\r\n"), false},
		"a digest of the HTTP body":      {http("WARC-Payload-Digest: "+sha1Of(page)+"\r\n", page), false},
		"an HTTP body of that length":    {record("", fmt.Sprintf("HTTP/1.1 200\nContent-Length: %d\n\n%s", len(page), page), "\n\n"), false},
		"a file of records":              {record("", quoted+quoted, "\r\n\r\n"), false},
		"a quotation":                    {record("", page+"\r\n", "\r\n\r\n"), false},
		"a quotation in a text":          {record("", page+" ends", "\r\n\r\n"), false},
		"a quotation without an end":     {record("", page[:len(page)-1], "\r\n\r\n"), false},
		"a quotation without a type":     {record("", "one\n\nWARC/1.0\nContent-Length: 3\n\none", "\n\n"), false},
		"a quotation in a paragraph":     {record("", "one\n"+bare, "\n\n"), false},
		"a quotation without its length": {record("", "one\n\nWARC/1.0\nWARC-Type: request\n\none", "\n\n"), false},
	} {
		var doc codec.Document
		err := New(fields).Decode([]byte(c.record), &doc)
		if e := (*codec.Error)(nil); errors.As(err, &e) != c.taken || c.taken && e.Reason != codec.BrokenWARC || c.taken && Besides([]byte(c.record)) {
			t.Errorf("%s: %q: error %v", name, c.record, err)
		}
		n, next, ok := New(fields).End([]byte(c.record), 0, true)
		if n < 0 {
			n, _, ok = New(fields).End([]byte(c.record), next, true)
		}
		if !ok || (n < len(c.record)) != c.taken {
			t.Errorf("%s: %q ends at %d", name, c.record, n)
		}
		codectest.Invariants(t, codectest.Headed(New(fields)), []byte(c.record+quoted))
	}
}

func TestColumns(t *testing.T) {
	record := "WARC/1.1\r\nWARC-Type: conversion\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Target-URI: http://a/\r\nWARC-Date: 2024-01-31T00:00:00Z\r\n" +
		"Content-Type: text/plain\r\nContent-Length: 3\r\n\r\none\r\n\r\n"
	var doc codec.Document
	for _, c := range []struct{ id, text, value, wantID, wantText, wantValue string }{
		{"", "text", "", "<urn:uuid:1>", "one", ""},
		{"id", "text warc-target-uri", "WARC-Date", "<urn:uuid:1>", "one http://a/", "2024-01-31T00:00:00Z"},
		{"warc-target-uri", "title", "title", "http://a/", "", ""},
	} {
		err := New(codec.Fields{ID: c.id, Text: strings.Fields(c.text), Value: c.value}).Decode([]byte(record), &doc)
		if err != nil || string(doc.ID) != c.wantID || string(doc.Text) != c.wantText || string(doc.Value.Text) != c.wantValue || doc.NoText != (c.wantText == "") {
			t.Errorf("%+v: %+v, error %v", c, doc, err)
		}
	}
	if got := strings.Join(Columns([]byte(record)), " "); got != "text WARC-Type WARC-Record-ID WARC-Target-URI WARC-Date Content-Type Content-Length" {
		t.Errorf("columns %s", got)
	}
}

// TestChunks checks that chunked content is joined again.
func TestChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "body")
		var chunked bytes.Buffer
		for rest := body; ; {
			n := min(len(rest), rapid.IntRange(1, 50).Draw(t, "chunk"))
			chunked.WriteString(strings.ToUpper(hex(n)) + "\r\n")
			chunked.Write(rest[:n])
			chunked.WriteString("\r\n")
			if rest = rest[n:]; n == 0 {
				break
			}
		}
		if got, err := unchunk(chunked.Bytes()); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%q: %q, error %v, want %q", chunked.Bytes(), got, err, body)
		}
	})
}

func hex(n int) string {
	if n < 16 {
		return "0123456789abcdef"[n : n+1]
	}
	return hex(n/16) + hex(n%16)
}

func FuzzText(f *testing.F) {
	f.Add("text/html", "", "<p>a<pre>b")
	f.Add("text/plain; charset=gbk", "gzip", "\x1f\x8b")
	f.Fuzz(func(t *testing.T, contentType, encoding, body string) {
		head := header("WARC/1.0\r\nContent-Type: application/http\r\n\r\n")
		text, ok, err := appendText(nil, head, []byte("HTTP/1.1 200\r\nContent-Type: "+contentType+"\r\nContent-Encoding: "+encoding+"\r\n\r\n"+body))
		if err == nil && ok && !bytes.Equal(text, bytes.ToValidUTF8(text, nil)) {
			t.Errorf("%q is not UTF-8", text)
		}
	})
}

// A header without its closing empty line does not swallow the record after it, and is not read again for each
// following record: otherwise the bytes read would grow with the square of the number of headers.
func TestHeaderEndsAtTheNextRecord(t *testing.T) {
	const open, next = "WARC/1.0\r\nWARC-Record-ID: a\r\n", "WARC/1.0\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
	c := New(codec.Fields{})
	n, state, ok := c.End([]byte(open+next), 0, true)
	if n != len(open) || state != 0 || !ok {
		t.Errorf("the record ends at %d (state %d, %v), want %d", n, state, ok, len(open))
	}
	var doc codec.Document
	if err := c.Decode([]byte(open), &doc); err == nil || string(doc.ID) != "a" {
		t.Errorf("id %q, error %v; want a and an error", doc.ID, err)
	}
	data, read := []byte(strings.Repeat(open, 10000)), 0
	for at := 0; at < len(data); at += len(open) {
		head, _ := headOf(data[at:])
		read += len(head)
	}
	if read > len(data) {
		t.Errorf("headers of %d bytes are read as %d", len(data), read)
	}
}
