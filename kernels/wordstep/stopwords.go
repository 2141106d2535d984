package wordstep

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed lists/*.txt
var lists embed.FS

// StopWords returns the words of a language, given its ISO 639-1 code, that are frequent in prose and rare in lists,
// menus and headings, in lower case. lists/README.md has the sources.
func StopWords(language string) ([]string, error) {
	list, err := lists.ReadFile("lists/" + language + ".txt")
	if err != nil {
		return nil, fmt.Errorf("no stop words for language %q; use %s", language, or(languages()))
	}
	return strings.Fields(string(list)), nil
}

// or joins words: "a, b or c".
func or(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// languages returns the codes of the languages that have lists.
func languages() (codes []string) {
	files, _ := lists.ReadDir("lists") // embedded, so it exists
	for _, file := range files {
		codes = append(codes, strings.TrimSuffix(file.Name(), ".txt"))
	}
	return codes
}
