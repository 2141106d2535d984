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

// Detected is what a text tells of its encoding.
type Detected struct {
	// Name is that of the most likely encoding, "" if none makes a text of it. It may be one that Named does not know.
	Name string
	// Percent is how sure that is.
	Percent int
}

// Sure is the percentage from which on a file is read as detected: none of the 5,400 texts of TestDetect is misread so.
const Sure = 90

// candidates are the encodings that are told apart. Of those that make the same text of a sample the first is named.
var candidates = []string{"windows-1252", "windows-1251", "windows-1250", "koi8-r", "koi8-u", "ibm866", "iso-8859-2",
	"iso-8859-5", "x-mac-cyrillic", "windows-1253", "iso-8859-7", "windows-1254", "windows-1255", "iso-8859-8",
	"windows-1256", "iso-8859-6", "windows-1257", "iso-8859-13", "iso-8859-4", "iso-8859-15", "iso-8859-3",
	"iso-8859-10", "iso-8859-14", "windows-874", "macintosh", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr",
	"ibm437", "ibm850", "ibm852", "ibm855", "ibm862"}

// unnamed are those of the candidates that Named does not know. A text in one would be taken for another.
var unnamed = map[string]*charmap.Charmap{"ibm437": charmap.CodePage437, "ibm850": charmap.CodePage850,
	"ibm852": charmap.CodePage852, "ibm855": charmap.CodePage855, "ibm862": charmap.CodePage862}

// sampleLines is how many bytes of lines are compared.
const sampleLines = 4 << 10

// Detect tells the encoding of a text that is not UTF-8, or has NUL. Each candidate makes a text of it, and each
// language writes that in so many bits, by the pairs of letters that are common in it. The candidate with the fewest
// bits is named. How certain that is follows from how many more the next one takes.
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

// Numbers of bits are in sixteenths, and whole: so they are the same on every machine.
const bit = 16

const (
	// mostBits is what a pair or a character beyond ASCII takes on average at most in a text of the language.
	mostBits = 11 * bit
	// leastSample is fewer bytes than tell anything.
	leastSample = 16
	// doubtBits are so many more bits of the next candidate as halve the doubt: pairs of a word depend on each other.
	doubtBits = 3*bit + bit/2
)

// percentOf is how sure an encoding is, if the next takes so many more bits.
func percentOf(margin int) int {
	halves, rest := margin/doubtBits, margin%doubtBits
	const whole = 100 << 16
	doubt := whole >> min(halves, 32)
	doubt -= doubt * rest / (2 * doubtBits)
	return min(100-(doubt+1<<16-1)>>16, 99)
}

// best returns which of the encodings a text is in, by a sample of it.
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

// beyondASCII returns what of a text has bytes beyond ASCII: lines, each once, and of those that are too many the words
// that have a byte that is in none before, since it may be what tells two encodings apart.
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
			line = whole[len(whole)-cap(whole)+cap(line):] // what is left
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

// guessedBefore is how much before the first byte beyond ASCII is looked at in a long line, and longestWord more than
// the words of scripts that have blanks.
const (
	guessedBefore = 64
	longestWord   = 64
)

// The bits that are taken by what no list has: a pair of letters, a character of a script of thousands, and a sign or a
// capital within a word.
const (
	rarePair      = 14 * bit
	rareCharacter = 15 * bit
	oddBits       = 7 * bit
	signBits      = 12 * bit
)

// The letters of pairs that are none: where a word begins and ends, and a character of a script of thousands.
const (
	edge    = '_'
	foreign = '?'
)

// pair is of letters; or a character of a script of thousands, and 0.
type pair [2]rune

// model has the bits that pairs, or characters, take in each of some languages.
type model struct {
	languages int
	rare      uint8 // of what a language does not list
	bits      map[pair][]uint8
	alien     map[rune][]uint8 // 1 for each language that lists no pair with a letter
}

//go:embed languages.txt
var languagesText string

// models are those of languages.txt, which lists the common pairs of letters of each language, or its characters, the
// most common first.
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

// fill gives pairs their bits in languages that do not list them.
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

// padded has the bits of a pair in all languages so far.
func (m *model) padded(p pair) []uint8 {
	row := m.bits[p]
	for len(row) < m.languages {
		row = append(row, m.rare)
	}
	return row
}

// bitsOf is what a pair takes about, as Zipf's law has it, if so many are more common.
func bitsOf(rank int) uint8 {
	n := rank + 2
	log := bits.Len(uint(n)) - 1
	return uint8(2*bit + log*bit + (n-1<<log)*bit>>log)
}

// punctuation is what texts have beyond ASCII.
const punctuation = "\u00a0\u00ad\u3000«»“”„‚‘’‹›–—…¿¡°№、。，：；！？（）「」『』《》〈〉ー・～"

// within is what of it stands within words, too.
const within = "’\u00ad–—‑"

// reading is how a text reads in the language that suits it best.
type reading struct {
	bits   int // of the words that have characters beyond ASCII, each once
	beyond int // those of pairs and characters beyond ASCII alone
	units  int // how many these are
}

// readingOf reads a text.
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

// A language is the text's if so many pairs beyond ASCII, of its own letters, take so few bits on average. Pairs with
// other letters then take more.
const (
	ownUnits  = 16
	ownBits   = 9 * bit
	alienBits = 6 * bit
)

// least reads pairs in the language that takes the fewest bits for them.
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

// isAlien reports whether a language lists no pair with a letter beyond ASCII.
func (m *model) isAlien(letter rune, language int) bool {
	if letter < utf8.RuneSelf {
		return false
	}
	row := m.alien[letter]
	return row == nil || row[language] == 1
}

// isLarge reports whether a character is of a script of thousands.
func isLarge(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana)
}
