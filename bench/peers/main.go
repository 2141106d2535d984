// Command peers measures neardup beside other tools, on the same files in the same run:
//
//	go run ./bench/peers >table.md
//
// at the top of the repository prints a Markdown table of CPU seconds, time by the clock, peak memory,
// and recall and precision against an exact join, and writes the same as JSON to .cache/bench/peers.json.
// It builds neardup, puts the peers into a virtual environment in .cache/peers, in the versions of
// requirements.txt, and the corpora into .cache/bench. docs/bench.md says what is compared, and what cannot be.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// options are what can be asked.
type options struct {
	peers, corpora []string
	beside         string
	rounds         int
	workers        int
	patience       time.Duration
	quick          bool
	json           string
}

func main() {
	var o options
	peerList := flag.String("peers", "daft,gaoya,rensa", "which peers, of "+strings.Join(names(peers), ", "))
	corpusList := flag.String("corpora", "", "which corpora, of "+strings.Join(names(corpora), ", ")+" (default all)")
	flag.StringVar(&o.beside, "beside", "",
		"another program that runs beside, as `NAME=COMMAND ARGUMENTS`; {corpus} stands for the file to read, {answer} for "+
			"a path to write to. Its answer is not judged")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each is run, in alternation")
	flag.IntVar(&o.workers, "workers", 2, "threads of each tool")
	flag.DurationVar(&o.patience, "patience", 15*time.Minute, "how long one run may take")
	flag.BoolVar(&o.quick, "quick", false, "one round of a hundredth of the documents: to see that it works")
	flag.StringVar(&o.json, "json", ".cache/bench/peers.json", "where the table is written as JSON")
	apart := flag.Bool("measure", false, "only run the arguments, and print what they took (what the program calls "+
		"itself with)")
	flag.Parse()
	o.peers, o.corpora = list(*peerList), list(*corpusList)
	var err error
	switch {
	case *apart:
		err = printMeasured(flag.Args(), o.patience)
	case flag.NArg() > 0:
		err = fmt.Errorf("%q is no flag; -help lists them", flag.Arg(0))
	default:
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	if o.quick {
		o.rounds = 1
	}
	chosenPeers, err := choose("peer", peers, o.peers)
	if err != nil {
		return err
	}
	if len(o.corpora) == 0 {
		o.corpora = names(corpora)
	}
	chosenCorpora, err := choose("corpus", corpora, o.corpora)
	if err != nil {
		return err
	}
	tools, err := install(o, chosenPeers)
	if err != nil {
		return err
	}
	t := table{Date: time.Now().Format(time.DateOnly), Machine: machine(), Workers: o.workers,
		Rounds: o.rounds, Tools: tools}
	if err := t.writeHead(os.Stdout); err != nil {
		return err
	}
	for _, recipe := range chosenCorpora {
		c, err := recipe.prepare(o.quick)
		if err != nil {
			return err
		}
		if c == nil {
			fmt.Fprintf(os.Stderr, "peers: %s is left out: it needs %s\n", recipe.Name, recipe.needs)
			continue
		}
		cells, err := measure(o, *c, readersOf(recipe, tools))
		if err != nil {
			return err
		}
		m := measured{*c, cells}
		if err := m.write(os.Stdout); err != nil {
			return err
		}
		t.Corpora = append(t.Corpora, m)
	}
	if err := t.writeJSON(o.json); err != nil {
		return err
	}
	if err := t.writeTail(os.Stdout); err != nil {
		return err
	}
	return t.failures()
}

// readersOf are the tools that read a corpus.
func readersOf(r recipe, tools []tool) []tool {
	if r.parquet == "" {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t tool) bool { return !t.ours })
}

// named is what is chosen by its name.
type named interface{ name() string }

func names[T named](of []T) (all []string) {
	for _, x := range of {
		all = append(all, x.name())
	}
	return all
}

// choose returns those of all that are asked for, in the order of all.
func choose[T named](what string, all []T, asked []string) (chosen []T, err error) {
	for _, name := range asked {
		if !slices.Contains(names(all), name) {
			return nil, fmt.Errorf("there is no %s %q; there are %s", what, name, strings.Join(names(all), ", "))
		}
	}
	for _, x := range all {
		if slices.Contains(asked, x.name()) {
			chosen = append(chosen, x)
		}
	}
	return chosen, nil
}

func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}
