package peers

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

const (
	neardupBinary = workFolder + "/neardup"
	environment   = ".cache/peers"
	scripts       = "bench/peers/python"
	requirements  = "bench/peers/requirements.txt"
)

// tool is a program to measure, with its parameters.
type tool struct {
	Name, Version, Parameters string

	ours      bool
	only      []string  // corpora that it reads, or nil for all
	installed installed // for Public
	why       string    // why it cannot run, or ""
	// command returns the command, which writes its answer to a path.
	command func(corpus, answer string) *exec.Cmd
	// read reads the answer; it is nil if answers are not judged.
	read func(path string, a *answer) error
	// sets returns the sets that the tool compares, by document number, and a name that is equal for equal sets.
	sets func(c corpus) (string, [][]uint64, error)
}

// peer is a script and its parameters.
type peer struct {
	Name, script, distribution string
	bands, rows                int
	says                       string
}

func (p peer) name() string { return p.Name }

var peers = []peer{
	{"daft", "daft", "daft", 8, 8, "from its guide; candidates are not compared"},
	{"daft-16x8", "daft", "daft", 16, 8, "candidates are not compared"},
	{"gaoya", "gaoya", "gaoya", 16, 8, "candidates compared by signature"},
	{"rensa", "rensa", "rensa", 16, 8, "candidates compared by signature"},
	{"datasketch", "datasketch", "datasketch", 9, 13, "its choice for 0.8; candidates are not compared"},
}

// install builds neardup, installs the peers, and returns the tools.
func install(o options, chosen []peer) ([]tool, error) {
	if _, err := os.Stat(requirements); err != nil {
		return nil, fmt.Errorf("run it at the top of the repository: %w", err)
	}
	// as in run_local.sh
	if err := loud("go", "build", "-tags", "disable_grpc_modules", "-o", neardupBinary, "./cmd/neardup"); err != nil {
		return nil, err
	}
	version, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		version = []byte("unknown")
	}
	ours := func(name, parameters string, flags ...string) tool {
		return tool{Name: "neardup" + name, Version: strings.TrimSpace(string(version)), Parameters: parameters, ours: true,
			command: func(corpus, answer string) *exec.Cmd {
				workers := strconv.Itoa(o.workers)
				c := exec.Command(neardupBinary, append(
					[]string{"dedup", corpus, "--output", answer, "--overwrite", "--workers", workers}, flags...)...)
				c.Env = append(os.Environ(), "GOMAXPROCS="+workers)
				return c
			},
			read: readResults, sets: shingleSets}
	}
	tools := []tool{
		ours("", "`--write pairs,removed`; every pair compared exactly", "--write=pairs,removed"),
		ours(", all outputs", "the same, and `clusters`, `rejected` and `corpus`"),
		unjudged(ours(", simhash", "`--method simhash --write pairs,removed`; other pairs, which are not judged",
			"--method=simhash", "--write=pairs,removed"), "imdb_reviews", "reuters21578", "bbc_news"),
		unjudged(tool{Name: "neardup plan", Version: strings.TrimSpace(string(version)), Parameters: "no run", ours: true,
			command: func(corpus, _ string) *exec.Cmd { return exec.Command(neardupBinary, "plan", corpus) }}),
	}
	if o.beside != "" {
		other, err := besides(o.beside)
		if err != nil {
			return nil, err
		}
		tools = append(tools, other)
	}
	if len(chosen) == 0 {
		return tools, nil
	}
	versions, err := installPeers()
	if err != nil {
		return nil, err
	}
	for _, p := range chosen {
		tools = append(tools, p.tool(versions[p.distribution], o.workers))
	}
	return tools, nil
}

// unjudged returns the tool without judging its answer, for some corpora only if these are named.
func unjudged(t tool, only ...string) tool {
	t.read, t.sets, t.only = nil, nil, only
	return t
}

// besides returns a program for which only the cost is measured.
func besides(asked string) (tool, error) {
	name, line, ok := strings.Cut(asked, "=")
	command := strings.Fields(line)
	if !ok || len(command) == 0 {
		return tool{}, fmt.Errorf("-beside %q: give NAME=COMMAND ARGUMENTS", asked)
	}
	return tool{Name: name, Parameters: "`" + strings.Join(command[1:], " ") + "`",
		command: func(corpus, answer string) *exec.Cmd {
			fill := strings.NewReplacer("{corpus}", corpus, "{answer}", answer)
			filled := make([]string, len(command))
			for i, argument := range command {
				filled[i] = fill.Replace(argument)
			}
			return exec.Command(filled[0], filled[1:]...)
		}}, nil
}

func (p peer) tool(version string, workers int) tool {
	script := func(arguments ...string) *exec.Cmd {
		c := exec.Command(environment+"/bin/python",
			append([]string{filepath.Join(scripts, p.script+"_peer.py")}, arguments...)...)
		c.Env = append(os.Environ(), fmt.Sprintf("WORKERS=%d", workers), "PYTHONDONTWRITEBYTECODE=1")
		return c
	}
	return tool{Name: p.Name, Version: version,
		Parameters: fmt.Sprintf("%d bands × %d rows, %s", p.bands, p.rows, p.says),
		command: func(corpus, answer string) *exec.Cmd {
			return script("answer", corpus, answer, strconv.Itoa(p.bands), strconv.Itoa(p.rows))
		},
		read: readLines,
		sets: func(c corpus) (string, [][]uint64, error) {
			path := filepath.Join(workFolder, "words.txt")
			if out, err := script("words", c.plain, path).CombinedOutput(); err != nil {
				return "", nil, fmt.Errorf("words of %s: %w: %s", p.Name, err, out)
			}
			return wordSets(path, c.ids)
		},
	}
}

// installPeers creates the virtual environment, unless it exists, and returns the versions in it.
func installPeers() (map[string]string, error) {
	wanted, err := os.ReadFile(requirements)
	if err != nil {
		return nil, err
	}
	mark := environment + "/requirements.txt"
	if have, err := os.ReadFile(mark); err != nil || !bytes.Equal(have, wanted) {
		if err := os.RemoveAll(environment); err != nil {
			return nil, err
		}
		if err := loud("python3", "-m", "venv", environment); err != nil {
			return nil, err
		}
		if err := loud(environment+"/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
			"-r", requirements); err != nil {
			return nil, err
		}
		if err := os.WriteFile(mark, wanted, 0o644); err != nil {
			return nil, err
		}
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(wanted)) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), "==")
		versions[name] = version
	}
	return versions, nil
}

// loud runs a command and sends its output to standard error.
func loud(name string, arguments ...string) error {
	c := exec.Command(name, arguments...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%v: %w", c.Args, err)
	}
	return nil
}

// readResults reads an output folder of neardup: the documents of a pair are in one cluster.
func readResults(path string, a *answer) error {
	r, err := output.Open(context.Background(), path)
	if err != nil {
		return err
	}
	for pair, err := range output.Rows[records.Pair](context.Background(), r, output.Pairs) {
		if err != nil {
			return err
		}
		if err := a.join(pair.IDA, pair.IDB); err != nil {
			return err
		}
	}
	for row, err := range output.Rows[records.Removed](context.Background(), r, output.Removed) {
		if err != nil {
			return err
		}
		if err := a.remove(row.ID); err != nil {
			return err
		}
	}
	return nil
}

// readLines reads the answer of a peer, in the format that python/answer.py describes.
func readLines(path string, a *answer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		removed, kept, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			return fmt.Errorf("%s: %q is not a line of an answer", path, lines.Text())
		}
		if err := a.join(removed, kept); err != nil {
			return err
		}
		if err := a.remove(removed); err != nil {
			return err
		}
	}
	return lines.Err()
}
