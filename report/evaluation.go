package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/records"
)

// Evaluation prints how clusters agree with the truth, in lines of at most width characters, except for ids.
func Evaluation(w io.Writer, width int, e *records.Evaluation) error {
	out := &printer{w: w, width: width, colors: terminal.Colours(w)}
	switch e.Kind {
	case records.TruthSample:
		drawn := fmt.Sprintf("%s, drawn at random from %s", plural(int(e.Sample), "document"), count(e.Documents))
		if e.Sample == e.Documents {
			drawn = "all " + plural(int(e.Sample), "document")
		}
		out.item("compared", "%s (copies excluded); each was compared with all others", drawn)
	case records.TruthClusters:
		out.item("compared", "pairs of documents in the same cluster, among the %s in the truth file",
			plural(int(e.Documents), "document"))
	default:
		out.item("compared", "pairs of documents in the same cluster, among all %s of the run",
			plural(int(e.Documents), "document"))
	}
	if e.Listed != nil {
		out.printf("\nlisted in pairs/\n")
		agreement(out, e.Listed, false)
		if e.Crowds > 0 {
			out.item("over budget", "pairs/ may list only some pairs of %s", plural(e.Crowds, "cluster"))
		}
		out.printf("\nin the same cluster\n")
	}
	agreement(out, &e.Agreement, true)
	idPairs(out, "missed", e.Missed)
	examples(out, e.MissedTexts)
	idPairs(out, "false positives", e.False)
	examples(out, e.FalseTexts)
	return out.err
}

// agreement prints shares and, for clusters only, the index.
func agreement(out *printer, a *records.Agreement, clusters bool) {
	out.item("pairs", "%s found, %s true, %s in both", count(int64(a.Found)), count(int64(a.True)), count(int64(a.Both)))
	out.item("precision", "%s", interval(a.Precision, "nothing was found"))
	out.item("recall", "%s", interval(a.Recall, "there are no true pairs"))
	out.item("F1", "%s", interval(a.F1, "there are no pairs"))
	if clusters {
		out.item("adjusted Rand", "%s", interval(a.Rand, "there are no pairs"))
	}
}

func interval(s records.EvaluatedShare, none string) string {
	if s.Low == nil || s.High == nil {
		return "-: " + none
	}
	return fmt.Sprintf("%s, 95 %% confidence interval %.4f to %.4f", index(s.Value), down(*s.Low), up(*s.High))
}

// index formats a share or a negative value, which share would round the wrong way.
func index(value float64) string {
	if value <= -.00005 { // otherwise it would be printed as -0.0000
		return strconv.FormatFloat(value, 'f', 4, 64)
	}
	return share(max(value, 0))
}

// idPairs prints the ids of pairs.
func idPairs(out *printer, title string, pairs [][2]string) {
	if len(pairs) == 0 {
		return
	}
	out.printf("\n%s\n", title)
	for _, pair := range pairs {
		out.printf("  %s\n", out.names(gap, pair[0], pair[1]))
	}
}

// examples prints pairs with their differing words.
func examples(out *printer, pairs []records.Example) {
	for i := range pairs {
		out.printf("\nsimilarity %s\n", share(pairs[i].Pair.Similarity))
		columns(out, &pairs[i])
	}
}
