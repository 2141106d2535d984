package charset

import (
	"bytes"
	_ "embed" // for languagesText
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Detected is the encoding detected in a text.
type Detected struct {
	// Name is the most likely encoding, or "" if no encoding makes it a plausible text. Named may not know it.
	Name string
	// Percent is the certainty of Name.
	Percent int
}

// Sure is the percentage from which a file is read as detected: none of the 5,400 texts of TestDetect is misread.
const Sure = 90

// candidates are the encodings to choose from. If several decode a sample to the same text, the first is named.
var candidates = []string{"windows-1252", "windows-1251", "windows-1250", "koi8-r", "koi8-u", "ibm866", "iso-8859-2",
	"iso-8859-5", "x-mac-cyrillic", "windows-1253", "iso-8859-7", "windows-1254", "windows-1255", "iso-8859-8",
	"windows-1256", "iso-8859-6", "windows-1257", "iso-8859-13", "iso-8859-4", "iso-8859-15", "iso-8859-3",
	"iso-8859-10", "iso-8859-14", "windows-874", "macintosh", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr",
	"ibm437", "ibm850", "ibm852", "ibm855", "ibm862"}

// unnamed are the candidates that Named does not know. Without them, a text in one would be taken for another encoding.
var unnamed = map[string]*charmap.Charmap{"ibm437": charmap.CodePage437, "ibm850": charmap.CodePage850,
	"ibm852": charmap.CodePage852, "ibm855": charmap.CodePage855, "ibm862": charmap.CodePage862}

// sampleLines is how many bytes of lines are compared.
const sampleLines = 4 << 10

// Detect returns the encoding of a text that is not UTF-8, or has NUL. It decodes the text with each candidate and
// computes how many bits each language needs to write the result, based on its common pairs of letters. It names the
// candidate with the fewest bits. The certainty depends on how many more bits the next candidate needs.
func Detect(text []byte) Detected {
	if bytes.IndexByte(text, 0) >= 0 {
		return best(text, text[:min(len(text), sampleLines)/2*2], []string{littleEndian, bigEndian})
	}
	if damaged(text) {
		return Detected{}
	}
	return best(text, beyondASCII(text), candidates)
}

func encodingNamed(name string) *Encoding {
	if table := unnamed[name]; table != nil {
		return &Encoding{Name: name, table: table}
	}
	e, err := Named(name)
	if err != nil {
		return nil
	}
	return e
}

// bit is one bit in sixteenths: integers give the same results on every machine.
const bit = 16

const (
	// mostBits is the maximum average for a pair or character beyond ASCII in a text of the language.
	mostBits = 11 * bit
	// leastSample is the minimum number of bytes that allow a judgement.
	leastSample = 16
	// doubtBits is how many more bits of the next candidate halve the doubt: the pairs of a word are not independent.
	doubtBits = 3*bit + bit/2
)

// percentOf returns the certainty of an encoding if the next one needs this many more bits.
func percentOf(margin int) int {
	halves, rest := margin/doubtBits, margin%doubtBits
	const whole = 100 << 16
	doubt := whole >> min(halves, 32)
	doubt -= doubt * rest / (2 * doubtBits)
	return min(100-(doubt+1<<16-1)>>16, 99)
}

// best returns which of the encodings a text is in, judging by a sample of it.
func best(text, sample []byte, names []string) (found Detected) {
	if len(sample) == 0 {
		return Detected{}
	}
	known := map[string]bool{}
	first, second := reading{bits: math.MaxInt}, math.MaxInt
	for _, name := range names {
		e := encodingNamed(name)
		read := e.AppendDecoded(nil, sample)
		if !plausible(read) || known[string(read)] {
			continue
		}
		known[string(read)] = true
		r := readingOf(read)
		if r.bits >= first.bits {
			second = min(second, r.bits)
			continue
		}
		first, second, found.Name = r, first.bits, name
	}
	if found.Name == "" || len(sample) < leastSample || first.beyond > mostBits*first.units ||
		!plausible(encodingNamed(found.Name).AppendDecoded(nil, text)) {
		return found
	}
	found.Percent = percentOf(second - first.bits)
	return found
}

// beyondASCII returns the parts of a text that have bytes beyond ASCII: each such line once and, beyond the size of a
// sample, only words with a byte that no earlier part has, since it may be the one that distinguishes two encodings.
func beyondASCII(text []byte) (sample []byte) {
	lines := map[string]bool{}
	var seen [1 << 8]bool
	for line := range bytes.Lines(text) {
		i := slices.IndexFunc(line, isBeyondASCII)
		if i < 0 || lines[string(line)] {
			continue
		}
		if whole := line; len(sample) < sampleLines {
			if len(line) > sampleLines {
				line = line[max(0, i-guessedBefore):]
			}
			line = line[:min(len(line), sampleLines)]
			for _, b := range line {
				seen[b] = true
			}
			sample = append(sample, line...)
			lines[string(line)] = true
			line = whole[len(whole)-cap(whole)+cap(line):] // the rest of the line
		}
		for word := range bytes.FieldsSeq(line) {
			isNew := slices.ContainsFunc(word, func(b byte) bool { return isBeyondASCII(b) && !seen[b] })
			if !isNew || len(word) > longestWord {
				continue
			}
			for _, b := range word {
				seen[b] = true
			}
			sample = append(append(sample, word...), '\n')
		}
	}
	return sample
}

func isBeyondASCII(b byte) bool { return b >= utf8.RuneSelf }

// guessedBefore is how much of a long line before its first byte beyond ASCII is examined. longestWord exceeds the
// words of scripts with spaces.
const (
	guessedBefore = 64
	longestWord   = 64
)

// Bits for what no list has: a pair of letters, a character of a script of thousands, a sign within a word, and a
// capital within a word.
const (
	rarePair      = 14 * bit
	rareCharacter = 15 * bit
	oddBits       = 7 * bit
	signBits      = 12 * bit
)

// Letters that stand in pairs for a word's beginning or end, and for a character of a script of thousands.
const (
	edge    = '_'
	foreign = '?'
)

// pair is a pair of letters, or a character of a script of thousands and 0.
type pair [2]rune

// model holds the bits that pairs, or characters, take in each of several languages.
type model struct {
	languages int
	rare      uint8 // bits of pairs that a language does not list
	bits      map[pair][]uint8
	alien     map[rune][]uint8 // per language, 1 if it lists no pair with the letter
}

//go:embed languages.txt
var languagesText string

// models are made from languages.txt, which lists each language's common pairs of letters, or its characters, the most
// common first.
var models = sync.OnceValues(func() (letters, characters *model) {
	letters, characters = newModel(rarePair), newModel(rareCharacter)
	for line := range strings.Lines(languagesText) {
		_, list, _ := strings.Cut(line, "\t")
		units := strings.Fields(list)
		if utf8.RuneCountInString(units[0]) == 1 {
			characters.add(units)
		} else {
			letters.add(units)
		}
	}
	letters.fill()
	characters.fill()
	return letters, characters
})

func newModel(rare uint8) *model {
	return &model{rare: rare, bits: map[pair][]uint8{}, alien: map[rune][]uint8{}}
}

// add adds a language.
func (m *model) add(units []string) {
	for rank, unit := range units {
		p := pair{}
		copy(p[:], []rune(unit))
		m.bits[p] = append(m.padded(p), bitsOf(rank))
	}
	m.languages++
}

// fill sets the bits of pairs in the languages that do not list them.
func (m *model) fill() {
	for p := range m.bits {
		row := m.padded(p)
		m.bits[p] = row
		for _, letter := range p {
			if m.alien[letter] == nil {
				m.alien[letter] = bytes.Repeat([]byte{1}, m.languages)
			}
			for i, bits := range row {
				if bits != m.rare {
					m.alien[letter][i] = 0
				}
			}
		}
	}
}

// padded returns the bits of a pair in all languages so far.
func (m *model) padded(p pair) []uint8 {
	row := m.bits[p]
	for len(row) < m.languages {
		row = append(row, m.rare)
	}
	return row
}

// bitsOf returns about how many bits a pair takes by Zipf's law if this many are more common.
func bitsOf(rank int) uint8 {
	n := rank + 2
	log := bits.Len(uint(n)) - 1
	return uint8(2*bit + log*bit + (n-1<<log)*bit>>log)
}

// punctuation is the punctuation of texts beyond ASCII.
const punctuation = "\u00a0\u00ad\u3000«»“”„‚‘’‹›–—…¿¡°№、。，：；！？（）「」『』《》〈〉ー・～"

// within is the punctuation that also occurs within words.
const within = "’\u00ad–—‑"

// reading is how a text reads in the language that suits it best.
type reading struct {
	bits   int // for words with characters beyond ASCII, each counted once
	beyond int // for pairs and characters beyond ASCII alone
	units  int // number of these
}

// readingOf returns the reading of a text.
func readingOf(text []byte) reading {
	var pairs, characters []pair
	known := map[string]bool{}
	odd, signs := 0, 0
	for _, word := range bytes.FieldsFunc(text,
		func(r rune) bool { return r < utf8.RuneSelf && !unicode.IsLetter(r) }) {
		if known[string(word)] || !slices.ContainsFunc(word, isBeyondASCII) {
			continue
		}
		known[string(word)] = true
		before := rune(edge)
		letters := []rune(string(word))
		for i, r := range letters {
			next := unicode.ToLower(r)
			ends := before == edge || i+1 == len(letters) || !unicode.IsLetter(letters[i+1])
			switch {
			case strings.ContainsRune(within, r), strings.ContainsRune(punctuation, r) && ends:
				next = edge
				signs++
			case isLarge(r):
				characters = append(characters, pair{r, 0})
				next = foreign
			case unicode.IsUpper(r) && unicode.IsLower(before), !unicode.IsLetter(r) && !unicode.IsMark(r):
				odd++
			}
			if next != before || next != edge && next != foreign {
				pairs = append(pairs, pair{unicode.ToLower(before), next})
			}
			if before = r; next == edge || next == foreign {
				before = next
			}
		}
		pairs = append(pairs, pair{unicode.ToLower(before), edge})
	}
	pairs = slices.DeleteFunc(pairs, func(p pair) bool {
		return p == pair{edge, foreign} || p == pair{foreign, edge} || p == pair{edge, edge}
	})
	letterModel, characterModel := models()
	r, of := letterModel.least(pairs), characterModel.least(characters)
	return reading{r.bits + of.bits + oddBits*odd + signBits*signs, r.beyond + of.beyond, r.units + of.units}
}

// A language is the text's if at least ownUnits pairs beyond ASCII of its own letters take at most ownBits on average.
// Pairs with other letters then take alienBits more.
const (
	ownUnits  = 16
	ownBits   = 9 * bit
	alienBits = 6 * bit
)

// least returns the reading of pairs in the language that needs the fewest bits for them.
func (m *model) least(pairs []pair) (least reading) {
	type sum struct{ ascii, beyond, aliens int }
	sums := make([]sum, m.languages)
	for _, p := range pairs {
		row, listed := m.bits[p]
		isBeyond := p[0] >= utf8.RuneSelf || p[1] >= utf8.RuneSelf
		if isBeyond {
			least.units++
		}
		for i := range sums {
			bits := int(m.rare)
			if listed {
				bits = int(row[i])
			}
			if !isBeyond {
				sums[i].ascii += bits
				continue
			}
			sums[i].beyond += bits
			if bits == int(m.rare) && (m.isAlien(p[0], i) || m.isAlien(p[1], i)) {
				sums[i].aliens++
			}
		}
	}
	least.bits = math.MaxInt
	for _, s := range sums {
		own := least.units - s.aliens
		bits := s.ascii + s.beyond
		if own >= ownUnits && s.beyond-s.aliens*int(m.rare) <= ownBits*own {
			bits += alienBits * s.aliens
		}
		if bits < least.bits {
			least.bits, least.beyond = bits, s.beyond
		}
	}
	return least
}

// isAlien reports whether a letter is beyond ASCII and in no pair that a language lists.
func (m *model) isAlien(letter rune, language int) bool {
	if letter < utf8.RuneSelf {
		return false
	}
	row := m.alien[letter]
	return row == nil || row[language] == 1
}

// isLarge reports whether a character belongs to a script of thousands.
func isLarge(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana)
}
