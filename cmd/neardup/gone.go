package main

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// goneFlags are flags of earlier versions, each with what to do instead. They are refused on the command line, in the
// environment and in job files.
type goneFlags struct {
	S3Region goneFlag `name:"s3-region" hidden:"" group:"Stores" instead:"set AWS_REGION in the environment"`
}

// goneFlag is one of them.
type goneFlag struct{}

// Decode refuses the flag.
func (goneFlag) Decode(ctx *kong.DecodeContext) error {
	return fmt.Errorf("there is no such flag any more; %s", ctx.Value.Tag.Get("instead"))
}
