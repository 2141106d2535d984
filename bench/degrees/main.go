// Command degrees says which settings of a study separate known degrees of copying best: by the rank correlation of the
// similarity of each answer with its original and the degree to which it was copied.
//
//	go run ./bench/degrees STUDY/similarity.csv file_information.csv
//
// The second file is that of the Corpus of Plagiarised Short Answers (P. Clough, M. Stevenson, Developing a corpus of
// plagiarised short answers, Language Resources and Evaluation 45, 2011): columns File, Task, Category.
package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"
)

// degrees are the categories, from none on.
var degrees = map[string]float64{"non": 0, "heavy": 1, "light": 2, "cut": 3}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "degrees:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("give similarity.csv of a study and file_information.csv")
	}
	pairs, err := table(args[0])
	if err != nil {
		return err
	}
	answers, err := table(args[1])
	if err != nil {
		return err
	}
	const firstSetting = 4
	settings := pairs[0][firstSetting:]
	similarities, degree, err := withOriginals(pairs[1:], answers[1:], len(settings))
	if err != nil {
		return err
	}

	// Answers are drawn with replacement; the same draws for all settings, so that these can be compared.
	const draws = 10_000
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]int, len(degree))
	for i := range all {
		all[i] = i
	}
	correlations := make([][]float64, len(settings))
	for range draws {
		drawn := make([]int, len(all))
		for i := range drawn {
			drawn[i] = r.IntN(len(all))
		}
		for s := range settings {
			correlations[s] = append(correlations[s], spearman(similarities[s], degree, drawn))
		}
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "setting\trank correlation\t95 %% interval\tdifference from %s\t95 %% interval\n", settings[0])
	for s, name := range settings {
		difference := make([]float64, draws)
		for i := range difference {
			difference[i] = correlations[s][i] - correlations[0][i]
		}
		whole := spearman(similarities[s], degree, all)
		low, high := interval(correlations[s])
		lower, higher := interval(difference)
		fmt.Fprintf(out, "%s\t%.3f\t%.3f to %.3f\t%+.3f\t%+.3f to %+.3f\n", name, whole, low, high,
			whole-spearman(similarities[0], degree, all), lower, higher)
	}
	return out.Flush()
}

func table(path string) ([][]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return csv.NewReader(f).ReadAll()
}

// withOriginals returns, by setting, the similarity of each answer
// with the original of its task, and the answers' degrees.
func withOriginals(pairs, answers [][]string, settings int) (similarities [][]float64, degree []float64, err error) {
	rows := map[[2]string][]string{}
	for _, pair := range pairs {
		rows[[2]string{pair[0], pair[1]}] = pair[4:]
	}
	similarities = make([][]float64, settings)
	for _, answer := range answers {
		file, task, category := answer[0], answer[1], answer[2]
		if category == "orig" {
			continue
		}
		row := rows[[2]string{file, "orig_task" + task + ".txt"}] // "g…" comes before "o…"
		of, known := degrees[category]
		if row == nil || !known {
			return nil, nil, fmt.Errorf("%s, of category %q, is in no pair with the original of task %s", file, category, task)
		}
		degree = append(degree, of)
		for s, text := range row {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, nil, err
			}
			similarities[s] = append(similarities[s], v)
		}
	}
	return similarities, degree, nil
}

// spearman is the correlation of the ranks of the values drawn; equal ones have the mean of their ranks.
func spearman(x, y []float64, drawn []int) float64 {
	a, b := ranks(x, drawn), ranks(y, drawn)
	mean := float64(len(drawn)-1) / 2
	var xy, xx, yy float64
	for i := range a {
		p, q := a[i]-mean, b[i]-mean
		xy, xx, yy = xy+p*q, xx+p*p, yy+q*q
	}
	return xy / math.Sqrt(xx*yy)
}

func ranks(values []float64, drawn []int) []float64 {
	order := make([]int, len(drawn))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[drawn[i]], values[drawn[j]]) })
	ranked := make([]float64, len(drawn))
	for i := 0; i < len(order); {
		end := i
		for end < len(order) && values[drawn[order[end]]] == values[drawn[order[i]]] {
			end++
		}
		for _, at := range order[i:end] {
			ranked[at] = float64(i+end-1) / 2
		}
		i = end
	}
	return ranked
}

// interval has the middle 95 of 100 values.
func interval(values []float64) (low, high float64) {
	values = slices.Sorted(slices.Values(values))
	n := float64(len(values) - 1)
	return values[int(.025*n)], values[int(.975*n)]
}
