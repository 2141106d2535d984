package charset

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// The first article of the Universal Declaration of Human Rights.
const (
	russian      = `Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства.`
	ukrainian    = `Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю і повинні діяти у відношенні один до одного в дусі братерства.`
	bulgarian    = `Всички хора се раждат свободни и равни по достойнство и права. Те са надарени с разум и съвест и следва да се отнасят помежду си в дух на братство.`
	french       = `Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.`
	german       = `Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen.`
	spanish      = `Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.`
	swedish      = `Alla människor äro födda fria och lika i värde och rättigheter. De äro utrustade med förnuft och samvete och böra handla gentemot varandra i en anda av broderskap.`
	polish       = `Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.`
	czech        = `Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím a mají spolu jednat v duchu bratrství.`
	hungarian    = `Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel és lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy viseltessenek.`
	greek        = `'Ολοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης.`
	turkish      = `Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler.`
	hebrew       = `כל בני אדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחוה.`
	arabic       = `يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا وعليهم أن يعامل بعضهم بعضًا بروح الإخاء.`
	japaneseText = `すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。`
	chinese      = `人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。`
	taiwanese    = `人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心，並應以兄弟關係的精神相對待。`
	koreanText   = `모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다.`
)

// TestGuess guesses the encoding of a text: as it is, as a JSON record among ASCII, and as a short excerpt.
func TestGuess(t *testing.T) {
	for _, c := range []struct {
		text     string
		encoding encoding.Encoding
		want     string // any one of these
	}{
		{russian, charmap.Windows1251, "windows-1251"},
		{russian, charmap.KOI8R, "KOI8-R"},
		{russian, charmap.ISO8859_5, "ISO-8859-5"},
		{ukrainian, charmap.Windows1251, "windows-1251"},
		{bulgarian, charmap.Windows1251, "windows-1251"},
		{french, charmap.Windows1252, "windows-1252"},
		{french, charmap.ISO8859_1, "windows-1252"},
		{german, charmap.Windows1252, "windows-1252"},
		{spanish, charmap.ISO8859_1, "windows-1252"},
		{swedish, charmap.ISO8859_1, "windows-1252"},
		{polish, charmap.Windows1250, "windows-1250"},
		{polish, charmap.ISO8859_2, "ISO-8859-2"},
		{czech, charmap.Windows1250, "windows-1250"},
		{hungarian, charmap.ISO8859_2, "ISO-8859-2"},
		{greek, charmap.Windows1253, "windows-1253 ISO-8859-7"},
		{turkish, charmap.Windows1254, "windows-1254 ISO-8859-9"},
		{hebrew, charmap.Windows1255, "windows-1255 ISO-8859-8"},
		{arabic, charmap.Windows1256, "windows-1256"},
		{japaneseText, japanese.ShiftJIS, "Shift_JIS"},
		{japaneseText, japanese.EUCJP, "EUC-JP"},
		{chinese, simplifiedchinese.GBK, "GB18030"},
		{chinese, simplifiedchinese.GB18030, "GB18030"},
		{taiwanese, traditionalchinese.Big5, "Big5"},
		{koreanText, korean.EUCKR, "EUC-KR"},
		{"café et thé à la carte", charmap.Windows1252, "windows-1252"}, // no less than ISO-8859-2
	} {
		text := encode(t, c.text, c.encoding)
		record := encode(t, `{"id": 1001, "url": "https://example.org/", "text": "`+c.text+`"}`+"\n", c.encoding)
		for _, text := range [][]byte{text, record, bytes.Repeat(text, 1000)} {
			if got := Guess(text); got == "" || !strings.Contains(" "+c.want+" ", " "+got+" ") {
				t.Errorf("%.60q is %q, want %s", text, got, c.want)
			}
		}
	}
}

// TestUTF16 checks that a byte order mark decides by itself, and that without one the byte order is recognized from
// each single line of a file.
func TestUTF16(t *testing.T) {
	for _, text := range []string{russian, french, "id,text\r\n", `{"id": 1001, "text": "` + greek + `"}`} {
		for name, order := range map[string]unicode.Endianness{"UTF-16LE": unicode.LittleEndian, "UTF-16BE": unicode.BigEndian} {
			if got := UTF16(encode(t, text, unicode.UTF16(order, unicode.UseBOM)), 0); got != "UTF-16" {
				t.Errorf("%.20q with a mark, %s: %q", text, name, got)
			}
			file := encode(t, strings.Repeat(text+"\n", 3), unicode.UTF16(order, unicode.IgnoreBOM))
			at := int64(0)
			for line := range bytes.SplitAfterSeq(file, []byte("\n")) {
				if got := UTF16(line, at); got != name && len(line) > 2 {
					t.Errorf("%.20q at %d, %s: %q", line, at, name, got)
				}
				at += int64(len(line))
			}
		}
	}
	for text, want := range map[string]string{
		"": "", "text": "", russian: "", "t\x00\x00x\x00\x00t": "",
		"t\x00e\x00\x01\x00t\x00": "UTF-16", // not text in either byte order
	} {
		if got := UTF16([]byte(text), 0); got != want {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
}

func encode(t *testing.T, text string, e encoding.Encoding) []byte {
	t.Helper()
	encoded, err := e.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// TestNoGuess checks that damaged UTF-8 is not mistaken for another encoding, and that bytes which are not text may
// have no encoding.
func TestNoGuess(t *testing.T) {
	for _, text := range []string{"", "\xFF", russian + "\xD0", strings.Replace(japaneseText, "人", "\xE4\xBA", 1), strings.Repeat("\x00\xFF\x00\x00\x07", 10)} {
		if got := Guess([]byte(text)); got != "" {
			t.Errorf("%.40q is %q, want none", text, got)
		}
	}
}

// TestGuessIsBounded checks that only the first part of a large text is examined.
func TestGuessIsBounded(t *testing.T) {
	text := bytes.Repeat(encode(t, french, charmap.Windows1252), sampleBytes/len(french)+1)
	text = append(text, bytes.Repeat(encode(t, japaneseText, japanese.ShiftJIS), 20*sampleBytes/len(japaneseText))...)
	if got, want := Guess(text), "windows-1252"; got != want {
		t.Errorf("%q, want %s", got, want)
	}
}

// TestDamage checks that text of which a tenth is not valid UTF-8 may be in another encoding.
func TestDamage(t *testing.T) {
	for valid, want := range map[int]string{10: "windows-1252", 11: ""} {
		text := "the caf\xE9 " + strings.Repeat("é à la carte ", valid/2) + strings.Repeat("é ", valid%2)
		if got := Guess([]byte(text)); got != want {
			t.Errorf("%d characters of UTF-8 and one byte that is not: %q, want %q", valid, got, want)
		}
	}
}

// TestControls checks that control characters found in ordinary texts do not count, and that only the first ones of a
// long text are examined.
func TestControls(t *testing.T) {
	for _, c := range []struct {
		text   string
		number int
		few    bool
		side   int // -1: none
	}{
		{"", 0, true, -1},
		{"\t\n\v\f\r\x1B", 0, true, -1},
		{"\x00", 1, true, 0},
		{"\x08\x0E", 2, false, -1},
		{"a\x1Fb\x1F", 2, false, 1},
		{"\x00aaa\x00aaa", 2, false, 0},
		{"\x00aaa\x00aaaa", 2, true, 0},
		{"\x01\x04b\x04b\x04b\x04", 5, false, 1},
		{"\x01\x04b\x04b\x04b", 4, false, -1},
		{strings.Repeat("aaaa\x00", 12) + "aaaa" + strings.Repeat("\x00", 9), 12, true, -1},
		{strings.Repeat("aaa\x00", 16) + strings.Repeat("\x00", 9), 16, false, 1},
	} {
		controls := ControlsOf([]byte(c.text))
		side, ok := controls.Side()
		if !ok {
			side = -1
		}
		if controls.Number() != c.number || controls.Few() != c.few || side != c.side || controls.Bytes != min(len(c.text), 64) {
			t.Errorf("%q: %+v, few %v, side %d; want %+v", c.text, controls, controls.Few(), side, c)
		}
	}
}
