package job

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// references returns the paths of --against, with the corpus in place of a finished output.
func references(ctx context.Context, against []string) (paths []string, err error) {
	for _, path := range against {
		if storage.IsPattern(path) {
			paths = append(paths, path)
			continue
		}
		finished, err := storage.Exists(ctx, storage.Join(path, output.SuccessFile))
		if err != nil || !finished { // listing the path reports what is wrong
			paths = append(paths, path)
			continue
		}
		f, err := output.Open(ctx, path)
		if err != nil { // another program's folder
			paths = append(paths, path)
			continue
		}
		corpus := storage.Join(path, string(output.Corpus))
		there, err := storage.Exists(ctx, corpus)
		switch {
		case err != nil:
			return nil, err
		case !f.Run.Parameters.Wrote(string(output.Corpus)):
			next := "run it again with --write corpus"
			if f.Run.Command() != "dedup" {
				next = "name an output of dedup"
			}
			return nil, Usage("--against %s: the output of %s has no corpus; %s", path, f.Run.Command(), next)
		case there || !storage.IsLocal(corpus): // a store has no empty folders
			paths = append(paths, corpus)
		case slices.ContainsFunc(f.Manifest.Files, func(file records.ManifestFile) bool {
			return strings.HasPrefix(file.Path, string(output.Corpus)+"/")
		}):
			return nil, Usage("--against %s: its corpus was deleted; restore %s, or run dedup on the input again", path, corpus)
		}
	}
	return paths, nil
}

// References returns what run.json says about references before they are read, or nil if there are none.
func (p *Plan) References() *records.RunReferences {
	in := p.Listing.Inputs
	if in.References() == 0 {
		return nil
	}
	return &records.RunReferences{Files: in.References(), Bytes: in.BytesOfReferences()}
}

// referenceWarnings returns warnings about --against that may not be what the user intended.
func (p *Plan) referenceWarnings() (warnings []string) {
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	if n := p.Listing.Both; n > 0 {
		warn("--against also names %s of %s, which neardup reads only as input", records.Count(int64(n)),
			records.Plural(p.Input().Files, "input file"))
	}
	for _, path := range p.Listing.Idle {
		warn("--against %s: found no documents to compare with; check the path", path)
	}
	return append(warnings, p.referencesMissing...)
}
