package manual

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// CompleteWord begins the command line by which a shell asks for completions.
const CompleteWord = "__complete"

// Completions are scripts, by shell, that ask the program for completions.
var Completions = map[string]string{"bash": bash, "zsh": zsh, "fish": fish}

var (
	//go:embed completion.bash
	bash string
	//go:embed completion.zsh
	zsh string
	//go:embed completion.fish
	fish string
)

// Complete returns the completions of the last of words, which are a command line after the program's name. Each line
// is a completion, a tab and its meaning. Without completions, the word is a file name, or anything.
func Complete(app *kong.Application, words []string) (lines []string) {
	words = slices.Clone(words)
	if len(words) == 0 || words[len(words)-1] == "=" {
		words = append(words, "")
	}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "=" }) // bash splits words at =
	last := words[len(words)-1]
	add := func(help string, ways ...string) {
		for _, way := range ways {
			if strings.HasPrefix(way, last) {
				lines = append(lines, way+"\t"+brief(help))
			}
		}
	}
	node := app.Node
	for _, word := range words[:len(words)-1] {
		if i := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == word && !c.Hidden }); i >= 0 {
			node = node.Children[i]
		}
	}
	if !strings.HasPrefix(last, "-") {
		for _, child := range node.Children {
			if !child.Hidden {
				add(child.Help, child.Name)
			}
		}
	}
	if node == app.Node && app.DefaultCmd != nil {
		node = app.DefaultCmd
	}
	name, value, assigned := strings.Cut(last, "=")
	for _, flag := range slices.Concat(app.Flags, command{Node: node}.own()) {
		switch {
		case flag.Hidden:
		case takesValue(flag) && assigned && name == "--"+flag.Name:
			for _, value := range offered(flag, value) {
				add("", name+"="+value)
			}
		case takesValue(flag) && len(words) > 1 && slices.Contains(names(flag), words[len(words)-2]):
			lines = nil
			add("", offered(flag, last)...)
			return lines
		case strings.HasPrefix(last, "-"):
			add(flag.Help, names(flag)...)
		}
	}
	if !strings.HasPrefix(last, "-") {
		for _, arg := range node.Positional {
			add("", values(arg)...)
		}
	}
	return lines
}

// offered returns the values of a flag that complete a word: for a list, those that follow the values in the word.
func offered(flag *kong.Flag, word string) (all []string) {
	given := ""
	if flag.IsSlice() && flag.Tag.Sep == ',' {
		given = word[:strings.LastIndexByte(word, ',')+1]
	}
	for _, value := range values(flag.Value) {
		if !slices.Contains(strings.Split(given, ","), value) {
			all = append(all, given+value)
		}
	}
	return all
}
