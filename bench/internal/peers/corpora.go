package peers

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/internal/corpusgen"
)

const (
	workFolder   = ".cache/bench"
	sharedFolder = "../shared/data"
	imdb         = sharedFolder + "/imdb_reviews/imdb.jsonl.zst"
	reuters      = sharedFolder + "/reuters21578"
	bbc          = sharedFolder + "/bbc_news/bbc.tar.gz"
	newsgroups   = sharedFolder + "/newsgroups20/20_newsgroup.tar.gz"
	kijiji       = sharedFolder + "/kijiji_rome/dataset_rent_rome_kijiji.tsv"
	recombiner   = "../shared/tools/recombined.py"
)

// quicker is the factor by which corpora are smaller with -quick.
const quicker = 100

// corpus is a corpus prepared for the tools.
type corpus struct {
	Name      string
	File      string // what the tools read
	Documents int
	TextBytes int64
	FileBytes int64
	Of        string `json:",omitempty"` // the corpus with the same documents as JSON lines
	plain     string // the same documents as JSON lines, for the exact join
	ids       map[string]int
}

// recipe prepares a corpus.
type recipe struct {
	Name  string
	needs string // source file or folder; if it does not exist, the corpus is left out
	write func(w io.Writer, quick bool) error
	asIs  bool // the tools read the source instead of the file written
	// pack writes, at to, a version of plain that only neardup reads.
	pack   func(to, plain string) error
	of     string // corpus with the same documents as JSON lines, if it is another one
	public bool   // only for Public, or if asked for
}

func (r recipe) name() string { return r.Name }

var corpora = []recipe{
	{Name: "imdb_reviews", needs: imdb, write: writeIMDB},
	{Name: "imdb_reviews.zst", needs: imdb, write: writeIMDB, asIs: true, of: "imdb_reviews"},
	{Name: "imdb_reviews.duckdb-zstd", needs: imdb, write: writeIMDB, pack: asParquet("duckdb-zstd"), of: "imdb_reviews"},
	{Name: "imdb_reviews.pyarrow-zstd", needs: imdb, write: writeIMDB, pack: asParquet("pyarrow-zstd"),
		of: "imdb_reviews"},
	{Name: "imdb_reviews.pyarrow-snappy", needs: imdb, write: writeIMDB, pack: asParquet("pyarrow-snappy"),
		of: "imdb_reviews"},
	{Name: "imdb_reviews.gz", needs: imdb, write: writeIMDB, pack: gzipped(1), of: "imdb_reviews"},
	{Name: "imdb_reviews.500-gz", needs: imdb, write: writeIMDB, pack: gzipped(500), of: "imdb_reviews"},
	{Name: "reuters21578", needs: reuters, write: writeReuters},
	{Name: "bbc_news", needs: bbc, write: fromArchive(bbc, ".txt")},
	{Name: "newsgroups20", needs: newsgroups, write: fromArchive(newsgroups, ""), public: true},
	{Name: "kijiji_rome", needs: kijiji, write: writeKijiji, public: true},
	{Name: "recombined", needs: recombiner, write: writeRecombined},
	{Name: "generated", write: generate(corpusgen.Spec{Documents: 1_000_000, Seed: 1,
		Copies: 0.15, Near: 0.15, Edits: 0.015})},
	{Name: "generated.100k", public: true, write: generate(corpusgen.Spec{Documents: 100_000, Seed: 1,
		Copies: 0.15, Near: 0.15, Edits: 0.015})},
	{Name: crowd, write: generate(corpusgen.Spec{Documents: 10_000, Words: 250, Seed: 1,
		Crowd: 6_000, CrowdEdits: 0.005})},
	{Name: unrelated, write: generate(corpusgen.Spec{Documents: 10_000, Words: 250, Seed: 1})},
}

// Two corpora that are compared with each other.
const (
	crowd     = "crowd"
	unrelated = "unrelated"
)

// prepare writes the corpus. It returns nil if the source does not exist.
func (r recipe) prepare(quick bool) (*corpus, error) {
	if r.needs != "" {
		if _, err := os.Stat(r.needs); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	c := &corpus{Name: r.Name, Of: r.of, plain: filepath.Join(workFolder, r.Name+".jsonl")}
	if err := writeFile(c.plain, func(w io.Writer) error { return r.write(w, quick) }); err != nil {
		return nil, err
	}
	c.File = c.plain
	if r.asIs {
		c.File = r.needs
		if quick { // the same documents as the exact join reads
			c.File = filepath.Join(workFolder, r.Name+".jsonl.zst")
			if err := compress(c.File, c.plain); err != nil {
				return nil, err
			}
		}
	}
	if r.pack != nil {
		c.File = filepath.Join(workFolder, r.Name)
		if err := os.RemoveAll(c.File); err != nil {
			return nil, err
		}
		if err := r.pack(c.File, c.plain); err != nil {
			return nil, err
		}
	}
	err := filepath.Walk(c.File, func(_ string, info fs.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			c.FileBytes += info.Size()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	c.ids = map[string]int{}
	err = eachDocument(c.plain, func(d document) error {
		if _, twice := c.ids[d.ID]; twice {
			return fmt.Errorf("%s: two documents have the id %q", c.plain, d.ID)
		}
		c.ids[d.ID] = c.Documents
		c.Documents++
		c.TextBytes += int64(len(d.Text))
		return nil
	})
	return c, err
}

// document is a line of a corpus.
type document struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func eachDocument(path string, each func(document) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for decoder := json.NewDecoder(bufio.NewReaderSize(f, 1<<20)); ; {
		var d document
		if err := decoder.Decode(&d); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := each(d); err != nil {
			return err
		}
	}
}

// writeFile creates a file and the folders it needs.
func writeFile(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	if err := write(out); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// asParquet returns a function that has Python write a folder with one Parquet file.
func asParquet(how string) func(to, plain string) error {
	return func(to, plain string) error {
		if _, err := installPeers(); err != nil {
			return err
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		return loud(environment+"/bin/python", filepath.Join(scripts, "parquet.py"), how, plain,
			filepath.Join(to, "all.parquet"))
	}
}

// gzipped returns a function that writes a folder of gzip files with about the same uncompressed size.
func gzipped(files int) func(to, plain string) error {
	return func(to, plain string) error {
		data, err := os.ReadFile(plain)
		if err != nil {
			return err
		}
		for i := range files {
			n := len(data) / (files - i)
			n += bytes.IndexByte(data[n:], '\n') + 1
			if i == files-1 {
				n = len(data)
			}
			err := writeFile(filepath.Join(to, fmt.Sprintf("%03d.jsonl.gz", i)), func(w io.Writer) error {
				packed := gzip.NewWriter(w)
				if _, err := packed.Write(data[:n]); err != nil {
					return err
				}
				return packed.Close()
			})
			if err != nil {
				return err
			}
			data = data[n:]
		}
		return nil
	}
}

func compress(to, from string) error {
	return writeFile(to, func(w io.Writer) error {
		f, err := os.Open(from)
		if err != nil {
			return err
		}
		defer f.Close()
		encoder, err := zstd.NewWriter(w)
		if err != nil {
			return err
		}
		if _, err := io.Copy(encoder, f); err != nil {
			return err
		}
		return encoder.Close()
	})
}

func generate(spec corpusgen.Spec) func(io.Writer, bool) error {
	return func(w io.Writer, quick bool) error {
		s := spec
		if quick {
			s.Documents /= quicker
			s.Crowd /= quicker
		}
		return corpusgen.Write(w, s)
	}
}

func writeIMDB(w io.Writer, quick bool) error {
	f, err := os.Open(imdb)
	if err != nil {
		return err
	}
	defer f.Close()
	decoder, err := zstd.NewReader(f)
	if err != nil {
		return err
	}
	defer decoder.Close()
	if !quick {
		_, err = io.Copy(w, decoder)
		return err
	}
	lines := bufio.NewReaderSize(decoder, 1<<20)
	for range 100_000 / quicker {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// writeReuters writes the articles that have a body, from one of the 22 files if quick.
func writeReuters(w io.Writer, quick bool) error {
	files, err := filepath.Glob(filepath.Join(reuters, "*.sgm"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("there are no .sgm files in %s", reuters)
	}
	if quick {
		files = files[:1]
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, d := range articles(data) {
			if err := encoder.Encode(d); err != nil {
				return err
			}
		}
	}
	return nil
}

var article = regexp.MustCompile(`(?s)<REUTERS[^>]* NEWID="(\d+)">(.*?)</REUTERS>`)

// articles returns the articles with a body in a file of Reuters-21578, which is ISO 8859-1.
func articles(data []byte) (found []document) {
	for _, m := range article.FindAllStringSubmatch(latin1(data), -1) {
		_, body, ok := strings.Cut(m[2], "<BODY>")
		if !ok {
			continue
		}
		body, _, _ = strings.Cut(body, "</BODY>")
		found = append(found, document{m[1], html.UnescapeString(body)})
	}
	return found
}

func latin1(data []byte) string {
	var text strings.Builder
	for _, b := range data {
		text.WriteRune(rune(b))
	}
	return text.String()
}

// fromArchive returns a function that writes the files with a suffix in an archive, which are ISO 8859-1.
func fromArchive(path, suffix string) func(io.Writer, bool) error {
	return func(w io.Writer, quick bool) error { return writeArchive(w, path, suffix, quick) }
}

func writeArchive(w io.Writer, path, suffix string, quick bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	archive, n := tar.NewReader(plain), 0
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg || !strings.HasSuffix(header.Name, suffix) {
			continue
		}
		if n++; quick && n%quicker != 0 {
			continue
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		if err := encoder.Encode(document{header.Name, latin1(data)}); err != nil {
			return err
		}
	}
}

// writeKijiji writes the titles and descriptions of the advertisements.
func writeKijiji(w io.Writer, quick bool) error {
	data, err := os.ReadFile(kijiji)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	n := 0
	for line := range strings.Lines(string(data)) {
		columns := strings.Split(line, "\t")
		if n++; n == 1 || len(columns) < 2 || quick && n%quicker != 0 { // the first line is a header
			continue
		}
		if err := encoder.Encode(document{strconv.Itoa(n), columns[0] + "\n" + columns[1]}); err != nil {
			return err
		}
	}
	return nil
}

// writeRecombined writes 800,000 documents made of sentences of imdb_reviews; a fifth are copies with other words.
func writeRecombined(w io.Writer, quick bool) error {
	documents := 800_000
	if quick {
		documents /= quicker
	}
	file := filepath.Join(workFolder, "recombined")
	defer os.Remove(file)
	if err := loud("python3", recombiner, file, strconv.Itoa(documents)); err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
