// Package peers measures neardup and other tools on the same files in the same run. It builds neardup, installs the
// peers into virtual environments, and writes the corpora to .cache/bench. docs/bench.md says what is compared.
package peers

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	peers, corpora []string
	beside         string
	rounds         int
	workers        int
	patience       time.Duration
	quick          bool
	json           string
	from           []string // for Public: files of earlier runs to report, instead of a run
	public         bool     // also measure disk, and judge by neardup's sets; see Public
}

// Main prints a Markdown table of CPU seconds, wall time, peak memory, and recall and precision against an exact join.
// It writes the same as JSON to .cache/bench/peers.json.
func Main() { start(options{}) }

// Public does so for all tools in public registries, each in its own environment and with two settings. It also
// measures installation and disk, judges by neardup's sets too, and checks every exact join with a second program. It
// writes one table, a plot, and a line of JSON for every cell.
func Public() { start(options{public: true}) }

func start(o options) {
	peerDefault, corpusDefault := "daft,gaoya,rensa", ""
	knownPeers, file := names(peers), ".cache/bench/peers.json"
	if o.public {
		knownPeers = names(publicPeers)
		peerDefault, corpusDefault = strings.Join(knownPeers, ","), strings.Join(publicCorpora, ",")
		file = ".cache/bench/public.jsonl"
	}
	peerList := flag.String("peers", peerDefault, "which peers, of "+strings.Join(knownPeers, ", "))
	corpusList := flag.String("corpora", corpusDefault,
		"which corpora, of "+strings.Join(names(corpora), ", ")+" (default all of docs/bench.md)")
	flag.StringVar(&o.beside, "beside", "",
		"another program that runs beside, as `NAME=COMMAND ARGUMENTS`; {corpus} stands for the file to read, {answer} for "+
			"a path to write to. Its answer is not judged")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each is run, in alternation; 0 only installs")
	flag.IntVar(&o.workers, "workers", 2, "threads of each tool")
	flag.DurationVar(&o.patience, "patience", 15*time.Minute, "how long one run may take")
	flag.BoolVar(&o.quick, "quick", false, "one round of a hundredth of the documents: to see that it works")
	flag.StringVar(&o.json, "json", file, "where the table is written as JSON")
	apart := flag.Bool("measure", false, "only run the arguments, and print what they took (what the program calls "+
		"itself with)")
	from := flag.String("from", "", "files of JSON lines that runs of bench/public left: only write table and plot")
	watch := flag.String("watch", "", "the folder that -measure looks at")
	flag.Parse()
	o.peers, o.corpora, o.from = list(*peerList), list(*corpusList), list(*from)
	var err error
	switch {
	case *apart:
		err = printMeasured(flag.Args(), o.patience, *watch)
	case len(o.from) > 0:
		err = writeFrom(o)
	case flag.NArg() > 0:
		err = fmt.Errorf("%q is not a flag; -help lists them", flag.Arg(0))
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
	if len(o.corpora) == 0 {
		o.corpora = names(slices.DeleteFunc(slices.Clone(corpora), func(r recipe) bool { return r.public }))
	}
	chosenCorpora, err := choose("corpus", corpora, o.corpora)
	if err != nil {
		return err
	}
	if o.public { // in the order asked: a tool that takes too long for one is not run on the next
		slices.SortFunc(chosenCorpora, func(a, b recipe) int {
			return slices.Index(o.corpora, a.Name) - slices.Index(o.corpora, b.Name)
		})
	}
	tools, err := installAsked(o)
	if err != nil {
		return err
	}
	if o.rounds == 0 {
		return nil
	}
	t := table{Date: time.Now().Format(time.DateOnly), Machine: machine(), Workers: o.workers,
		Rounds: o.rounds, Tools: tools}
	if o.public {
		return t.public(o, chosenCorpora)
	}
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

func installAsked(o options) ([]tool, error) {
	if o.public {
		return installPublic(o)
	}
	chosen, err := choose("peer", peers, o.peers)
	if err != nil {
		return nil, err
	}
	return install(o, chosen)
}

// readersOf returns the tools that read a corpus.
func readersOf(r recipe, tools []tool) []tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t tool) bool {
		return r.pack != nil && !t.ours || len(t.only) > 0 && !slices.Contains(t.only, r.Name)
	})
}

// named is something that can be chosen by name.
type named interface{ name() string }

func names[T named](of []T) (all []string) {
	for _, x := range of {
		all = append(all, x.name())
	}
	return all
}

// choose returns the elements of all that are asked for, in the order of all.
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
