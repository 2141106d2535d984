package codectest

import (
	"fmt"
	"slices"
	"strings"
)

// Sample is a file being built, along with what a reader must find in it.
type Sample struct {
	Format  string // the format's name
	Ending  string // the file name's ending
	Content []byte
	Header  int // bytes before the first record or filler
	Records []Planted
	Text    string // the text column, if it has another name
	// Separated says that filler is removed with removed records, as in codec.Codec.
	Separated bool
}

// Planted is a record of a Sample.
type Planted struct {
	Position   int64
	Raw        string
	ID         string // "" for none
	Text       string
	Unreadable bool
	// Besides says that this is not a document but is kept with the file, unless it is too long to tell.
	Besides bool
}

// Least returns the maximum length of a record with which a reader can read a sample to its end: a tar archive is lost
// from a damaged header on, which must be held to be reported as a record.
func Least(format string, records []Planted) int {
	if last := len(records) - 1; format == "tar" && last >= 0 {
		return len(records[last].Raw)
	}
	return 0
}

func (s *Sample) head(raw string) {
	s.Content, s.Header = append(s.Content, raw...), len(s.Content)+len(raw)
}

// Filler adds bytes between records.
func (s *Sample) Filler(raw string) { s.Content = append(s.Content, raw...) }

// Record adds a record.
func (s *Sample) Record(raw, id, text string) {
	s.Records = append(s.Records, Planted{Position: int64(len(s.Content)), Raw: raw, ID: id, Text: text})
	s.Content = append(s.Content, raw...)
}

func (s *Sample) unreadable(raw string) {
	s.Record(raw, "", "")
	s.Records[len(s.Records)-1].Unreadable = true
}

func (s *Sample) besides(raw string) {
	s.Record(raw, "", "")
	s.Records[len(s.Records)-1].Besides = true
}

// Seen returns the records that a reader returns if those of more than most bytes are too long.
func Seen(records []Planted, most int) (seen []Planted) {
	for _, r := range records {
		if !r.Besides || len(r.Raw) > most {
			seen = append(seen, r)
		}
	}
	return seen
}

// Without returns the content without the records at the dropped positions, which must be ascending.
func (s *Sample) Without(dropped []int64) string {
	if s.Separated {
		return s.listWithout(dropped)
	}
	var b strings.Builder
	at := int64(0)
	for _, r := range s.Records {
		if len(dropped) > 0 && dropped[0] == r.Position {
			b.Write(s.Content[at:r.Position])
			at, dropped = r.Position+int64(len(r.Raw)), dropped[1:]
		}
	}
	b.Write(s.Content[at:])
	return b.String()
}

// listWithout is Without for a list with filler around each record. Of the filler, what stands before each kept record
// but the first remains, and what follows the last record.
func (s *Sample) listWithout(dropped []int64) string {
	first, last := s.Records[0].Position, s.Records[len(s.Records)-1]
	content := string(s.Content[:first])
	before, kept := first, 0
	for _, r := range s.Records {
		if !slices.Contains(dropped, r.Position) {
			if kept++; kept > 1 {
				content += string(s.Content[before:r.Position])
			}
			content += r.Raw
		}
		before = r.Position + int64(len(r.Raw))
	}
	return content + string(s.Content[last.Position+int64(len(last.Raw)):])
}

// Samples returns small files, one for each format of bytes, with everything that the format allows besides records.
// Texts are in the column text, unless Text says otherwise, and ids in the column id.
func Samples() []*Sample {
	jsonl := &Sample{Format: "jsonl", Ending: ".jsonl"}
	jsonl.head("\xEF\xBB\xBF")
	jsonl.Filler("\n \r\n")
	jsonl.Record("{\"id\":\"a\",\"text\":\"one\"}\n", "a", "one")
	jsonl.Filler("\n\n")
	jsonl.Record(" {\"text\":\"two\"}\r\n", "", "two")
	jsonl.unreadable("{\"text\":\n")
	jsonl.unreadable("\"three\"}\n")
	jsonl.Filler("   \n")
	jsonl.Record("{\"id\":4,\"text\":\"\"}", "4", "")

	list := &Sample{Format: "json", Ending: ".json", Separated: true}
	list.head("\xEF\xBB\xBF \n[")
	list.Filler("\n  ")
	list.Record("{\"id\": \"a\",\n \"text\": \"[\\\"{one\\\\\"}", "a", "[\"{one\\")
	list.Filler(",\r\n  ")
	list.Record("{\"text\": \"two\", \"list\": [[], {}]}", "", "two")
	list.Filler(" , ")
	list.unreadable("\"a, string\"")
	list.Filler(", ")
	list.unreadable("{\"text\": \"three\"}}")
	list.Filler(",")
	list.unreadable("{\"text\": }")
	list.Filler(",")
	list.Record("{\"id\":4,\"text\":\"\"}", "4", "")
	list.Filler("\n]\n")

	tsv := &Sample{Format: "tsv", Ending: ".tsv"}
	tsv.head("id\ttext\n")
	tsv.Filler("\n")
	tsv.Record("a\tone\n", "a", "one")
	tsv.Record("\ttwo\r\n", "", "two")
	tsv.Filler("\r\n\n")
	tsv.unreadable("too few\n")
	tsv.Record("d\t\n", "d", "")

	csv := &Sample{Format: "csv", Ending: ".csv"}
	csv.head("\xEF\xBB\xBFid,\"text\nand more\",text\r\n")
	csv.Filler("\r\n\n")
	csv.Record("a,,one\n", "a", "one")
	csv.Record("\"\",,\"two,\n\r\n\"\"quoted\"\"\"\r\n", "", "two,\n\r\n\"quoted\"")
	csv.Filler("\n")
	csv.unreadable("too,few\n")
	csv.unreadable("c,\"closed\" early,three\n")
	csv.Record("d,5\" disk,\n", "d", "")

	lines := &Sample{Format: "lines", Ending: ".txt"}
	lines.Record("one\n", "", "one")
	lines.Record("\n", "", "")
	lines.Record("three\r\n", "", "three")
	lines.Record("four", "", "four")

	whole := &Sample{Format: "files", Ending: ".txt"}
	whole.Record("one\n\ntwo", "", "one\n\ntwo")

	reuters := &Sample{Format: "reuters", Ending: ".sgm"}
	reuters.head("<!DOCTYPE lewis SYSTEM \"lewis.dtd\">\n")
	reuters.Filler("noise ")
	reuters.Record("<REUTERS OLDID=\"1\"><BODY>one</BODY></REUTERS>\n", "1", "one")
	reuters.Record("<REUTERS OLDID=\"2\"><BODY>two\n</BODY></REUTERS>\r\n", "2", "two\n")
	reuters.Filler("\n <!-- noise -->\n")
	reuters.unreadable("<REUTERS OLDID=\"3\"><BODY>")
	reuters.Record("<REUTERS OLDID=\"4\"><BODY>four</BODY></REUTERS>", "4", "four")
	return []*Sample{jsonl, list, tsv, csv, lines, whole, htmlSample(), xmlSample(), reuters, warcSample(), tarSample()}
}

func htmlSample() *Sample {
	html := &Sample{Format: "html", Ending: ".html"}
	html.Record("<!DOCTYPE html><title>one</title>\n<p>two<script>three</script>", "", "one\ntwo")
	return html
}

// xmlSample has records in page elements, whose texts are in text elements.
func xmlSample() *Sample {
	xml := &Sample{Format: "xml", Ending: ".xml", Text: "page/text"}
	xml.head("\xEF\xBB\xBF")
	xml.besides("<?xml version=\"1.0\"?>")
	xml.Filler("\n<dump>\r\n  ")
	xml.Record("<page id='a'><text>one &amp; <b>two</b></text></page>\n", "a", "one & two")
	xml.Filler("  <pages/> ")
	xml.Record("<page a='/>'><page><text>two</text></page>\n<![CDATA[</page>]]></page>\r\n", "", "two")
	xml.besides("<!-- <page></page> -->")
	xml.Record("<page><text/></page >", "", "")
	xml.Filler("</dump>\n")
	return xml
}

func warcSample() *Sample {
	warc := &Sample{Format: "warc", Ending: ".warc"}
	warc.Filler("\r\n")
	warc.besides(WARC("warcinfo", "info", "application/warc-fields", "software: none\r\n"))
	warc.Record(WARC("conversion", "a", "text/plain", "one\r\n\r\nWARC/1.0\r\n"), "a", "one\r\n\r\nWARC/1.0\r\n")
	warc.Record(WARC("response", "b", "application/http",
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>two <b>&amp;</b>"), "b", "two &")
	warc.besides(WARC("request", "c", "application/http", "GET / HTTP/1.1\r\n\r\n"))
	warc.unreadable("WARC/1.0\r\nWARC-Type: request\r\nContent-Length: 3\r\n\r\nfour\r\n\r\n")
	warc.unreadable("WARC/1.1\r\nWARC-Type: conversion\r\n\r\nfive\r\n\r\n")
	warc.unreadable(WARC("response", "d", "application/http", "SSH-2.0\r\n"))
	warc.Record(WARC("conversion", "", "text/plain", "")+"\r\n", "", "")
	return warc
}

// WARC returns a WARC record. An empty id means none.
func WARC(kind, id, contentType, content string) string {
	head := "WARC/1.0\r\nWARC-Type: " + kind + "\r\n"
	if id != "" {
		head += "WARC-Record-ID: " + id + "\r\n"
	}
	return fmt.Sprintf("%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", head,
		contentType, len(content), content)
}

func tarSample() *Sample {
	tar := &Sample{Format: "tar", Ending: ".tar"}
	tar.besides(Tar("folder/", '5', ""))
	tar.Record(Tar("folder/a.txt", '0', "one\n"), "folder/a.txt", "one\n")
	tar.besides(Tar("link", '2', ""))
	tar.Record(Tar("././@LongLink", 'L', "../a/long/name\x00")+Tar("../a/lo", '0', ""), "../a/long/name", "")
	tar.Filler(strings.Repeat("\x00", 1024))
	tar.Record(Tar("pax", 'x', "14 path=./pax\n")+Tar("p", '0', strings.Repeat("two ", 200)),
		"./pax", strings.Repeat("two ", 200))
	tar.unreadable(Tar("broken", '0', "three")[1:])
	return tar
}

// Tar returns a member of an archive.
func Tar(name string, kind byte, content string) string {
	head := make([]byte, 512)
	copy(head, name)
	copy(head[100:], "0000644\x000000000\x000000000\x00")
	copy(head[124:], fmt.Sprintf("%011o\x00%011o\x00        ", len(content), 0))
	head[156] = kind
	copy(head[257:], "ustar\x0000")
	sum := 0
	for _, c := range head {
		sum += int(c)
	}
	copy(head[148:], fmt.Sprintf("%06o\x00 ", sum))
	return string(head) + content + strings.Repeat("\x00", (512-len(content)%512)%512)
}

// OfLengths returns a file of lines, jsonl or reuters with records of the given lengths in bytes.
func OfLengths(format string, lengths ...int) *Sample {
	s := &Sample{Format: format, Ending: "." + format}
	for i, n := range lengths {
		frame := map[string][2]string{
			"lines":   {"", "\n"},
			"jsonl":   {`{"text":"`, "\"}\r\n"},
			"reuters": {"<REUTERS ><BODY>", "</BODY></REUTERS>\r\n"},
		}[format]
		text := strings.Repeat(string(rune('a'+i%26)), max(n-len(frame[0])-len(frame[1]), 0))
		s.Record(frame[0]+text+frame[1], "", text)
	}
	return s
}
