package dedup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/charmap"

	"github.com/neardup/neardup/pipelines/dedup"
)

// corpora is the folder of the real corpora, beside the repository.
const corpora = "../../../shared/data"

// corpus is a collection, as a config for the job, and its texts as read by independent code.
type corpus struct {
	name   string
	config dedup.Config // inputs and fields
	ids    []string
	texts  []string
	// planted are pairs of ids known to be near-duplicates.
	planted [][2]string
}

// found returns the path of a corpus, and skips the test if it does not exist.
func found(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(corpora, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the corpus %s is not there: %v", name, err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	article = regexp.MustCompile(`(?s)<REUTERS [^>]*OLDID="(\d+)"[^>]*>(.*?)</REUTERS>`)
	body    = regexp.MustCompile(`(?s)<BODY>(.*?)</BODY>`)
	entity  = regexp.MustCompile(`&(lt|gt|amp|#\d+);`)
)

func reuters(t *testing.T) corpus { return reutersFiles(t, "*.sgm") }

func reutersFiles(t *testing.T, pattern string) corpus {
	return newswire(t, "reuters21578", filepath.Join(found(t, "reuters21578"), pattern))
}

// newswire reads the bodies with regular expressions.
func newswire(t *testing.T, name, pattern string) corpus {
	c := corpus{name: name, config: ask(t, pattern, "--format=reuters")}
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var text strings.Builder
		for _, b := range []byte(read(t, file)) { // Latin-1
			text.WriteRune(rune(b))
		}
		for _, m := range article.FindAllStringSubmatch(text.String(), -1) {
			content := ""
			if b := body.FindStringSubmatch(m[2]); b != nil {
				content = entity.ReplaceAllStringFunc(b[1], func(e string) string {
					switch e {
					case "&lt;":
						return "<"
					case "&gt;":
						return ">"
					case "&amp;":
						return "&"
					}
					n, err := strconv.Atoi(e[len("&#") : len(e)-len(";")])
					if err != nil {
						t.Fatal(err)
					}
					return string(rune(n)) // control characters
				})
			}
			c.ids, c.texts = append(c.ids, m[1]), append(c.texts, content)
		}
	}
	return c
}

func kijiji(t *testing.T) corpus {
	return ads(t, "kijiji_rome", filepath.Join(found(t, "kijiji_rome"), "dataset_rent_rome_kijiji.tsv"))
}

// ads reads title and short description.
func ads(t *testing.T, name, path string) corpus {
	c := corpus{name: name, config: ask(t, path, "--text=Title", "--text=Short Description")}
	position := 0
	for i, line := range strings.SplitAfter(read(t, path), "\n") {
		if i > 0 && line != "" {
			fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
			c.ids = append(c.ids, fmt.Sprintf("%s@%d", filepath.Base(path), position))
			c.texts = append(c.texts, fields[0]+" "+fields[1])
		}
		position += len(line)
	}
	return c
}

// articles converts "<id> <text>" lines to TSV with a header.
func articles(t *testing.T, size string) corpus {
	folder := found(t, "minhash_articles")
	path := filepath.Join(t.TempDir(), "articles.tsv")
	c := corpus{name: "minhash_articles " + size, config: ask(t, path)}
	var tsv bytes.Buffer
	tsv.WriteString("id\ttext\n")
	for line := range strings.Lines(read(t, filepath.Join(folder, "articles_"+size+".train"))) {
		id, text, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		c.ids, c.texts = append(c.ids, id), append(c.texts, text)
		fmt.Fprintf(&tsv, "%s\t%s\n", id, strings.ReplaceAll(text, "\t", " "))
	}
	for line := range strings.Lines(read(t, filepath.Join(folder, "articles_"+size+".truth"))) {
		a, b, _ := strings.Cut(strings.TrimSpace(line), " ")
		c.planted = append(c.planted, [2]string{a, b})
	}
	if err := os.WriteFile(path, tsv.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return c
}

// unpacked returns the texts of the files in a .tar.gz, by name.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	unzipped, err := gzip.NewReader(strings.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			texts[header.Name] = readAll(t, archive)
		}
	}
}

// files writes texts to a folder, one per file.
func files(t *testing.T, name string, texts map[string]string) corpus {
	t.Helper()
	folder := t.TempDir()
	c := corpus{name: name, config: ask(t, folder, "--format=files")}
	for _, id := range slices.Sorted(maps.Keys(texts)) {
		c.ids, c.texts = append(c.ids, id), append(c.texts, texts[id])
		path := filepath.Join(folder, id)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(texts[id]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func licenses(t *testing.T) corpus {
	return files(t, "license_texts", unpacked(t, filepath.Join(found(t, "license_texts"), "spdx_license_texts.tar.gz")))
}

// bbc returns the BBC articles. One is in windows-1252; it is converted, as its user would be advised to.
func bbc(t *testing.T) corpus {
	texts := unpacked(t, filepath.Join(found(t, "bbc_news"), "bbc.tar.gz"))
	for name, text := range texts {
		if utf8.ValidString(text) {
			continue
		}
		converted, err := charmap.Windows1252.NewDecoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = converted
	}
	return files(t, "bbc_news", texts)
}

// tldr returns 12,000 of the pages, at equal distances, so that all languages are among them.
func tldr(t *testing.T) corpus {
	const some = 12_000
	texts := unpacked(t, filepath.Join(found(t, "tldr_pages"), "tldr_pages.tar.gz"))
	all := slices.Sorted(maps.Keys(texts))
	c := corpus{name: "tldr_pages"}
	for i := range some {
		id := all[i*len(all)/some]
		c.ids, c.texts = append(c.ids, id), append(c.texts, texts[id])
	}
	return asJSON(t, c)
}

// allPages returns all pages.
func allPages(t *testing.T) corpus {
	c := corpus{name: "tldr_pages"}
	texts := unpacked(t, filepath.Join(found(t, "tldr_pages"), "tldr_pages.tar.gz"))
	for _, id := range slices.Sorted(maps.Keys(texts)) {
		c.ids, c.texts = append(c.ids, id), append(c.texts, texts[id])
	}
	return asJSON(t, c)
}

// imdb returns the first 20,000 reviews.
func imdb(t *testing.T) corpus {
	const some = 20_000
	packed := read(t, filepath.Join(found(t, "imdb_reviews"), "imdb.jsonl.zst"))
	r, err := zstd.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := corpus{name: "imdb_reviews"}
	for d := json.NewDecoder(r); len(c.ids) < some; {
		var review struct{ ID, Text string }
		if err := d.Decode(&review); err != nil {
			t.Fatal(err)
		}
		c.ids, c.texts = append(c.ids, review.ID), append(c.texts, review.Text)
	}
	return asJSON(t, c)
}

// asJSON writes the corpus to a file.
func asJSON(t *testing.T, c corpus) corpus {
	t.Helper()
	path := filepath.Join(t.TempDir(), c.name+".jsonl")
	c.config = ask(t, path)
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for i, id := range c.ids {
		if err := encoder.Encode(map[string]string{"id": id, "text": c.texts[i]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, lines.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return c
}

// messages reads a file with one message per line, including its label.
func messages(t *testing.T) corpus {
	return lines(t, "sms_spam", filepath.Join(found(t, "sms_spam"), "sms.tsv"))
}

func thai(t *testing.T) corpus {
	folder := found(t, "wisesight_thai")
	var paths []string
	for _, name := range []string{"neg.txt", "neu.txt", "pos.txt", "q.txt"} {
		paths = append(paths, filepath.Join(folder, name))
	}
	return lines(t, "wisesight_thai", paths...)
}

// lines reads files with one text per line.
func lines(t *testing.T, name string, paths ...string) corpus {
	t.Helper()
	c := corpus{name: name, config: ask(t, append([]string{"--format=lines"}, paths...)...)}
	for _, path := range paths {
		position := 0
		for line := range strings.Lines(read(t, path)) {
			c.ids = append(c.ids, fmt.Sprintf("%s@%d", filepath.Base(path), position))
			c.texts = append(c.texts, strings.TrimRight(line, "\r\n"))
			position += len(line)
		}
	}
	return c
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
