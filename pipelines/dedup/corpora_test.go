package dedup_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/neardup/neardup/pipelines/dedup"
)

// corpora is where the real corpora lie, beside the repository.
const corpora = "../../../shared/data"

// corpus is a collection as the job reads it, and its texts as an independent reader sees them.
type corpus struct {
	name   string
	config dedup.Config // inputs and fields
	ids    []string
	texts  []string
	// planted are pairs of ids known to be near-duplicates.
	planted [][2]string
}

// found skips the test if the corpus is not there.
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

// reuters reads the bodies with regular expressions.
func reuters(t *testing.T) corpus {
	folder := found(t, "reuters21578")
	c := corpus{name: "reuters21578", config: ask(t, folder, "--format=reuters")}
	files, err := filepath.Glob(filepath.Join(folder, "*.sgm"))
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
					return " " // control characters
				})
			}
			c.ids, c.texts = append(c.ids, m[1]), append(c.texts, content)
		}
	}
	return c
}

// kijiji reads title and short description.
func kijiji(t *testing.T) corpus {
	path := filepath.Join(found(t, "kijiji_rome"), "dataset_rent_rome_kijiji.tsv")
	c := corpus{name: "kijiji_rome", config: ask(t, path, "--text=Title", "--text=Short Description")}
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

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
