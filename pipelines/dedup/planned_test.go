package dedup_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/internal/nightly"
)

// The plan estimates the number of documents within 30 per cent, however they are stored; nightly, on more corpora.
func TestPlannedDocuments(t *testing.T) {
	corpora := map[string]func(*testing.T) corpus{"kijiji": kijiji, "licenses": licenses}
	if nightly.On() {
		maps.Copy(corpora, map[string]func(*testing.T) corpus{
			"reuters": reuters, "bbc": bbc, "tldr": allPages, "imdb": imdb, "sms": messages, "thai": thai,
			"articles": func(t *testing.T) corpus { return articles(t, "2500") },
			"spamassassin": func(t *testing.T) corpus {
				return files(t, "spamassassin", unpacked(t, filepath.Join(found(t, "spamassassin"), "spamassassin_txt.tar.gz")))
			},
		})
	}
	for name, load := range corpora {
		t.Run(name, func(t *testing.T) {
			c := load(t)
			lines := make([][]byte, len(c.texts))
			for i, text := range c.texts {
				line, err := json.Marshal(map[string]string{"id": c.ids[i], "text": text})
				if err != nil {
					t.Fatal(err)
				}
				lines[i] = append(line, '\n')
			}
			all := bytes.Join(lines, nil)
			root := t.TempDir()
			ways := map[string][]string{"as it is": c.config.Inputs}
			put := func(way, name string, data []byte) {
				path := filepath.Join(root, way, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, data, 0o666); err != nil {
					t.Fatal(err)
				}
				ways[way] = []string{filepath.Join(root, way)}
			}
			put("plain", "all.jsonl", all)
			put("gzip", "all.jsonl.gz", gzipped(t, all))
			put("zstd", "all.jsonl.zst", zstandard(t, all))
			const parts = 500
			for i := range parts {
				part := bytes.Join(lines[len(lines)*i/parts:len(lines)*(i+1)/parts], nil)
				put("500 files", fmt.Sprintf("%03d.jsonl", i), part)
				put("500 gzip files", fmt.Sprintf("%03d.jsonl.gz", i), gzipped(t, part))
			}
			for i, text := range c.texts {
				put("one a file", fmt.Sprintf("%06d", i), []byte(text))
			}
			for way, inputs := range ways {
				config := c.config
				if config.Inputs, config.DryRun = inputs, true; way != "as it is" {
					config = ask(t, inputs...)
					config.DryRun = true
				}
				if way == "one a file" {
					config.Format = "files"
				}
				config.MaxRejected = "100%" // whatever their encoding
				run, err := runJob(t.Context(), config, nil)
				if err != nil {
					t.Fatalf("%s: %v", way, err)
				}
				if share := float64(run.Chosen.Documents) / float64(len(c.texts)); share < 0.7 || share > 1.3 {
					t.Errorf("%s: about %d documents, and there are %d", way, run.Chosen.Documents, len(c.texts))
				}
			}
		})
	}
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func zstandard(t *testing.T, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}
