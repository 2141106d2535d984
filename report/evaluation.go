package report

import (
	"fmt"
	"io"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/records"
)

// Evaluation prints how clusters agree with known ones, in lines of at most width characters but for ids.
func Evaluation(w io.Writer, width int, e *records.Evaluation) error {
	out := &printer{w: w, width: width}
	what := "all documents of the run"
	if e.Kind == records.TruthClusters {
		what = "the documents that the truth names"
	}
	out.item("compared", "pairs of documents in one cluster, of %s: %s", what, plural(e.Documents, "document"))
	out.item("pairs", "%s found, %s true, %s both", count(int64(e.Found)), count(int64(e.True)), count(int64(e.Both)))
	out.item("precision", "%s", interval(e.Precision, "nothing was found"))
	out.item("recall", "%s", interval(e.Recall, "the truth has no pair"))
	out.item("F1", "%s", share(e.F1))
	rand := share(max(e.Rand, 0))
	if e.Rand < 0 { // which share rounds the other way
		rand = fmt.Sprintf("%.4f", e.Rand)
	}
	out.item("adjusted Rand", "%s", rand)
	idPairs(out, "missed", e.Missed)
	idPairs(out, "false", e.False)
	return out.err
}

func interval(s records.EvaluatedShare, none string) string {
	if s.Low == nil || s.High == nil {
		return "-: " + none
	}
	return fmt.Sprintf("%s, 95 %% interval %.4f to %.4f", share(s.Value), down(*s.Low), up(*s.High))
}

// idPairs prints pairs by their ids.
func idPairs(out *printer, title string, pairs [][2]string) {
	if len(pairs) == 0 {
		return
	}
	out.printf("\n%s\n", title)
	for _, pair := range pairs {
		out.printf("  %s  %s\n", terminal.Mask(pair[0]), terminal.Mask(pair[1]))
	}
}
