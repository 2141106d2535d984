package codectest

import (
	"slices"
	"strings"
)

// Sample is a file under construction, with what a reader is to find in it.
type Sample struct {
	Format  string // its name
	Ending  string // of a file's name
	Content []byte
	Header  int // bytes before the first record and filler
	Records []Planted
	// Separated: filler goes with records that are left out, as codec.Codec has it.
	Separated bool
}

// Planted is a record of a Sample.
type Planted struct {
	Position   int64
	Raw        string
	ID         string // "" for none
	Text       string
	Unreadable bool
}

func (s *Sample) head(raw string) {
	s.Content, s.Header = append(s.Content, raw...), len(s.Content)+len(raw)
}

// Filler adds what stands between records.
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

// Without returns the content without the records at the positions dropped, which ascend.
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

// listWithout is Without of a list that has filler around each record: of that which is behind a record, there remains
// what is before a kept one that is not the first, and what is behind the last record.
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

// Samples are small files, one of each format of bytes, with all that a format knows besides
// records. Texts are in the column text and ids in the column id.
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
	csv.unreadable("e,,\"not closed\n")

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
	return []*Sample{jsonl, list, tsv, csv, lines, whole, reuters}
}

// OfLengths is a file of lines, jsonl or reuters with records of so many bytes.
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
