package job

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/simhash"
	"github.com/neardup/neardup/kernels/wordstep"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
)

// A rule restricts the values of a field. It does not apply to a default that was not set explicitly.
type rule struct {
	field string
	// idle returns why a value has no effect, and what to do; "" if it has one.
	idle func(a *Asked) string
	// named means that even an explicit default is refused if it has no effect.
	named bool
	// least and most are the bounds of a number; if most is 0, there is no upper one.
	least, most int64
}

const (
	maxDocBytes = 1 << 30
	minWindow   = 8 << 20 // every zstd decoder must support this
	maxWindow   = 1 << 31
	// maxMeasureRecall limits the sets of the sample, which each worker holds in memory.
	maxMeasureRecall = 100_000
)

// rules are checked in this order: values without effect before values out of bounds.
var rules = []rule{
	{field: "measure_recall", idle: by(Complete,
		"--method complete finds every near pair, so there is nothing to measure; drop --measure-recall")},
	{field: "measure_recall", idle: by(Exact,
		"--method exact looks only for copies and finds them all, so there is nothing to measure; drop --measure-recall")},
	{field: "measure_recall", idle: without(output.Pairs, "the flag needs the pairs table")},
	{field: "drop_not_compared", idle: without(output.Corpus, "no corpus is written")},
	{field: "max_removed", idle: without(output.Corpus, "the flag needs the corpus, whose documents it counts")},
	{field: "same", idle: notBy(Exact, "only --method exact takes this flag; add the method, or drop the flag")},
	{field: "pieces", idle: notBy(SimHash, "add --method simhash, which cuts signatures into pieces")},
	{field: "compare", idle: by(Exact, "--method exact uses no measure; drop --compare or --method")},
	{field: "compare", idle: measured(MinHash, Cosine,
		"--method minhash supports only jaccard; use --method simhash or complete")},
	{field: "compare", idle: measured(MinHash, Overlap,
		"--method minhash supports only jaccard; use --method simhash or complete")},
	{field: "compare", idle: measured(MinHash, Containment, "--method minhash supports only jaccard; drop --method")},
	{field: "compare", idle: measured(SimHash, Containment,
		"--method simhash supports only cosine and overlap; drop --method")},
	{field: "keep", named: true, idle: largerStays("--keep")},
	{field: "protect", idle: largerStays("--protect")},
	{field: "cluster", idle: largerStays("--cluster")},
	{field: "compare", idle: measured(SimHash, Jaccard,
		"--method simhash supports only cosine and overlap; use --compare cosine or overlap, or --method minhash")},
	{field: "against_text", idle: ofFields},
	{field: "shingle", idle: ofFields},
	{field: "normalize", idle: ofFields},
	{field: "min_words", idle: ofFields},
	{field: "match_numbers", idle: ofFields},
	{field: "method", idle: func(a *Asked) string { return where(a.Method != Complete, ofFields(a)) }},
	{field: "compare", idle: func(a *Asked) string { return where(a.Measure != Jaccard, ofFields(a)) }},
	{field: "match", idle: unruled},
	{field: "match_numbers", idle: unruled},
	{field: "recall", named: true, idle: by(Complete,
		"--method complete finds every near pair; drop --recall or --method")},
	{field: "bands", named: true, idle: by(Complete, "--method complete uses no bands; drop --bands or --method")},
	{field: "rows", named: true, idle: by(Complete, "--method complete uses no bands; drop --rows or --method")},
	{field: "signature", named: true, idle: by(Complete,
		"--method complete makes no signatures; drop --signature or --method")},
	{field: "seed", named: true, idle: measured(Complete, Jaccard,
		"--method complete makes no signatures; drop --seed or --method")},
	{field: "seed", named: true, idle: measured(Complete, Containment,
		"--method complete makes no signatures; drop --seed")},
	{field: "seed", named: true, idle: measured(Complete, Cosine,
		"--method complete makes no signatures; drop --seed or --method")},
	{field: "bands", idle: by(Exact, "--method exact uses no bands; drop --bands or --method")},
	{field: "rows", idle: by(Exact, "--method exact uses no bands; drop --rows or --method")},
	{field: "signature", idle: by(Exact, "--method exact makes no signatures; drop --signature or --method")},
	{field: "bands", idle: by(SimHash,
		"--method simhash cuts signatures into pieces (--pieces); drop --bands or --method")},
	{field: "rows", idle: by(SimHash, "--method simhash cuts signatures into pieces (--pieces); drop --rows or --method")},
	{field: "signature", idle: by(SimHash, "--method simhash has signatures of its own; drop --signature or --method")},
	{field: "bits", idle: unsigned},
	{field: "vectors", idle: unsigned},
	{field: "weights", idle: func(a *Asked) string {
		return where(a.OfSets(), "sets have no weights; use --compare cosine or overlap, or --method simhash")
	}},
	{field: "normalize", idle: func(a *Asked) string {
		return where(a.Texts.Shingle.Kind == shingle.Stop && a.Texts.Words != (wordstep.Steps{}), fmt.Sprintf(
			"--shingle %v needs unchanged stop words; use --shingle word:%d, or drop %v", a.Shingle,
			a.Texts.Shingle.K, a.Texts.Words))
	}},
	{field: "invalid_utf8", idle: func(a *Asked) string {
		return where(a.Method != Exact && (a.Texts.Shingle.Kind == shingle.Word || a.Texts.Shingle.Kind == shingle.Stop),
			fmt.Sprintf(
				"each byte that is not UTF-8 counts as a word, so --shingle %v makes unrelated texts look similar; use --encoding "+
					"to decode the texts, or --shingle char:9", a.Shingle))
	}},
	{field: "normalize", named: true, idle: func(a *Asked) string {
		return where(a.Normalize != "none", ofItems("--normalize")(a))
	}},
	{field: "min_words", idle: ofItems("--min-words")},
	{field: "append", idle: withoutReferences},
	{field: "append", idle: without(output.Removed, "the index takes the removed documents from the removed table")},
	{field: "against_text", idle: withoutReferences},
	{field: "against_id", idle: withoutReferences},
	{field: "limit", least: 1},
	{field: "max_doc_bytes", least: 1, most: maxDocBytes},
	{field: "max_window", least: minWindow, most: maxWindow},
	{field: "min_words", least: 1},
	{field: "pair_budget", least: 1},
	{field: "bits", least: 1, most: simhash.MaxBits},
	{field: "measure_recall", least: 1, most: maxMeasureRecall},
}

// ofItems refuses flags about words, because items are compared as they are.
func ofItems(flag string) func(*Asked) string {
	return func(a *Asked) string {
		return where(a.Texts.Shingle.Kind == shingle.Item, "--shingle item compares the elements of lists as they "+
			"are; drop "+flag+" or --shingle")
	}
}

// ofFields refuses flags about a text if no text is compared.
func ofFields(a *Asked) string {
	return where(a.Fields != nil,
		"without --text, documents are compared only by the rules of --match; add --text COLUMN, or drop this flag")
}

func largerStays(flag string) func(*Asked) string {
	return func(a *Asked) string {
		return where(a.Measure == Containment, "--compare containment keeps the larger document of a "+
			"pair; drop "+flag+" or --compare")
	}
}

// unruled refuses settings with which rules cannot be enforced.
func unruled(a *Asked) string {
	return cmp.Or(
		where(a.Measure == Overlap, "rules cannot be used with SimHash signatures, because those of any two documents "+
			"share bits, even if a rule forbids the pair; use --compare cosine, or --method minhash"),
		where(a.Texts.Shingle.Kind == shingle.Char32, fmt.Sprintf("rules cannot be used with hashes of 32 bits, which may "+
			"be equal by chance even if a rule forbids the pair; use --shingle char:%d", a.Texts.Shingle.K)),
		where(a.Method == Exact && match.Pairwise(a.Texts.Rules),
			"--method exact finds copies by one key, and supports only the rule equal; drop --method or the other rules"),
		where(a.MeasureRecall > 0 && match.Pairwise(a.Texts.Rules),
			"--measure-recall supports only the rule equal; drop --measure-recall or the other rules"),
		where(a.Cluster == Components, "a rule applies to pairs, but --cluster components removes documents through chains "+
			"of pairs; drop --cluster or this rule"))
}

func withoutReferences(a *Asked) string {
	return where(len(a.Against) == 0, "this flag is for references; add --against, or drop the flag")
}

func where(is bool, why string) string {
	if !is {
		return ""
	}
	return why
}

func by(method, why string) func(*Asked) string {
	return func(a *Asked) string { return where(a.Method == method, why) }
}

func notBy(method, why string) func(*Asked) string {
	return func(a *Asked) string { return where(a.Method != method, why) }
}

func measured(method, measure, why string) func(*Asked) string {
	return func(a *Asked) string { return where(a.Method == method && a.Measure == measure, why) }
}

func without(part output.Part, why string) func(*Asked) string {
	return func(a *Asked) string { return where(!a.Writes(part), why+"; add "+string(part)+" to --write") }
}

func unsigned(a *Asked) string {
	return where(a.Family != signature.SimHash,
		"this run computes no SimHash signatures; add --method simhash, or --compare overlap")
}

// checkRules returns a *UsageError for the first rule that is broken.
func (a *Asked) checkRules(given []string) error {
	values, defaults := records.Fields(a.Spec), records.Fields(records.Default())
	for _, r := range rules {
		value := values[r.field]
		usual := reflect.DeepEqual(value.Interface(), defaults[r.field].Interface())
		if usual && (!r.named || !slices.Contains(given, r.field)) {
			continue
		}
		why := ""
		if r.idle != nil {
			why = r.idle(a)
		} else if number := value.Int(); number < r.least || r.most > 0 && number > r.most {
			why = fmt.Sprintf("must be at least %v", r.bound(value, r.least))
			if r.most > 0 {
				why = fmt.Sprintf("must be between %v and %v", r.bound(value, r.least), r.bound(value, r.most))
			}
			if defaults[r.field].IsZero() {
				why += ", or 0 for the default"
			}
		}
		if why != "" {
			mistake := &UsageError{Field: r.field, Reason: errors.New(why)}
			if value.Kind() != reflect.Bool {
				mistake.Value = fmt.Sprint(value)
			}
			if list, several := value.Interface().([]string); several {
				mistake.Value = strings.Join(list, " "+flagOf(r.field)+" ")
			}
			return mistake
		}
	}
	return nil
}

// bound returns a bound in the type of the value, so that both print alike.
func (r *rule) bound(value reflect.Value, of int64) any {
	return reflect.ValueOf(of).Convert(value.Type()).Interface()
}

// check returns a *UsageError for mistakes that rules cannot express.
func (a *Asked) check() error {
	switch {
	case len(a.Text) == 0 && a.Fields == nil || slices.Contains(a.Text, ""):
		return Usage("no text column; use --text COLUMN")
	case slices.Contains(a.AgainstText, ""):
		return Usage("no text column; use --against-text COLUMN")
	case slices.Contains(a.Against, "-"):
		return Usage("--against -: neardup reads it more than once; give a file")
	case !(a.Recall > 0 && a.Recall <= 1): // also refuses NaN
		return Usage("--recall %v: must be above 0 and below 1", a.Recall)
	case a.Recall == 1:
		return Usage("--recall 1: bands cannot guarantee that every near pair is found; use a recall below 1, such as " +
			"0.9999, or --method complete, which finds all near pairs")
	case (a.Bands == 0) != (a.Rows == 0):
		return Usage("--bands and --rows go together, each at least 1; use both, or only --recall")
	case a.Bands < 0 || a.Rows < 0 || a.Rows > 0 && a.Bands > lsh.MaxSignature/a.Rows:
		return Usage("--bands %d --rows %d: both must be at least 1, and their product must be at most %d", a.Bands,
			a.Rows, lsh.MaxSignature)
	case len(a.Keep) == 0:
		return Usage("no policy; add --keep, such as --keep first")
	case len(a.Write) == 0:
		return Usage("nothing to write; add --write with %s", records.Or(output.Parts()...))
	case a.Pieces < 0 || a.Pieces > a.Bits && a.Bits > 0:
		return Usage("--pieces %d: must be between 1 and the number of bits, %d", a.Pieces, a.Bits)
	case a.Compare == Cosine && a.Vectors == Sign && a.Pieces == 0 && a.Method == SimHash && a.AskedRecall:
		return Usage("--recall %v: --vectors sign cannot guarantee a recall for cosine; use --pieces, or "+
			"--vectors normal", a.Recall)
	}
	return nil
}
