// Package stopwords has the stop words of some languages: the words that are frequent in any prose
// and rare in lists, menus and headings. lists/README.md says where they come from.
package stopwords

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed lists/*.txt
var lists embed.FS

// Words returns the stop words of a language, by its ISO 639-1 code, in lower case.
func Words(language string) ([]string, error) {
	list, err := lists.ReadFile("lists/" + language + ".txt")
	if err != nil {
		return nil, fmt.Errorf("no stop words of language %q; use one of %s", language, strings.Join(languages(), ", "))
	}
	return strings.Fields(string(list)), nil
}

// languages are the codes of the languages that there are lists of.
func languages() (codes []string) {
	files, _ := lists.ReadDir("lists") // embedded, so it is there
	for _, file := range files {
		codes = append(codes, strings.TrimSuffix(file.Name(), ".txt"))
	}
	return codes
}
