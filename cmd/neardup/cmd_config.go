package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/records"
)

type configCmd struct {
	Init configInitCmd `cmd:"" help:"Write a job file for --config that lists every flag with its default, commented out."`
}

type configInitCmd struct {
	Command string `arg:"" optional:"" default:"dedup" help:"Command that the file is for (default: ${default})."`
	Output  string `short:"o" default:"neardup.toml" placeholder:"FILE" help:"File to write; must be new. - is standard output (default: ${default})." group:"Output"`
}

// Run writes the job file.
func (c *configInitCmd) Run(app *kong.Application, s streams) error {
	var take []string
	for _, command := range app.Leaves(true) {
		if !configfile.Takes(command) {
			continue
		}
		if command.Name == c.Command {
			return c.write(configfile.Template(app, command), s.Out)
		}
		take = append(take, command.Name)
	}
	return withHelp(fmt.Errorf("there is no job file for %s; use %s", c.Command, records.Or(take...)), "config init")
}

func (c *configInitCmd) write(template string, stdout io.Writer) error {
	if c.Output == "-" {
		_, err := io.WriteString(stdout, template)
		return err
	}
	if err := checkNew(c.Output, "--output", "config init"); err != nil {
		return err
	}
	if err := checkFolder("--output", c.Output); err != nil {
		return err
	}
	file, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return unwritten("--output", c.Output, err)
	}
	_, err = io.WriteString(file, template)
	return errors.Join(err, file.Close())
}
