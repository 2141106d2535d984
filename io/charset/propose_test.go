package charset

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

const shared = "../../../shared/data/"

// sharedTexts calls see with the shared texts of several languages. It skips the test if they are not available.
func sharedTexts(t *testing.T, see func(name, text string)) {
	t.Helper()
	udhr, err := zip.OpenReader(shared + "udhr2/udhr2.zip")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no shared texts")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer udhr.Close()
	for _, f := range udhr.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		see(f.Name, string(text))
	}
	packed, err := os.Open(shared + "tldr_pages/tldr_pages.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	languages := map[string]*strings.Builder{} // a text of the pages of each
	for pages := tar.NewReader(plain); ; {
		h, err := pages.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		language := path.Base(path.Dir(path.Dir(h.Name)))
		if languages[language] == nil {
			languages[language] = new(strings.Builder)
		}
		if languages[language].Len() < 200_000 {
			if _, err := io.Copy(languages[language], pages); err != nil {
				t.Fatal(err)
			}
		}
	}
	for language, text := range languages {
		see(language, text.String())
	}
}

// pieces calls see with parts of the shared texts, each ending at a line end.
func pieces(t *testing.T, see func(name, text string)) {
	t.Helper()
	const most = 8 << 10
	sharedTexts(t, func(name, text string) {
		var piece strings.Builder
		for line := range strings.Lines(text) {
			if piece.Len()+len(line) > most {
				see(name, piece.String())
				piece.Reset()
			}
			piece.WriteString(line)
		}
		see(name, piece.String())
	})
}

// western lists languages written in windows-1252, by the names of the shared texts.
var western = strings.Fields("afr cat dan deu deu_1901 deu_1996 eus fao fin fra gle glg isl ita lux nld nno nob oci por por_BR por_PT spa swe pages.da pages.de pages.es pages.fr pages.it pages.nl pages.no pages.pt_BR pages.pt_PT pages.sv")

// usual reports whether a text is in a language usually written in an encoding.
func usual(encoding, name, text string) bool {
	count := func(table *unicode.RangeTable) (n int) {
		for _, r := range text {
			if unicode.Is(table, r) {
				n++
			}
		}
		return n
	}
	switch encoding {
	case "windows-1251":
		return 4*count(unicode.Cyrillic) > len(text)/2
	case "windows-1252":
		return slices.Contains(western, strings.TrimSuffix(path.Base(name), ".txt"))
	case "shift_jis":
		return count(unicode.Hiragana) > 100
	case "gbk":
		return count(unicode.Han) > 100 && count(unicode.Hiragana) == 0
	default:
		return true
	}
}

// TestPropose takes shared texts in old encodings. At least nine in ten of those usually written in their encoding must
// be recognized, and none may be misread: what is proposed must decode to the original text.
func TestPropose(t *testing.T) {
	type tally struct{ right, silent int }
	tallies := map[string]*tally{}
	pieces(t, func(from, text string) {
		if !utf8.ValidString(text) || len(text) < 1000 {
			return
		}
		for _, name := range []string{"utf-16le", "utf-16be", "windows-1251", "windows-1252", "shift_jis", "gbk"} {
			e, err := htmlindex.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			coded, err := e.NewEncoder().String(text)
			if err != nil || utf8.ValidString(coded) && !strings.HasPrefix(name, "utf-16") {
				continue // the encoding lacks some characters, or the text is ASCII
			}
			if tallies[name] == nil {
				tallies[name] = new(tally)
			}
			proposed := Propose([]byte(coded))
			if proposed == "" {
				if usual(name, from, text) {
					tallies[name].silent++
				}
				continue
			}
			as, err := Named(proposed)
			if err != nil {
				t.Fatal(err)
			}
			const last = 4 // the last character may be cut off
			got := as.AppendDecoded(nil, []byte(coded[:min(len(coded), proposeBytes)]))
			if got = got[:len(got)-last]; !strings.HasPrefix(text, string(got)) {
				t.Errorf("%s in %s is taken for %s", from, name, proposed)
			}
			if usual(name, from, text) {
				tallies[name].right++
			}
		}
	})
	for name, n := range tallies {
		t.Logf("%s: %d right, %d silent", name, n.right, n.silent)
		if n.right*10 < 9*(n.right+n.silent) {
			t.Errorf("%s: %d of %d texts are told", name, n.right, n.right+n.silent)
		}
	}
}
