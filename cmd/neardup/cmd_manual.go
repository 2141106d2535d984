package main

import (
	"io"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/manual"
	"github.com/neardup/neardup/pipelines/dedup"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Run prints the completion script of the shell.
func (c *completionCmd) Run(s streams) error {
	_, err := io.WriteString(s.Out, manual.Completions[c.Shell])
	return err
}

type manCmd struct{}

// Run prints the man page.
func (manCmd) Run(app *kong.Application, s streams) error {
	_, err := io.WriteString(s.Out, manual.Man(app, dedup.Version()))
	return err
}
