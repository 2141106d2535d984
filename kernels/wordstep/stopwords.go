package wordstep

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed lists/*.txt
var lists embed.FS

// StopWords returns the words of a language, by its ISO 639-1 code, that are frequent in any prose and rare in lists,
// menus and headings, in lower case. lists/README.md says where they come from.
func StopWords(language string) ([]string, error) {
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
