package manual

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// roff escapes a text, so that man shows it as it is.
var roff = strings.NewReplacer(`\`, `\e`, "-", `\-`)

// page is a man page.
type page struct{ strings.Builder }

// text writes lines of text, and prevents them from being read as requests.
func (p *page) text(s string) {
	for line := range strings.SplitSeq(s, "\n") {
		line = roff.Replace(strings.TrimSpace(line))
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		if line != "" {
			fmt.Fprintf(p, "%s\n", line)
		}
	}
}

func (p *page) flags(flags []*kong.Flag) {
	for _, flag := range flags {
		if flag.Hidden {
			continue
		}
		named := flag.String()
		if flag.Tag.Negatable != "" {
			named += ", --no-" + flag.Name
		}
		fmt.Fprintf(p, ".TP\n.B %s\n", strings.ReplaceAll(roff.Replace(named), `"`, `\(dq`))
		p.text(flag.Help)
	}
}

// Man returns the man page, section 1, of a version of the program.
func Man(app *kong.Application, version string) string {
	p := &page{}
	fmt.Fprintf(p, ".TH %s 1 \"\" \"%s\" \"User Commands\"\n.SH NAME\n", strings.ToUpper(app.Name),
		roff.Replace(app.Name+" "+version))
	title, rest, _ := strings.Cut(app.Help, "\n\n")
	what, more, _ := strings.Cut(title, ":")
	p.text(app.Name + " - " + strings.ToLower(what[:1]) + what[1:])
	p.WriteString(".SH SYNOPSIS\n")
	for i, c := range commands(app) {
		if i > 0 {
			p.WriteString(".br\n")
		}
		arguments := ""
		for _, arg := range c.Positional {
			arguments += " " + arg.Summary()
		}
		fmt.Fprintf(p, ".B %s\n[flags]%s\n", roff.Replace(app.Name+" "+c.path), roff.Replace(arguments))
	}
	p.WriteString(".SH DESCRIPTION\n")
	p.text(strings.TrimSpace(what + ":" + more))
	for paragraph := range strings.SplitSeq(rest, "\n\n") {
		p.WriteString(".PP\n")
		p.text(paragraph)
	}
	p.WriteString(".SH FLAGS OF ALL COMMANDS\n")
	p.flags(app.Flags)
	for _, c := range commands(app) {
		fmt.Fprintf(p, ".SH %s\n", roff.Replace(strings.ToUpper(app.Name+" "+c.path)))
		p.text(c.Help)
		for _, arg := range c.Positional {
			fmt.Fprintf(p, ".TP\n.I %s\n", roff.Replace(arg.Summary()))
			p.text(arg.Help)
		}
		p.flags(c.own())
		if c.Detail != "" {
			p.WriteString(".PP\n")
			heading, lines, _ := strings.Cut(c.Detail, "\n")
			p.text(heading)
			p.WriteString(".PP\n.nf\n.RS 4\n")
			p.text(lines)
			p.WriteString(".RE\n.fi\n")
		}
	}
	return p.String()
}
