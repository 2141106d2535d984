package manual

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// first returns the words that a command line may begin with.
func first(app *kong.Application) (words []string) {
	for _, c := range commands(app) {
		word, _, _ := strings.Cut(c.path, " ")
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// second returns the words that may follow a word which is no command by itself.
func second(app *kong.Application) map[string][]string {
	words := map[string][]string{}
	for _, c := range commands(app) {
		if above, word, ok := strings.Cut(c.path, " "); ok {
			words[above] = append(words[above], word)
		}
	}
	return words
}

func bash(app *kong.Application) string {
	var b strings.Builder
	name, usual := app.Name, ""
	fmt.Fprintf(&b, `# Completion of %[1]s for bash: source <(%[1]s completion bash)
_%[1]s() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= flags= i
  if [[ $cur == = ]]; then # bash has the = of --flag=value as a word
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${command:+$command }${COMP_WORDS[i]} in
`, name)
	var paths []string
	for _, word := range first(app) {
		paths = append(paths, word)
		for _, under := range second(app)[word] {
			paths = append(paths, word+" "+under)
		}
	}
	fmt.Fprintf(&b, "    %s) command=${command:+$command }${COMP_WORDS[i]} ;;\n    esac\n  done\n",
		"'"+strings.Join(paths, "' | '")+"'")
	b.WriteString("  case $command in\n")
	for _, word := range first(app) {
		under := second(app)[word]
		if under == nil {
			continue
		}
		fmt.Fprintf(&b, "  %s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", word, strings.Join(under, " "))
	}
	for _, c := range commands(app) {
		if c.usual {
			usual = c.path
		}
	}
	fmt.Fprintf(&b, "  esac\n  case ${command:-%s} in\n", usual)
	for _, c := range commands(app) {
		var all []string
		fmt.Fprintf(&b, "  '%s')\n    case $prev in\n", c.path)
		for _, flag := range slices.Concat(app.Flags, c.own()) {
			if flag.Hidden {
				continue
			}
			all = append(all, names(flag)...)
			if takesValue(flag) {
				if listed := values(flag.Value); listed != nil {
					fmt.Fprintf(&b, "    %s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n",
						strings.Join(names(flag), " | "), strings.Join(listed, " "))
				} else {
					fmt.Fprintf(&b, "    %s) return ;;\n", strings.Join(names(flag), " | "))
				}
			}
		}
		fmt.Fprintf(&b, "    esac\n    flags='%s'", strings.Join(all, " "))
		for _, arg := range c.Positional {
			if listed := values(arg); listed != nil {
				fmt.Fprintf(&b, "\n    if [[ $cur != -* ]]; then COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return; fi",
					strings.Join(listed, " "))
			}
		}
		b.WriteString(" ;;\n")
	}
	fmt.Fprintf(&b, `  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -z $command ]]; then
    COMPREPLY=($(compgen -W '%[2]s' -- "$cur") $(compgen -f -- "$cur"))
  fi
}
complete -o bashdefault -o default -F _%[1]s %[1]s
`, name, strings.Join(first(app), " "))
	return b.String()
}

func zsh(app *kong.Application) string {
	var b strings.Builder
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	// Brackets and colons part a specification.
	escape := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace
	fmt.Fprintf(&b, "#compdef %[1]s\n# Completion of %[1]s for zsh: source <(%[1]s completion zsh)\n_%[1]s() {\n  local "+
		"command=$words[2]\n  local -a commands=(\n", app.Name)
	for _, word := range first(app) {
		fmt.Fprintf(&b, "    %s\n", quote(word+":"+brief(helpOf(app, word))))
	}
	b.WriteString("  )\n  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n    _describe command commands\n    " +
		"_files\n    return\n  fi\n")
	for _, word := range first(app) {
		under := second(app)[word]
		if under == nil {
			continue
		}
		fmt.Fprintf(&b, "  if [[ $command == %s ]]; then\n    if (( CURRENT == 3 )); then compadd %s; return; fi\n    "+
			"command+=\" $words[3]\"; shift words; (( CURRENT-- ))\n  fi\n", word, strings.Join(under, " "))
	}
	b.WriteString("  case $command in\n")
	var usual command
	for _, c := range commands(app) {
		if c.usual {
			usual = c
		}
		fmt.Fprintf(&b, "  %s) shift words; (( CURRENT-- )) ;;\n", quote(c.path))
	}
	fmt.Fprintf(&b, "  *) command=%s ;;\n  esac\n  case $command in\n", usual.path)
	for _, c := range commands(app) {
		fmt.Fprintf(&b, "  %s)\n    _arguments -s", quote(c.path))
		action := func(v *kong.Value) string {
			if listed := values(v); listed != nil {
				return "(" + strings.Join(listed, " ") + ")"
			}
			return "_files"
		}
		for _, flag := range slices.Concat(app.Flags, c.own()) {
			if flag.Hidden {
				continue
			}
			for _, name := range names(flag) {
				spec := "*" + name
				if takesValue(flag) && strings.HasPrefix(name, "--") {
					spec += "="
				}
				spec += "[" + escape(brief(flag.Help)) + "]"
				if takesValue(flag) {
					spec += ":" + escape(flag.Name) + ":" + action(flag.Value)
				}
				fmt.Fprintf(&b, " \\\n      %s", quote(spec))
			}
		}
		if len(c.Positional) > 0 {
			fmt.Fprintf(&b, " \\\n      %s", quote("*:"+escape(c.Positional[0].Name)+":"+action(c.Positional[0])))
		}
		b.WriteString(" ;;\n")
	}
	fmt.Fprintf(&b, "  esac\n}\ncompdef _%[1]s %[1]s\n", app.Name)
	return b.String()
}

// helpOf is the help of the command of a word, or of the group of commands.
func helpOf(app *kong.Application, word string) string {
	for _, node := range app.Children {
		if node.Name == word {
			return node.Help
		}
	}
	return ""
}

func fish(app *kong.Application) string {
	var b strings.Builder
	quote := func(s string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
	}
	words := strings.Join(first(app), " ")
	fmt.Fprintf(&b, "# Completion of %[1]s for fish: %[1]s completion fish | source\n", app.Name)
	for _, word := range first(app) {
		fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -a %s -d %s\n", app.Name, word,
			quote(brief(helpOf(app, word))))
	}
	line := func(condition string, flag *kong.Flag) {
		if flag.Hidden {
			return
		}
		for _, name := range names(flag) {
			kind := "-l " + strings.TrimPrefix(name, "--")
			if !strings.HasPrefix(name, "--") {
				kind = "-s " + name[1:]
			}
			fmt.Fprintf(&b, "complete -c %s%s %s", app.Name, condition, kind)
			if listed := values(flag.Value); takesValue(flag) && listed != nil {
				fmt.Fprintf(&b, " -x -a %s", quote(strings.Join(listed, " ")))
			} else if takesValue(flag) {
				b.WriteString(" -r")
			}
			fmt.Fprintf(&b, " -d %s\n", quote(brief(flag.Help)))
		}
	}
	for _, flag := range app.Flags {
		line("", flag)
	}
	for _, c := range commands(app) {
		path := "__fish_seen_subcommand_from " + c.path
		if above, word, ok := strings.Cut(c.path, " "); ok {
			fmt.Fprintf(&b, "complete -c %s -n %s -a %s -d %s\n", app.Name, quote("__fish_seen_subcommand_from "+above),
				word, quote(brief(c.Help)))
			path = "__fish_seen_subcommand_from " + word
		}
		if c.usual {
			path += "; or not __fish_seen_subcommand_from " + words
		}
		for _, flag := range c.own() {
			line(" -n "+quote(path), flag)
		}
		for _, arg := range c.Positional {
			if listed := values(arg); listed != nil {
				fmt.Fprintf(&b, "complete -c %s -n %s -f -a %s\n", app.Name, quote(path), quote(strings.Join(listed, " ")))
			}
		}
	}
	return b.String()
}
