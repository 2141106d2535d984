package dedup_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// byteShingles are the sets of k consecutive bytes.
func byteShingles(text string, k int) map[string]bool {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	set := map[string]bool{}
	for i := 0; i == 0 || i+k <= len(text); i++ {
		set[text[i:min(i+k, len(text))]] = true
	}
	return set
}

// licenses unpacks one text a file.
func licenses(t *testing.T) corpus {
	f, err := os.Open(filepath.Join(found(t, "license_texts"), "spdx_license_texts.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	c := corpus{name: "license_texts", config: ask(t, folder, "--format=files")}
	texts := map[string]string{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		path := filepath.Join(folder, header.Name)
		texts[header.Name] = readAll(t, archive)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(texts[header.Name]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name := range texts {
		c.ids = append(c.ids, name)
	}
	sort.Strings(c.ids)
	for _, name := range c.ids {
		c.texts = append(c.texts, texts[name])
	}
	return c
}

// messages reads a file of one message a line, its label included.
func messages(t *testing.T) corpus {
	path := filepath.Join(found(t, "sms_spam"), "sms.tsv")
	c := corpus{name: "sms_spam", config: ask(t, path, "--format=lines")}
	position := 0
	for line := range strings.Lines(read(t, path)) {
		c.ids = append(c.ids, "sms.tsv@"+strconv.Itoa(position))
		c.texts = append(c.texts, strings.TrimRight(line, "\r\n"))
		position += len(line)
	}
	return c
}

// pages are the bundled help pages.
func pages(t *testing.T) corpus {
	c := corpus{name: "tldr", config: ask(t, "../../testdata/tldr")}
	files, err := filepath.Glob("../../testdata/tldr/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, file := range files {
		for line := range strings.Lines(read(t, file)) {
			var page struct{ ID, Text string }
			if err := json.Unmarshal([]byte(line), &page); err != nil {
				t.Fatal(err)
			}
			c.ids, c.texts = append(c.ids, page.ID), append(c.texts, page.Text)
		}
	}
	return c
}

// TestTruthOfBytes compares the job with the oracle where nothing is normalised and a shingle is
// 13 bytes: a definition that leaves no room for interpretation.
func TestTruthOfBytes(t *testing.T) {
	for _, load := range []func(*testing.T) corpus{pages, messages, licenses} {
		c := load(t)
		sets := make([]map[string]bool, len(c.texts))
		for i, text := range c.texts {
			sets[i] = byteShingles(text, 13)
		}
		o := newOracle(sets)
		for _, threshold := range []float64{0.6, 0.8, 0.95} {
			config := c.config
			config.Output = filepath.Join(t.TempDir(), "out")
			config.Threshold, config.Shingle, config.Normalize = threshold, "byte:13", "none"
			r := run(t, config)
			got := compare(t, c, o, r, threshold)
			t.Logf("%s at %v: %d documents, %d copies, %d near pairs, %d missed, %d wrong; %d × %d",
				c.name, threshold, len(c.texts), got.copies, got.found+got.missed, got.missed, got.wrong, r.Run.Chosen.Bands, r.Run.Chosen.Rows)
			// A pair is missed with probability 0.001 or less: more than one in a hundred by
			// accident is out of the question for so many, and a few pairs are all found.
			if got.missed*100 > got.found {
				t.Errorf("%s at %v: %d of %d pairs missed", c.name, threshold, got.missed, got.found+got.missed)
			}
		}
	}
}
