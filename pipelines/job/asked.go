package job

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
)

// Asked is a valid Spec with its strings parsed. The Spec has one spelling for each meaning; fields of the same name
// here are parsed from the Spec's.
type Asked struct {
	records.Spec
	// Given lists the fields that were set explicitly to their defaults, if that matters.
	Given []string

	Threshold setsim.Threshold
	Texts     shingle.Spec // how to shingle a text
	Separator byte         // separates values in CSV
	// Fields are the rules of --match if there is no text, so that the rules of similarity are the whole comparison. One
	// of them leads: Threshold and Texts are its own, its column is read as the text, and the other rules apply besides.
	// nil: there is a text.
	Fields []match.Rule
	lead   int  // the index of the rule that leads
	led    bool // lead is fixed, so no plan chooses another
	// Same is what copies have in common if the search is only for copies; "" if it is for near-duplicates.
	Same copies.Same
	// Measure is the kind of similarity.
	Measure string
	// Family is the kind of signature.
	Family signature.Family
	// AskedRecall means that the recall was set explicitly, even to its default, so SimHash pieces are chosen by it.
	AskedRecall bool
	// Rank ranks documents in the second read.
	Rank source.Rank
	// KeepNone means that no similar document is kept.
	KeepNone bool
	// Prefer are patterns of files, in order of preference, and Protected patterns of files from which no document is
	// removed.
	Prefer, Protected []string
	MaxRejected       sink.Limit
	// MaxRemoved is a percentage; nil: there is no limit.
	MaxRemoved *float64
	// Parts lists the tables to write, and the corpus.
	Parts []output.Part
}

// Compile parses and checks a Spec. given lists the fields that were set explicitly: some are refused, or mean
// something else, even at their default. The error is a *UsageError.
func Compile(spec records.Spec, given ...string) (*Asked, error) {
	a := &Asked{Spec: spec}
	if err := a.parse(given); err != nil {
		return nil, err
	}
	return a, cmp.Or(a.check(), a.checkRules(given))
}

// parse parses the strings of the Spec.
func (a *Asked) parse(given []string) (err error) {
	s := &a.Spec
	values, defaults := records.Fields(*s), records.Fields(records.Default())
	for _, field := range slices.Sorted(maps.Keys(choices)) {
		words, several := values[field].Interface().([]string)
		if !several {
			words = []string{values[field].String()}
		}
		for _, word := range words {
			if !slices.Contains(choices[field], word) &&
				(several || word != defaults[field].String() || slices.Contains(given, field)) {
				reason := fmt.Errorf("%q is unknown; use %s", word, records.Or(choices[field]...))
				if field == "format" {
					reason = source.CheckFormat(word)
				}
				fail(&err, field, word, reason)
			}
		}
	}
	a.Threshold = parsed(&err, "threshold", s.Threshold, setsim.ParseThreshold)
	a.Texts.Shingle = parsed(&err, "shingle", s.Shingle, shingle.Parse)
	a.Texts = parsed(&err, "normalize", s.Normalize, a.Texts.Normalized)
	if a.Texts.Shingle.Kind == shingle.Item && s.Normalize == defaults["normalize"].String() &&
		!slices.Contains(given, "normalize") {
		a.Texts.Normalize = textnorm.Policy{} // items are compared as they are
	}
	rules, wrong := shingle.ParseRules(s.Match)
	a.Texts.Rules = rules
	fail(&err, "match", "", wrong)
	a.Texts.Numbers = s.MatchNumbers
	if similar := slices.ContainsFunc(a.Texts.Rules, isSimilar); similar && len(s.Text) == 0 {
		err = cmp.Or(err, a.parseFields(given))
	} else if similar && slices.Equal(s.Text, records.Default().Text) {
		a.Given = append(a.Given, "text") // without this flag there would be no text
	}
	a.Separator = parsed(&err, "delimiter", s.Delimiter, parseDelimiter)
	fail(&err, "encoding", s.Encoding, reading.CheckEncoding(s.Encoding))
	a.MaxRejected = parsed(&err, "max_rejected", s.MaxRejected, parseTolerance)
	a.MaxRemoved = parsed(&err, "max_removed", s.MaxRemoved, parseShare)
	err = a.parseKeep(err)
	for _, glob := range s.Protect {
		if bad := checkGlob(glob); bad != nil && err == nil {
			err = &UsageError{Field: "protect", Value: glob, Reason: bad}
		}
		a.Protected = append(a.Protected, path.Clean(glob))
	}
	for _, name := range s.Write {
		a.Parts = append(a.Parts, output.Part(name))
	}
	if err != nil {
		return err
	}
	if a.Fields == nil {
		s.Shingle, s.Normalize = a.Texts.Shingle.String(), a.Texts.Steps()
	}
	if s.Method == Exact {
		s.Same = cmp.Or(s.Same, string(copies.Bytes))
		a.Same = copies.Same(s.Same)
	}
	usual := Jaccard
	if s.Method == SimHash {
		usual = Overlap
	}
	a.Measure = cmp.Or(s.Compare, usual)
	if a.Measure == Containment && s.Method == MinHash && !slices.Contains(given, "method") {
		s.Method = Complete // no signature estimates containment
	}
	if s.Method != Exact {
		s.Compare = a.Measure
	}
	if a.Family = signature.Family(s.Signature); s.Method == SimHash || a.Measure == Overlap {
		a.Family = signature.SimHash
	}
	usualRecall := s.Recall == records.Default().Recall
	a.AskedRecall = !usualRecall || slices.Contains(given, "recall")
	if usualRecall && a.AskedRecall && s.Method == SimHash && s.Pieces == 0 {
		a.Given = append(a.Given, "recall")
	}
	return nil
}

func isSimilar(r match.Rule) bool { return r.Kind == match.Similar }

// parseFields makes rules of similarity the whole comparison. The threshold is the lowest of theirs: similar documents
// are at least that similar.
func (a *Asked) parseFields(given []string) error {
	a.Fields = a.Texts.Rules
	leads := a.leads()
	if len(leads) == 0 {
		return &UsageError{Field: "match", Value: strings.Join(a.Match, " --match "),
			Reason: errors.New("candidates must come from a column that has a value in every document; remove missing-ok from " +
				"one similarity rule, or add --text COLUMN")}
	}
	least := 1.
	for _, r := range a.Fields {
		if isSimilar(r) {
			least = min(least, r.Threshold.Float())
		}
	}
	asked := &a.Spec.Threshold
	if *asked != least && (*asked != records.Default().Threshold || slices.Contains(given, "threshold")) {
		return &UsageError{Field: "threshold", Value: fmt.Sprint(*asked), Reason: errors.New(ofFields(a))}
	}
	*asked = least
	a.leadBy(leads[0])
	return nil
}

// leads returns the indexes of the rules that may lead: rules of similarity without missing-ok, because a document
// without a value has no candidates.
func (a *Asked) leads() (leads []int) {
	for i, r := range a.Fields {
		if isSimilar(r) && !r.MissingOK && (!a.led || i == a.lead) {
			leads = append(leads, i)
		}
	}
	return leads
}

// leadBy makes rule i lead.
func (a *Asked) leadBy(i int) {
	r := a.Fields[i]
	of, err := shingle.Field(r)
	if err != nil {
		panic(err) // ParseRules refuses such a rule
	}
	of.Rules, of.Field = slices.Delete(slices.Clone(a.Fields), i, i+1), true
	a.lead, a.Texts, a.Threshold = i, of, r.Threshold
}

// Led makes the rule of a column lead, as an earlier plan chose; "" is none.
func (a *Asked) Led(column string) {
	if i := slices.IndexFunc(a.Fields, func(r match.Rule) bool { return r.Column == column }); i >= 0 {
		a.leadBy(i)
		a.led = true
	}
}

// Lead returns the column of the rule that leads, or "" if there is a text.
func (a *Asked) Lead() string {
	if a.Fields == nil {
		return ""
	}
	return a.Fields[a.lead].Column
}

// place returns the position of the rule that leads among the rules of similarity, from 1 on, or 0 if there is a text.
func (a *Asked) place() (place int) {
	for i, r := range a.Fields {
		if isSimilar(r) && i <= a.lead {
			place++
		}
	}
	return place
}

// Columns returns the columns that are read as text, and the flag that names them.
func (a *Asked) Columns() (columns []string, flag string) {
	if a.Fields == nil {
		return a.Text, "--text"
	}
	return []string{a.Lead()}, "--match"
}

// Shown returns how records are read to show their texts to a person: with the columns of all rules of similarity, if
// there is no text.
func (a *Asked) Shown() source.Options {
	shown := *a
	shown.Fields, shown.Texts.Rules = nil, nil
	if a.Fields != nil {
		shown.Text = ColumnsOf(a.Match)
	}
	return shown.Decoding()
}

// ColumnsOf returns the columns of the rules of similarity, or none if a rule is invalid.
func ColumnsOf(rules []string) (columns []string) {
	parsed, err := shingle.ParseRules(rules)
	if err != nil {
		return nil
	}
	for _, r := range parsed {
		if isSimilar(r) {
			columns = append(columns, r.Column)
		}
	}
	return columns
}

// parsed returns a field's parsed value, and records the first error.
func parsed[T, V any](failed *error, field string, text V, parse func(V) (T, error)) T {
	value, err := parse(text)
	fail(failed, field, fmt.Sprint(text), err)
	return value
}

// fail records an error of a value, if it is the first.
func fail(failed *error, field, value string, err error) {
	if err != nil && *failed == nil {
		*failed = &UsageError{Field: field, Value: value, Reason: err}
	}
}

// parseDelimiter parses an ASCII character, or the word tab.
func parseDelimiter(text string) (byte, error) {
	if text == "tab" || text == `\t` {
		return '\t', nil
	}
	if len(text) != 1 || text[0] > '~' || text[0] < ' ' && text[0] != '\t' || text[0] == '"' {
		return 0, fmt.Errorf("%q cannot separate values; give one ASCII character other than a quote, or the word tab", text)
	}
	return text[0], nil
}

// parseTolerance parses "12" or "0.5%".
func parseTolerance(text string) (sink.Limit, error) {
	if number, ok := strings.CutSuffix(text, "%"); ok {
		percent, err := parsePercent(number)
		if err != nil {
			return sink.Limit{}, fmt.Errorf("%q is not a percentage between 0%% and 100%%", text)
		}
		return sink.Limit{Percent: percent}, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return sink.Limit{}, fmt.Errorf("%q is neither a number of records nor a percentage such as 0.1%%", text)
	}
	return sink.Limit{Records: n}, nil
}

// parseShare parses "12.5%"; it returns nil for "".
func parseShare(text string) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	number, ok := strings.CutSuffix(text, "%")
	percent, err := parsePercent(number)
	if !ok || err != nil {
		return nil, fmt.Errorf("%q is not a percentage between 0%% and 100%%, such as 50%%", text)
	}
	return &percent, nil
}

func parsePercent(number string) (float64, error) {
	percent, err := strconv.ParseFloat(number, 64)
	if err == nil && !(percent >= 0 && percent <= 100) {
		err = errors.ErrUnsupported
	}
	return percent, err
}

// parseKeep parses the policies that decide which similar document is kept; each one breaks the ties of those before
// it.
func (a *Asked) parseKeep(failed error) error {
	for i, policy := range a.Keep {
		err := a.parsePolicy(policy, i)
		if err == nil && len(a.Keep) > 1 && (policy == keepNone || policy == "first" && i < len(a.Keep)-1) {
			err = errors.New("cannot be combined with another --keep; use it alone, or drop it")
		}
		if err == nil && slices.Contains(a.Keep[:i], policy) {
			err = errors.New("it is given twice; give it once")
		}
		fail(&failed, "keep", policy, err)
	}
	return failed
}

func (a *Asked) parsePolicy(policy string, place int) (err error) {
	name, argument, has := strings.Cut(policy, ":")
	switch {
	case policy == "first":
	case policy == keepNone:
		a.KeepNone = true
	case policy == "longest":
		a.Rank = append(a.Rank, source.RankKey{Length: true, Largest: true})
	case (name == "max" || name == "min") && argument != "":
		if column := a.Rank.Column(); column != "" {
			return fmt.Errorf("only one column can decide, but an earlier --keep names %s; drop one", column)
		}
		a.Rank = append(a.Rank, source.RankKey{Column: argument, Largest: name == "max"})
	case name == "max" || name == "min":
		return fmt.Errorf("name a column, as in %s:date", name)
	case name == "prefer" && has:
		globs, err := storage.SplitPatterns(argument)
		for i, glob := range globs {
			err = cmp.Or(err, checkGlob(glob))
			globs[i] = path.Clean(glob)
		}
		if err != nil {
			return err
		}
		if place == 0 { // files can be ranked before documents are read
			a.Prefer = globs
		} else {
			a.Rank = append(a.Rank, source.RankKey{Globs: globs})
		}
	case name == "prefer":
		return errors.New("name file patterns, as in prefer:curated/*,news")
	default:
		return errors.New("must be first, longest, max:COLUMN, min:COLUMN, prefer:GLOB,... or none")
	}
	return nil
}

// keepNone is the policy that removes all similar documents.
const keepNone = "none"

func checkGlob(glob string) error {
	if glob == "" {
		return errors.New("a pattern is empty; remove the extra comma")
	}
	_, err := storage.Match(glob, "")
	return err
}

// Writes reports whether a table, or the corpus, is to be written.
func (a *Asked) Writes(part output.Part) bool { return slices.Contains(a.Parts, part) }

// OfSets reports whether the measure compares sets.
func (a *Asked) OfSets() bool { return a.Measure == Jaccard || a.Measure == Containment }

// NeedsDictionary reports whether a pipeline must build the dictionary before documents can be signed.
func (a *Asked) NeedsDictionary() bool { return a.Family == signature.Classic }

// NeedsFrequencies reports whether a pipeline must count the frequencies of shingles before documents can be compared.
func (a *Asked) NeedsFrequencies() bool { return a.Weights == string(vector.TFIDF) }

// Prepares reports whether a pipeline must read all documents before the main one.
func (a *Asked) Prepares() bool { return a.NeedsDictionary() || a.NeedsFrequencies() }

// Decoding returns how records are decoded, whichever files are read.
func (a *Asked) Decoding() source.Options {
	texts, _ := a.Columns()
	fields := codec.Fields{Text: texts, ID: a.ID, Delimiter: a.Separator, NoHeader: a.NoHeader,
		Items: a.Texts.Shingle.Kind == shingle.Item, Values: len(a.Texts.Rules)}
	references := fields
	if len(a.AgainstText) > 0 {
		references.Text = a.AgainstText
	}
	references.ID = cmp.Or(a.AgainstID, a.ID)
	fields.Text, references.Text = slices.Concat(fields.Text, a.Matched()), slices.Concat(references.Text, a.Matched())
	return source.Options{
		Format: a.Format, Fields: fields, ReferenceFields: references,
		MaxDocument: int64(a.MaxDocBytes),
		KeepInvalid: a.InvalidUTF8 == keepInvalid,
		MaxWindow:   int64(a.MaxWindow),
		Encoding:    a.Encoding,
	}
}

// Matched returns the columns of the rules in Texts.
func (a *Asked) Matched() (columns []string) {
	for _, r := range a.Texts.Rules {
		columns = append(columns, r.Column)
	}
	return columns
}
