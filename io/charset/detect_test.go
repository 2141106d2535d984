package charset

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/nightly"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

var update = flag.Bool("update", false, "make languages.txt of the shared texts")

// learned lists the languages in languages.txt, by the names of the shared texts.
var learned = strings.Fields("bre roh ltz hsb sme wln lnc fur cos gla nds vec src lad hat_popular afr als arb bel bos_latn bul cat ces cym dan deu ell_monotonic eng epo est eus fao fin fra gle glg heb hrv hun isl ita kaz lav lit mkd mlt nld nno nob pes_1 pol por_PT ron rus slk slv spa srp_cyrl swe tha tur ukr urd azj_latn vie " +
	"cmn_hans cmn_hant jpn kor pages.zh pages.zh_TW pages.ja pages.ko")

func learnedFrom(name string) string {
	return map[string]string{"pages.zh": "cmn_hans", "pages.zh_TW": "cmn_hant", "pages.ja": "jpn", "pages.ko": "kor"}[name]
}

// train splits a text: odd lines are for training, even ones for testing.
func train(text string) (teach, test string) {
	var parts [2]strings.Builder
	i := 0
	for line := range strings.Lines(text) {
		parts[i%2].WriteString(line)
		i++
	}
	return parts[0].String(), parts[1].String()
}

// TestLanguages checks that languages.txt contains the common letter pairs of the shared texts.
func TestLanguages(t *testing.T) {
	const mostPairs, mostCharacters = 300, 600
	counts := map[string]map[pair]int{}
	sharedTexts(t, func(name, text string) {
		name = strings.TrimSuffix(path.Base(name), ".txt")
		if !slices.Contains(learned, name) {
			return
		}
		name = cmp.Or(learnedFrom(name), name)
		if counts[name] == nil {
			counts[name] = map[pair]int{}
		}
		teach, _ := train(text)
		for _, word := range strings.FieldsFunc(strings.ToLower(teach), func(r rune) bool {
			return r < utf8.RuneSelf && !unicode.IsLetter(r) || unicode.IsSpace(r) || strings.ContainsRune(punctuation, r)
		}) {
			before := edge
			for _, r := range word {
				switch {
				case isLarge(r):
					counts[name][pair{r, 0}]++
				case !isLarge(before):
					counts[name][pair{before, r}]++
				}
				before = r
			}
			if !isLarge(before) {
				counts[name][pair{before, edge}]++
			}
		}
	})
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		count, most := counts[name], mostPairs
		large := slices.Contains(largeLanguages, name)
		if large {
			most = mostCharacters
		}
		units := slices.DeleteFunc(slices.Collect(maps.Keys(count)), func(p pair) bool { return (p[1] == 0) != large })
		slices.SortFunc(units, func(a, b pair) int { return cmp.Or(count[b]-count[a], slices.Compare(a[:], b[:])) })
		b.WriteString(name + "\t")
		for i, p := range units[:min(len(units), most)] {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(strings.TrimRight(string(p[:]), "\x00"))
		}
		b.WriteByte('\n')
	}
	if *update {
		if err := os.WriteFile("languages.txt", []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if b.String() != languagesText {
		t.Error("languages.txt is not that of the shared texts; go test ./io/charset -run TestLanguages -update makes it")
	}
}

var largeLanguages = []string{"cmn_hans", "cmn_hant", "jpn", "kor"}

// writtenIn maps an encoding to the languages written in it, by the names of the shared texts.
var writtenIn = map[string]string{
	"windows-1252": "afr cat dan deu eng est eus fao fin fra gle glg isl ita nld nno nob por_PT por_BR spa swe pages.da pages.de pages.es pages.fr pages.it pages.nl pages.no pages.nb pages.pt_BR pages.sv pages.fi pages.ca",
	"windows-1251": "rus ukr bul bel srp_cyrl mkd pages.ru pages.uk pages.bg", "koi8-r": "rus bul pages.ru", "koi8-u": "ukr pages.uk", "ibm866": "rus bul bel pages.ru",
	"x-mac-cyrillic": "rus ukr bul pages.ru", "iso-8859-5": "rus bul bel srp_cyrl mkd pages.ru",
	"windows-1250": "ces slk pol hun hrv bos_latn slv ron als pages.cs pages.pl pages.ro", "iso-8859-2": "ces slk pol hun hrv bos_latn slv ron als pages.cs pages.pl",
	"windows-1253": "ell_monotonic pages.el", "iso-8859-7": "ell_monotonic pages.el", "windows-1254": "tur pages.tr", "windows-1255": "heb", "iso-8859-8": "heb",
	"windows-1256": "arb pes_1 urd pages.ar pages.fa", "iso-8859-6": "arb pages.ar", "windows-1257": "lit lav est", "iso-8859-13": "lit lav est", "iso-8859-4": "lit lav est",
	"iso-8859-3": "epo mlt", "iso-8859-15": "fra fin est deu spa", "windows-874": "tha pages.th", "macintosh": "fra deu spa ita por_PT swe isl pages.fr",
	"gb18030": "cmn_hans pages.zh", "big5": "cmn_hant pages.zh_TW", "shift_jis": "jpn pages.ja", "euc-jp": "jpn pages.ja", "euc-kr": "kor pages.ko",
	"utf-16le": "rus deu jpn kor cmn_hans tha eng", "utf-16be": "rus deu jpn kor cmn_hans tha eng",
}

// unreadIn is the same for encodings that are not read.
var unreadIn = map[string]string{
	"ibm437": "fra deu spa ita", "ibm850": "fra deu spa ita dan por_PT isl nob", "ibm852": "ces pol hun slk", "ibm855": "rus bul srp_cyrl", "ibm862": "heb", "ibm1047": "eng deu fra",
}

// simple replaces punctuation that old encodings lack.
var simple = strings.NewReplacer("\u2018", "'", "\u2019", "'", "\u201c", "\"", "\u201d", "\"", "\u2014", "-", "\u2013", "-", "«", "\"", "»", "\"", "ș", "ş", "ț", "ţ", "…", "...")

// TestDetect takes shared texts that languages.txt was not trained on, in 30 encodings, in languages that it knows and
// others. Detection must not misread any, and must recognize three in four of those that have at least 400 bytes and
// are in a known language.
func TestDetect(t *testing.T) {
	type tally struct{ told, all int }
	tallies, texts := map[int]*tally{}, 0
	sharedTexts(t, func(from, text string) {
		name := strings.TrimSuffix(path.Base(from), ".txt")
		if !utf8.ValidString(text) || len(text) < 200 {
			return
		}
		if strings.HasPrefix(name, "pages.") {
			text = text[strings.Index(text[len(text)*2/3:], "\n")+len(text)*2/3+1:]
		} else {
			_, text = train(text)
		}
		for encoding, list := range mergedIn() {
			usual := slices.Contains(strings.Fields(list), name)
			unknown := !slices.Contains(learned, name) && !strings.HasPrefix(name, "pages") &&
				slices.Contains([]string{"windows-1252", "windows-1250", "windows-1251", "windows-1256", "windows-1257"}, encoding)
			if !usual && !unknown {
				continue
			}
			for _, size := range nightly.Or([]int{120, 400, 1500, 6000}, []int{120, 1500}) {
				rest := text
				for i := 0; i < nightly.Or(6, 2) && len(rest) > size/2; i++ {
					part := strings.ToValidUTF8(rest[:min(len(rest), size)], "")
					rest = rest[len(part):]
					if i%2 == 0 {
						part = simple.Replace(part)
					}
					coded, ok := codedIn(encoding, part)
					if !ok {
						continue
					}
					texts++
					found := Detect([]byte(coded))
					told := found.Percent >= Sure && unnamed[found.Name] == nil
					if told && string(encodingNamed(found.Name).AppendDecoded(nil, []byte(coded))) != part {
						t.Errorf("%s in %s, %d bytes: taken for %+v %.150q", name, encoding, size, found, part)
					}
					if usual && unreadIn[encoding] == "" {
						if tallies[size] == nil {
							tallies[size] = &tally{}
						}
						tallies[size].all++
						if told {
							tallies[size].told++
						}
					}
				}
			}
		}
	})
	for size, n := range tallies {
		t.Logf("of %d texts of %d bytes %d are told", n.all, size, n.told)
		if size > 120 && n.told*4 < n.all*3 {
			t.Errorf("of %d texts of %d bytes %d are told", n.all, size, n.told)
		}
	}
	t.Logf("%d texts", texts)
}

func mergedIn() map[string]string {
	all := maps.Clone(writtenIn)
	maps.Copy(all, unreadIn)
	return all
}

// codedIn returns a text in an encoding. ok is false if the encoding lacks some of its characters, or the text is
// ASCII.
func codedIn(name, text string) (coded string, ok bool) {
	var e encoding.Encoding = charmap.CodePage1047
	if table := unnamed[name]; table != nil {
		e = table
	} else if name != "ibm1047" {
		var err error
		if e, err = htmlindex.Get(name); err != nil {
			return "", false
		}
	}
	coded, err := e.NewEncoder().String(text)
	return coded, err == nil && (!utf8.ValidString(coded) || strings.HasPrefix(name, "utf-16"))
}

// TestNotDetected checks that text which says nothing about its encoding is given none, or only an uncertain one.
func TestNotDetected(t *testing.T) {
	latin, _ := codedIn("windows-1252", "déjà vu")
	wide, _ := codedIn("utf-16le", "text")
	for name, text := range map[string]string{
		"nothing": "", "ASCII": "only ASCII", "a byte": "\xFF", "a word": latin, "damaged UTF-8": russian + "\xD0" + russian, "binary": "\x00\x01\x02\xFF\xFE", "NUL": "text\x00and\x00text",
		"odd": wide[1:] + "\x00\xFF\xFF", "controls": "\x01\x02" + strings.Repeat(latin+" ", 20),
	} {
		if found := Detect([]byte(text)); found.Percent >= Sure {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestDamagedIsNotDetected checks that UTF-8 with a few bad bytes is not taken for another encoding.
func TestDamagedIsNotDetected(t *testing.T) {
	sharedTexts(t, func(name, text string) {
		part := text[:min(len(text), 3000)]
		if found := Detect([]byte(part[:len(part)/2] + "\xFF" + part[len(part)/2:])); found.Percent >= Sure && !isASCII(part) {
			t.Errorf("%s: %+v", name, found)
		}
	})
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// TestAllIsLookedAt checks that the one place that tells two encodings apart is found even after much text that does
// not.
func TestAllIsLookedAt(t *testing.T) {
	text := ""
	for i := range 400 {
		text += fmt.Sprintf("Ráno %d bílý kůň pije vodu a člověk říká, jak den je dobrý, přítel mluví a děvčata hrají.\n", i)
	}
	for _, name := range []string{"windows-1250", "iso-8859-2"} {
		for _, end := range []string{"Širý les.\n", "Žádný strach, ťuknul.\n"} {
			coded, ok := codedIn(name, text+end)
			if !ok {
				t.Fatal(name)
			}
			if found := Detect([]byte(coded)); found.Name != name {
				t.Errorf("%s: %+v", name, found)
			}
		}
	}
}

// TestPercent checks that each further bit of evidence halves the doubt, and that nothing is ever certain.
func TestPercent(t *testing.T) {
	last := -1
	for margin := range 100 * doubtBits {
		got := percentOf(margin)
		if want := 100 - 100/math.Exp2(float64(margin)/doubtBits); got < last || got > 99 || math.Abs(float64(min(got, 98))-min(want, 98)) > 7 {
			t.Fatalf("%d sixteenths: %d %%, want %.1f", margin, got, want)
		}
		last = got
	}
}
