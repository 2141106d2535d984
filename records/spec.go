package records

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Spec holds all settings that affect the results of a job: strings, numbers and lists, flat in JSON. Its fields are at
// once the flags of the command line (kong reads the tags), the keys of a job file and the parameters of run.json.
//
// The tag phase names the first phase of a run that depends on a field: plan, keys, verify, decide, or check, which
// produces no data.
type Spec struct {
	Input
	References
	Tolerance
	Similarity
	Matching
	Method string `json:"method" phase:"keys" default:"${d_method}" enum:"${methods}" placeholder:"METHOD" help:"Way to find near-duplicates: minhash (by signatures), simhash (by SimHash signatures), complete (by comparing every document with every other, which finds them all) or exact (finds only copies, as --same defines them, and ignores --threshold) (default: ${default})." group:"Similarity"`
	Same   string `json:"same" phase:"keys" placeholder:"WHAT" help:"Definition of a copy for --method exact: bytes (the text as decoded), tokens (the same words, characters or bytes in the same order after --normalize) or set (the same shingles) (default: bytes)." group:"Similarity"`
	Search
	Comparing
	MeasureRecall int `json:"measure_recall" phase:"keys" placeholder:"N" help:"Measure the recall: read the input again and compare N documents, drawn with --seed, with all others. The summary gives the share of their near pairs that the run found." group:"Similarity"`
	Decision
	Writing
}

// Input says what is read, and which part of it is compared.
type Input struct {
	Inputs []string `json:"input" phase:"plan" arg:"" optional:"" name:"input" help:"Files, folders or patterns to read, in order; - is standard input. neardup follows links to folders; ** in patterns does not."`

	NamedInputs []string `json:"-" name:"input" sep:"none" placeholder:"PATH" help:"Another input, read after those without a flag; repeat for several." group:"Input"`
	InputsFrom  string   `json:"inputs_from" phase:"plan" placeholder:"FILE" help:"File that lists more inputs, one path per line; - is standard input." group:"Input"`
	Include     []string `json:"include" phase:"plan" sep:"none" placeholder:"GLOB" help:"Read only files that match, or are in a folder that matches; repeat for several patterns. A pattern without a slash matches any name in the path below an input folder; a pattern with a slash matches the whole path." group:"Input"`
	Exclude     []string `json:"exclude" phase:"plan" sep:"none" placeholder:"GLOB" help:"Skip files that match, or are in a folder that matches; patterns as for --include." group:"Input"`
	Format      string   `json:"format" phase:"plan" help:"Format of the input: ${formats} (default: by file name)." placeholder:"NAME" group:"Input"`
	Text        []string `json:"text" phase:"plan" default:"${d_text}" sep:"none" placeholder:"COLUMN" help:"Text column; repeat to join several columns with a space. Dotted paths reach nested fields. In HTML and XML, give the name of an element; RECORD/ELEMENT makes each RECORD element of XML a record (default: ${default})." group:"Text"`
	ID          string   `json:"id" phase:"plan" default:"${d_id}" placeholder:"COLUMN" help:"Id column; neardup names a document without an id by its place, SOURCE@POSITION (default: ${default})." group:"Text"`
	Encoding    string   `json:"encoding" phase:"plan" default:"${d_encoding}" placeholder:"NAME" help:"Encoding of JSON, CSV, TSV and text files and of tar members, as named in the Encoding Standard, such as windows-1251, latin1, shift_jis, gbk or koi8-r. neardup reads files that are UTF-8 as UTF-8, except with utf-16le and utf-16be. A byte order mark overrides every name except utf-8; auto follows the mark and, without one, assumes UTF-8. detect decides file by file; records of doubtful encoding are unreadable (default: ${default})." group:"Text"`
	Delimiter   string   `json:"delimiter" phase:"plan" default:"${d_delimiter}" placeholder:"CHARACTER" help:"Separator of CSV values: an ASCII character, or tab (default: ${default})." group:"Input"`
	NoHeader    bool     `json:"no_header" phase:"plan" help:"Read the first line of CSV and TSV as data; --text and --id are then column numbers, from 1." group:"Input"`
	Limit       int64    `json:"limit" phase:"plan" placeholder:"N" help:"Read only the first N readable documents." group:"Input"`
	MaxDocBytes Bytes    `json:"max_doc_bytes" phase:"plan" default:"${d_max_doc_bytes}" placeholder:"SIZE" help:"Do not compare documents whose text is larger than this or, when normalised, exceeds both this and twice its original size (default: ${default})." group:"Text"`
	MaxWindow   Bytes    `json:"max_window" phase:"plan" default:"${d_max_window}" placeholder:"SIZE" help:"Refuse a compressed file whose window, or a Parquet file whose largest page, exceeds this, because reading it takes that much memory (default: ${default})." group:"Input"`
	InvalidUTF8 string   `json:"invalid_utf8" phase:"plan" name:"invalid-utf8" default:"${d_invalid_utf8}" enum:"${invalid}" placeholder:"HOW" help:"Treatment of a text that is not UTF-8, or begins like UTF-16: reject (the record is unreadable) or keep (compare it unchanged, and its invalid parts byte by byte; needs --shingle char:K or byte:K, or --method exact) (default: ${default})." group:"Text"`
	MinWords    int      `json:"min_words" phase:"keys" placeholder:"N" help:"Do not compare documents with fewer than N words after normalising." group:"Text"`
}

// Tolerance says which defects of the input are accepted.
type Tolerance struct {
	MaxRejected string `json:"max_rejected" phase:"check" default:"${d_max_rejected}" placeholder:"N|P%" help:"Accept up to this number or percentage of unreadable records, and of documents in files without the text column; with more, the run ends with status 4 (default: ${default})." group:"Input"`
	AllowEmpty  bool   `json:"allow_empty" phase:"check" help:"Succeed with empty tables if there is no input file or no document to compare. A local path that does not exist is still an error, unless it is a pattern." group:"Input"`
}

// References says which existing documents inputs are compared with, too.
type References struct {
	Against     []string `json:"against" phase:"plan" sep:"none" placeholder:"PATH" help:"Documents that you already have: files, folders or patterns; a finished output, whose corpus/ is read; or an index. neardup removes documents of the input that are similar to one of these, and neither compares these with each other nor writes them. The file name gives their format. Repeat for several." group:"Input"`
	Append      bool     `json:"append" phase:"check" help:"Add to the --against index the documents that this run keeps or removes, once the output is complete." group:"Input"`
	AgainstText []string `json:"against_text" phase:"plan" sep:"none" placeholder:"COLUMN" help:"Text column of --against; repeat to join several (default: those of --text)." group:"Text"`
	AgainstID   string   `json:"against_id" phase:"plan" placeholder:"COLUMN" help:"Id column of --against (default: that of --id)." group:"Text"`
}

// Similarity says which documents are similar.
type Similarity struct {
	Threshold float64 `json:"threshold" phase:"verify" short:"t" default:"${d_threshold}" placeholder:"T" help:"Minimum similarity to count as near-duplicates, in (0, 1]; Jaccard similarity, unless another measure is chosen (default: ${default})." group:"Similarity"`
	Shingles
}

// Shingles says which features of documents are compared.
type Shingles struct {
	Shingle string `json:"shingle" phase:"keys" default:"${d_shingle}" placeholder:"KIND:K" help:"Shingles (n-grams) to compare: K consecutive words, characters or bytes, as in word:5, char:9, byte:13. char32:9 is char:9 with hashes of 32 bits. stopword:3 (stopword:3:it for Italian) takes only shingles that begin with a stop word. item takes each element of a list column as a shingle (default: ${default})." group:"Similarity"`
	Normalizing
}

// Normalizing says which parts of a text do not count.
type Normalizing struct {
	Normalize string `json:"normalize" phase:"keys" default:"${d_normalize}" placeholder:"STEPS" help:"Changes to texts before comparison: none, or a comma-separated list of ${normalizations}, no-stop-words:LANGUAGE and stem:LANGUAGE. default is NFKC and lower case, without punctuation, symbols, layout and invisible characters (--shingle byte:K keeps the last two). keep-symbols keeps punctuation and symbols, and keep-case keeps capitals; both leave the rest of default in force, unless you list other steps. strip-markup keeps only visible HTML and XML text, and fold-han unifies the variants of a Han character. no-stop-words:LANGUAGE leaves out stop words, and stem:LANGUAGE replaces words with stems (Snowball), as in default,stem:en (default: ${default})." group:"Text"`
}

// Matching says what else near-duplicates and copies must have in common.
type Matching struct {
	Match        []string `json:"match" phase:"plan" sep:"none" placeholder:"COLUMN=RULE" help:"Compare documents, even copies, only if they meet this rule, as in lang=equal; repeat the flag to require several rules. Rules: equal (the same value, byte for byte), different (not equal), within:N (numbers at most N apart) and within:7d (dates or times; d, h, m or s). A rule like title=char:3,.7,lower requires a Jaccard similarity of .7, with shingles char:3 and --normalize lower. Without --text, such rules are the whole comparison. neardup compares documents without a value with no others, or with all if ,missing-ok follows the rule. Dotted paths reach nested fields." group:"Similarity"`
	MatchNumbers bool     `json:"match_numbers" phase:"keys" help:"Compare documents, even copies, only if their texts have the same numbers in the same order, so that issue 12 and issue 13 are both kept. 1,000 and 1.000 count as 1000, and a date as its numbers." group:"Similarity"`
}

// Search says how similar documents are searched for.
type Search struct {
	Recall    float64 `json:"recall" phase:"keys" default:"${d_recall}" placeholder:"R" help:"Minimum probability of finding a pair whose similarity is exactly the threshold; the probability is higher for pairs with a higher similarity (default: ${default})." group:"Similarity"`
	Bands     int     `json:"bands" phase:"keys" placeholder:"B" help:"Number of bands, with --rows, instead of the number that --recall would choose." group:"Similarity"`
	Rows      int     `json:"rows" phase:"keys" placeholder:"R" help:"Rows per band, with --bands." group:"Similarity"`
	Signature string  `json:"signature" phase:"keys" default:"${d_signature}" enum:"${signatures}" placeholder:"KIND" help:"Kind of signature: fss (Fast Similarity Sketching) or a slower textbook kind: classic (universal hashing of each shingle's number in a dictionary, for which neardup reads the input once more) or salted (SHA-1 of the shingles' text) (default: ${default})." group:"Similarity"`
	Seed      uint64  `json:"seed" phase:"keys" default:"${d_seed}" placeholder:"N" help:"Seed of signatures and samples (default: ${default})." group:"Similarity"`
}

// Comparing says how documents are compared, if not by their sets, and how SimHash signatures are made.
type Comparing struct {
	Compare string `json:"compare" phase:"keys" placeholder:"MEASURE" help:"Measure of similarity: jaccard (of shingle sets), containment (the share of the smaller shingle set that the larger one has), cosine (of vectors) or overlap (the share of equal bits of SimHash signatures). SimHash takes cosine or overlap (default: overlap for SimHash, otherwise jaccard)." group:"Similarity"`
	Weights string `json:"weights" phase:"keys" default:"${d_weights}" enum:"${weights}" placeholder:"WEIGHT" help:"Weight of a shingle in a document's vector, for cosine and overlap: 1, tf (the number of its occurrences) or tf-idf (tf times log2(1 + N/n), where n of N documents have the shingle; neardup reads the input once more) (default: ${default})." group:"Similarity"`
	Bits    int    `json:"bits" phase:"keys" default:"${d_bits}" placeholder:"M" help:"Bits of a SimHash signature, from 1 to 1024 (default: ${default})." group:"Similarity"`
	Pieces  int    `json:"pieces" phase:"keys" placeholder:"P" help:"Number of pieces of a SimHash signature; neardup compares documents with an equal piece at the same position (default: as many as --recall needs, if you give it; otherwise 32, or neardup compares all documents if most would share a piece by chance)." group:"Similarity"`
	Vectors string `json:"vectors" phase:"keys" default:"${d_vectors}" enum:"${vectors}" placeholder:"KIND" help:"Random vectors of SimHash: normal (normally distributed entries) or sign (entries 1 and -1, as in most programs; no guaranteed recall for cosine) (default: ${default})." group:"Similarity"`
}

// Decision says which similar documents are removed.
type Decision struct {
	Cluster         string   `json:"cluster" phase:"verify" default:"${d_cluster}" enum:"${clusters}" placeholder:"HOW" help:"Which similar documents to remove: with star, those whose similarity to a kept one reaches the threshold; with components, all but one of each cluster, so a chain of similar documents can remove one that is not similar to the kept one (default: ${default})." group:"Decision"`
	Keep            []string `json:"keep" phase:"verify" default:"${d_keep}" sep:"none" placeholder:"POLICY" help:"Which of several similar documents to keep: first in input order, longest (bytes of text), max:COLUMN or min:COLUMN (numbers rank before strings, and missing values last), or prefer:GLOB,... (documents of files that match the first pattern, then the second, then others). Repeat the flag to break ties, with at most one column; remaining ties go to the first in input order. max:date keeps the newest, and the value none removes all similar documents (default: ${default})." group:"Decision"`
	Protect         []string `json:"protect" phase:"verify" sep:"none" placeholder:"GLOB" help:"Never remove documents of files that match, even if they are similar to each other. neardup removes other documents that are similar to a protected one, whatever --keep says. Repeat for several patterns." group:"Decision"`
	DropNotCompared bool     `json:"drop_not_compared" phase:"decide" help:"Also exclude from the corpus the documents that are not compared: those without text or tokens, with too few words, or beyond a limit." group:"Decision"`
	MaxRemoved      string   `json:"max_removed" phase:"check" placeholder:"P%" help:"End with status 5 and publish nothing if the run would remove more than this percentage of the documents of any one input file, or of any one folder with one document per file." group:"Decision"`
	PairBudget      int      `json:"pair_budget" phase:"verify" default:"${d_pair_budget}" placeholder:"N" help:"Maximum number of pairs that pairs/ lists for a group of documents that candidates or similar pairs connect. If a group has more pairs, pairs/ lists each document with only some of the documents kept before it. If the ids of a cluster's pairs take more than 256 bytes times N, pairs/ lists each of its documents only with the document kept in its place. In a group of more than 4,096 documents, the number of pairs is an estimate (default: ${default})." group:"Decision"`
}

// Writing says what is written.
type Writing struct {
	NoText bool     `json:"no_text" phase:"check" help:"Leave the texts of documents out of report.html." group:"Output"`
	Write  []string `json:"write" phase:"decide" default:"${d_write}" enum:"${parts}" placeholder:"NAME" help:"Parts of the output to write: any of ${enum} (default: all but documents, which has a row for every record)." group:"Output"`
}

// Default returns the settings of a command line without flags.
func Default() Spec {
	return Spec{
		Input: Input{
			Text: []string{"text"}, ID: "id", Encoding: "utf-8", Delimiter: ",",
			MaxDocBytes: 16 << 20, MaxWindow: 128 << 20, InvalidUTF8: "reject",
		},
		Tolerance:  Tolerance{MaxRejected: "0"},
		Similarity: Similarity{Threshold: .8, Shingles: Shingles{Shingle: "word:5", Normalizing: Normalizing{"default"}}},
		Method:     "minhash",
		Search:     Search{Recall: .999, Signature: "fss", Seed: 1},
		Comparing:  Comparing{Weights: "1", Bits: 256, Vectors: "normal"},
		Decision:   Decision{Cluster: "star", Keep: []string{"first"}, PairBudget: 1 << 18},
		Writing:    Writing{Write: []string{"pairs", "clusters", "removed", "rejected", "corpus"}},
	}
}

// Fields returns the fields of a Spec, or of a part of it, by their names in JSON.
func Fields(of any) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for field, value := range reflect.ValueOf(of).Fields() {
		switch name := field.Tag.Get("json"); {
		case field.Anonymous:
			for name, value := range Fields(value.Interface()) {
				fields[name] = value
			}
		case name != "-":
			fields[name] = value
		}
	}
	return fields
}

// Phases returns the phases of the fields of a Spec, by their names in JSON.
func Phases() map[string]string { return phases(reflect.TypeFor[Spec]()) }

func phases(of reflect.Type) map[string]string {
	all := map[string]string{}
	for field := range of.Fields() {
		if field.Anonymous {
			maps.Copy(all, phases(field.Type))
		} else {
			all[field.Tag.Get("json")] = field.Tag.Get("phase")
		}
	}
	return all
}

// DefaultVars returns the fields of Default in the form of flags, by d_ and the field's name: variables that tags refer
// to.
func DefaultVars() map[string]string {
	vars := map[string]string{}
	for name, value := range Fields(Default()) {
		text := fmt.Sprint(value)
		if list, ok := value.Interface().([]string); ok {
			text = strings.Join(list, ",")
		}
		vars["d_"+name] = text
	}
	return vars
}

// Bytes is a size that is written with a unit: 512, 64KB, 1.5GB, 16MiB. In JSON it is a number.
type Bytes int64

// size matches a number, with or without decimals, and a unit.
var size = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) *([A-Z]*)$`)

// units has K, M, G and T for powers of 1024, KB for powers of 1000 and KiB for powers of 1024.
var units = map[string]int64{
	"": 1, "B": 1,
	"K": 1 << 10, "KB": 1e3, "KIB": 1 << 10,
	"M": 1 << 20, "MB": 1e6, "MIB": 1 << 20,
	"G": 1 << 30, "GB": 1e9, "GIB": 1 << 30,
	"T": 1 << 40, "TB": 1e12, "TIB": 1 << 40,
}

// UnmarshalText parses a size exactly; it drops a fraction of a byte.
func (b *Bytes) UnmarshalText(text []byte) error {
	mistake := fmt.Errorf("%q is not a size such as 512KB, 1.5GB or 16MiB", text)
	parts := size.FindStringSubmatch(strings.ToUpper(strings.TrimSpace(string(text))))
	if parts == nil {
		return mistake
	}
	number, read := new(big.Rat).SetString(parts[1])
	factor, known := units[parts[2]]
	if !read || !known {
		return mistake
	}
	number.Mul(number, new(big.Rat).SetInt64(factor))
	whole := new(big.Int).Quo(number.Num(), number.Denom())
	if !whole.IsInt64() {
		return mistake
	}
	*b = Bytes(whole.Int64())
	return nil
}

// UnmarshalJSON reads a number of bytes.
func (b *Bytes) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, (*int64)(b)) }

// String formats the size in the largest unit of which it is a whole multiple, as UnmarshalText parses it.
func (b Bytes) String() string {
	for _, unit := range []string{"TiB", "TB", "GiB", "GB", "MiB", "MB", "KiB", "KB"} {
		if factor := Bytes(units[strings.ToUpper(unit)]); b != 0 && b%factor == 0 {
			return fmt.Sprintf("%d%s", int64(b/factor), unit)
		}
	}
	return fmt.Sprint(int64(b))
}

// Wrote reports whether the run was to write a table, or the corpus.
func (s *Spec) Wrote(part string) bool { return slices.Contains(s.Write, part) }
