package peers

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/unionfind"
)

// answer is the answer of a tool, with documents by number.
type answer struct {
	ids      map[string]int
	clusters unionfind.Forest
	removed  []bool
}

func newAnswer(ids map[string]int) *answer {
	return &answer{ids: ids, removed: make([]bool, len(ids))}
}

func (a *answer) number(id string) (int, error) {
	n, ok := a.ids[id]
	if !ok {
		return 0, fmt.Errorf("the answer names %q, and no document of the corpus has this id", id)
	}
	return n, nil
}

// join puts two documents into the same cluster.
func (a *answer) join(id, other string) error {
	x, err := a.number(id)
	if err != nil {
		return err
	}
	y, err := a.number(other)
	a.clusters.Union(int64(x), int64(y))
	return err
}

func (a *answer) remove(id string) error {
	n, err := a.number(id)
	a.removed[n] = err == nil
	return err
}

// quality compares an answer with the exact join.
type quality struct {
	// Pairs are the pairs of the exact join; Near are those below 0.9. A pair is found if both documents are in one
	// cluster.
	Pairs, PairsFound int64
	Near, NearFound   int64
	// A document is removed rightly if it forms a pair with a document of its cluster.
	Removed, RemovedRightly int64
}

var (
	threshold = setsim.Threshold{Num: 4, Den: 5}
	near      = setsim.Threshold{Num: 9, Den: 10} // pairs below are near the threshold
)

// judge compares answers with the exact join of the sets, which are by document number. Empty sets are similar to none.
func judge(sets [][]uint64, answers []*answer) []quality {
	var numbers []int
	var full [][]uint64
	for n, set := range sets {
		if len(set) > 0 {
			numbers, full = append(numbers, n), append(full, set)
		}
	}
	judged := make([]quality, len(answers))
	clusters := make([][]int32, len(answers))
	right := make([][]bool, len(answers))
	for k, a := range answers {
		clusters[k], right[k] = make([]int32, len(sets)), make([]bool, len(sets))
		for n := range sets {
			clusters[k][n] = int32(a.clusters.Find(int64(n)))
		}
	}
	setsim.SelfJoin(full, threshold, nil, func(i, j, shared int) bool {
		x, y := numbers[i], numbers[j]
		isNear := !near.Reached(shared, len(full[i]), len(full[j]))
		for k := range judged {
			q := &judged[k]
			q.Pairs++
			if isNear {
				q.Near++
			}
			if clusters[k][x] != clusters[k][y] {
				continue
			}
			q.PairsFound++
			if isNear {
				q.NearFound++
			}
			right[k][x], right[k][y] = true, true
		}
		return true
	})
	for k, a := range answers {
		for n, removed := range a.removed {
			if removed {
				judged[k].Removed++
				if right[k][n] {
					judged[k].RemovedRightly++
				}
			}
		}
	}
	return judged
}

// shingleSets returns the sets that neardup compares.
func shingleSets(c corpus) (string, [][]uint64, error) {
	normalize, err := textnorm.Parse("default")
	if err != nil {
		return "", nil, err
	}
	shingler := shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: shingleWords}, Normalize: normalize}.New()
	sets := make([][]uint64, 0, c.Documents)
	var buffer []uint64
	err = eachDocument(c.plain, func(d document) error {
		buffer = shingler.Shingles(buffer[:0], []byte(d.Text))
		sets = append(sets, shingle.Set(slices.Clone(buffer)))
		return nil
	})
	return "neardup", sets, err
}

// shingleWords is the number of words in a shingle, for all tools.
const shingleWords = 5

// wordSets returns the sets of a peer, made of the words that it splits documents into, in the format that
// python/answer.py describes. It also returns a name that is equal only for equal words.
func wordSets(path string, ids map[string]int) (string, [][]uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	sets := make([][]uint64, len(ids))
	seed := maphash.MakeSeed()
	sum := sha256.New()
	read := 0
	for lines := bufio.NewReaderSize(io.TeeReader(f, sum), 1<<20); ; {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", nil, err
		}
		id, words, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		n, ok := ids[id]
		if !ok {
			return "", nil, fmt.Errorf("%s names %q, and no document of the corpus has this id", path, id)
		}
		sets[n] = shingle.Set(shinglesOf(seed, []byte(words)))
		read++
	}
	if read != len(ids) {
		return "", nil, fmt.Errorf("%s has %d lines for %d documents", path, read, len(ids))
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), sets, nil
}

// shinglesOf hashes each run of shingleWords words, which are separated by spaces. If there are fewer words, it hashes
// all as one shingle.
func shinglesOf(seed maphash.Seed, words []byte) (shingles []uint64) {
	if len(words) == 0 {
		return nil
	}
	starts := make([]int, 1, 1+bytes.Count(words, []byte(" ")))
	for i, b := range words {
		if b == ' ' {
			starts = append(starts, i+1)
		}
	}
	starts = append(starts, len(words)+1)
	for first := 0; first == 0 || first+shingleWords < len(starts); first++ {
		last := min(first+shingleWords, len(starts)-1)
		shingles = append(shingles, maphash.Bytes(seed, words[starts[first]:starts[last]-1]))
	}
	return shingles
}
