package peers

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup/kernels/setsim"
)

const (
	publicFolder  = ".cache/public" // one environment per peer
	publicScripts = "bench/public/python"
	wordFolder    = workFolder + "/words"   // what the peers compare, for the exact join
	scratch       = workFolder + "/scratch" // working folder of a run, with its temporary files
)

// publicCorpora lists five corpora of ../shared/data and two generated ones.
var publicCorpora = []string{"kijiji_rome", "bbc_news", "reuters21578", "newsgroups20", "imdb_reviews",
	"generated.100k", crowd}

// source is how to get a peer from a registry.
type source struct {
	python string   // Python version, if not that of python3
	pins   []string // for pip; the first one is the peer
	crate  string   // for cargo
}

// helpers are packages that read the corpora.
var helpers = []string{"orjson==3.13.0", "zstandard==0.25.0"}

var sources = map[string]source{
	"daft":          {pins: []string{"daft==0.7.26", "numpy==2.4.6", "packaging==26.3", "tqdm==4.67.3"}},
	"data-juicer":   {pins: []string{"py-data-juicer==1.6.1", "aiohttp"}},
	"datasketch":    {pins: []string{"datasketch==2.0.0"}},
	"datatrove":     {pins: []string{"datatrove[processing]==0.10.1", "spacy"}},
	"fastsketchlsh": {pins: []string{"fastsketchlsh==1.0.1", "numpy==2.4.6"}},
	"gaoya":         {pins: []string{"gaoya==0.2.2"}},
	"incrededup":    {crate: "incrededup@0.3.1"},
	"rensa":         {pins: []string{"rensa==0.5.0"}},
	"semhash":       {pins: []string{"semhash==0.5.0"}},
	"spark":         {pins: []string{"pyspark==4.3.0", "numpy==2.4.6"}},
	"text-dedup":    {python: "3.12", pins: []string{"text-dedup==0.4.1"}},
}

// publicPeer is a peer with a setting.
type publicPeer struct {
	peer
	wordless bool   // its shingles are of three characters: all documents share some, so a join would take too long
	estimate string // minimum estimate of accepted candidates, if the peer estimates
}

// near999 describes the setting with 8 rows that finds .999 of the pairs at 0.8, and more of those above.
const near999 = "for .999 at 0.8"

// The settings of each peer: that of its own documentation, and one for a recall of .999.
var publicPeers = []publicPeer{
	{peer: peer{"daft", "daft", "daft", 8, 8, "as in its guide"}},
	{peer: peer{"daft .999", "daft", "daft", 38, 8, near999}},
	{peer: peer{"rensa", "rensa", "rensa", 16, 8, "as in its README; accepts estimates of .8 or more"}},
	{peer: peer{"rensa .999", "rensa", "rensa", 38, 8, near999 + "; accepts estimates of .7 or more"}, estimate: ".7"},
	{peer: peer{"gaoya", "gaoya", "gaoya", 16, 8, "accepts estimates of .8 or more"}},
	{peer: peer{"gaoya .999", "gaoya", "gaoya", 38, 8, near999 + "; accepts estimates of .7 or more"}, estimate: ".7"},
	{peer: peer{"fastsketchlsh", "fastsketchlsh", "fastsketchlsh", 16, 8, "as in its README"}},
	{peer: peer{"datasketch", "datasketch", "datasketch", 9, 13, "as it chooses for 0.8 and 128 permutations"}},
	{peer: peer{"datasketch .999", "datasketch", "datasketch", 38, 8, near999}},
	{peer: peer{"incrededup", "incrededup", "incrededup", 16, 8, "the only choice; accepts estimates of .8 or more"},
		wordless: true},
	{peer: peer{"text-dedup", "textdedup", "text-dedup", 0, 240,
		"240 permutations, as in its README for 0.7; candidates compared"}},
	{peer: peer{"text-dedup .999", "textdedup", "text-dedup", 38, 8, near999 + "; candidates compared at 0.8"}},
	{peer: peer{"datatrove", "datatrove", "datatrove", 14, 8, "as in its example"}},
	{peer: peer{"datatrove .999", "datatrove", "datatrove", 38, 8, near999}},
	{peer: peer{"data-juicer", "datajuicer", "data-juicer", 0, 256, "its default: 256 permutations for 0.7"}},
	{peer: peer{"data-juicer .999", "datajuicer", "data-juicer", 38, 8, near999}},
	{peer: peer{"spark", "spark", "spark", 5, 1, "5 tables, as in its example, for .9997 at 0.8; candidates compared"}},
	{peer: peer{"semhash", "semhash", "semhash", 0, 0, "its default"}},
}

// absent lists tools that are in no registry, or that need a GPU or a service.
var absent = [][2]string{
	{"NeMo Curator", "its deduplication runs on GPUs only"},
	{"duplodocus, fastdedup (Rust), marin, dolma's newer tools", "in no registry: only as source at GitHub"},
	{"deduplicate-text-datasets", "exact substrings, in no registry"},
	{"Milvus, Snowflake, BigQuery", "a service each"},
}

// installed is the cost of installing a peer.
type installed struct {
	Peer, Version string
	Seconds       float64
	Bytes         int64
	Failed        string   `json:",omitempty"`
	Freeze        []string `json:",omitempty"`
}

// installPublic installs and returns the tools asked for. A tool that cannot be installed is returned with the reason.
func installPublic(o options) ([]tool, error) {
	chosen, err := choose("peer", publicPeers, o.peers)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	tools, err := install(o, nil)
	if err != nil {
		return nil, err
	}
	binary, err := os.Stat(neardupBinary)
	if err != nil {
		return nil, err
	}
	for i := range tools {
		tools[i].installed = installed{Peer: "neardup", Seconds: time.Since(begun).Seconds(), Bytes: binary.Size()}
	}
	if err := os.RemoveAll(wordFolder); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(wordFolder, 0o755); err != nil {
		return nil, err
	}
	if _, err := installPeers(); err != nil { // needed for the script of the second join
		return nil, err
	}
	for _, p := range chosen {
		got, err := sources[p.distribution].install(p.distribution)
		if err != nil {
			return nil, err
		}
		tools = append(tools, p.tool(got, o.workers))
	}
	return tools, nil
}

// install installs a peer into its folder, unless this version is already there.
func (s source) install(name string) (got installed, err error) {
	folder := filepath.Join(publicFolder, name)
	mark := folder + ".json"
	pins := slices.Concat(s.pins, helpers)
	version := s.crate
	if len(s.pins) > 0 {
		version = s.pins[0]
	}
	if have, err := os.ReadFile(mark); err == nil && json.Unmarshal(have, &got) == nil && got.Version == version {
		return got, nil
	}
	if err := os.RemoveAll(folder); err != nil {
		return got, err
	}
	got = installed{Peer: name, Version: version}
	begun := time.Now()
	err = loud("python"+max(s.python, "3"), "-m", "venv", folder)
	if err == nil {
		err = loud(folder+"/bin/pip", append([]string{"install", "--quiet", "--disable-pip-version-check"}, pins...)...)
	}
	if err == nil && s.crate != "" {
		err = loud("cargo", "install", "--quiet", s.crate, "--root", folder)
	}
	got.Seconds, got.Bytes = time.Since(begun).Seconds(), sizeOf(folder)
	if err != nil {
		got.Failed = err.Error()
	} else if freeze, err := exec.Command(folder+"/bin/pip", "freeze").Output(); err == nil {
		got.Freeze = strings.Fields(string(freeze))
	}
	line, err := json.Marshal(got)
	if err != nil {
		return got, err
	}
	return got, os.WriteFile(mark, line, 0o644)
}

// sizeOf returns the total size of the files below a folder, which may be changing.
func sizeOf(folder string) (bytes int64) {
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return bytes
}

func (p publicPeer) tool(got installed, workers int) tool {
	folder := filepath.Join(publicFolder, p.distribution)
	script := func(arguments ...string) *exec.Cmd {
		name := filepath.Join(publicScripts, p.script+"_peer.py")
		if _, err := os.Stat(name); err != nil {
			name = filepath.Join(scripts, p.script+"_peer.py")
		}
		c := exec.Command(folder+"/bin/python", append([]string{name}, arguments...)...)
		c.Env = append(os.Environ(), fmt.Sprintf("WORKERS=%d", workers), "PYTHONDONTWRITEBYTECODE=1",
			"PYTHONPATH="+scripts, "PEER="+folder, "ESTIMATE="+max(p.estimate, ".8"))
		return c
	}
	t := p.peer.tool(got.Version, workers)
	t.installed, t.why = got, got.Failed
	t.command = func(corpus, answer string) *exec.Cmd {
		return script("answer", corpus, answer, strconv.Itoa(p.bands), strconv.Itoa(p.rows))
	}
	if p.bands == 0 || p.rows == 1 {
		t.Parameters = p.says
	}
	if p.wordless {
		t.sets = nil
		return t
	}
	t.sets = func(c corpus) (string, [][]uint64, error) {
		path := filepath.Join(wordFolder, c.Name+"-"+p.script)
		if _, err := os.Stat(path); err != nil { // otherwise, another setting of the peer wrote it
			command := script("words", c.plain, path)
			if err := scratchFor(command); err != nil {
				return "", nil, err
			}
			if out, err := command.CombinedOutput(); err != nil {
				return "", nil, fmt.Errorf("words of %s: %w: %s", p.Name, err, out)
			}
		}
		return wordSets(path, c.ids)
	}
	return t
}

// scratchFor gives a command an empty folder for temporary files.
func scratchFor(c *exec.Cmd) error {
	if err := os.RemoveAll(scratch); err != nil {
		return err
	}
	path, err := filepath.Abs(scratch)
	if err != nil {
		return err
	}
	if c.Env == nil {
		c.Env = os.Environ()
	}
	c.Env = append(c.Env, "TMPDIR="+path)
	return os.MkdirAll(path, 0o755)
}

// joined summarises an exact join; two programs must agree on it.
type joined struct {
	Pairs, Near int64
	Sum         uint64 // of the pairs, as one number each
}

// joinedTwice returns an error if truth.py and setsim find different pairs.
func joinedTwice(sets [][]uint64) error {
	var ours joined
	var numbers []int
	var full [][]uint64
	for n, set := range sets {
		if len(set) > 0 {
			numbers, full = append(numbers, n), append(full, set)
		}
	}
	setsim.SelfJoin(full, threshold, nil, func(i, j, shared int) bool {
		ours.Pairs++
		if !near.Reached(shared, len(full[i]), len(full[j])) {
			ours.Near++
		}
		x, y := uint64(numbers[i]), uint64(numbers[j])
		ours.Sum += min(x, y)*uint64(len(sets)) + max(x, y)
		return true
	})
	var file bytes.Buffer
	for _, set := range sets {
		file.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(set))))
		for _, x := range set {
			file.Write(binary.LittleEndian.AppendUint64(nil, x))
		}
	}
	path := filepath.Join(workFolder, "sets")
	defer os.Remove(path)
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		return err
	}
	out, err := exec.CommandContext(context.Background(), environment+"/bin/python",
		publicScripts+"/truth.py", path).Output()
	if err != nil {
		return fmt.Errorf("truth.py: %w", err)
	}
	var theirs joined
	if err := json.Unmarshal(out, &theirs); err != nil {
		return err
	}
	if ours != theirs {
		return fmt.Errorf("the exact join by setsim has %v, by truth.py %v", ours, theirs)
	}
	return nil
}
