package job

import (
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/records"
)

// documentRoom is the part of memory.Beyond that a document or a file may take; the program takes the rest.
const documentRoom = memory.Beyond - 20_000_000

// mostWorkers is more than the cores of any machine.
const mostWorkers = 4096

// documentMemory returns how much memory a text of some bytes may take: its record, the text, the block that holds it,
// and 8 bytes for each token, later for each shingle. A character or a byte is a token; prose of any script has hardly
// more than one word in four bytes. Weights take up to 36 bytes per token.
func documentMemory(s shingle.Config, w vector.Weights, bytes int64) int64 {
	tokens, each := bytes, int64(11)
	if s.Kind == shingle.Word || s.Kind == shingle.Stop {
		tokens, each = bytes/4, 5
	}
	if w == vector.Unit {
		tokens = 0
	}
	return each*bytes + 36*tokens
}

// Check returns a *UsageError if a job cannot run with these settings. It only refuses: results do not depend on the
// memory, but a single document or file must not exceed it.
func (r *Running) Check(a *Asked) error {
	budget := r.Budget()
	kept, flowing := budget.Bytes, budget.Exchange()
	switch elsewhere := r.Runner.Traits().WorkerMemory; {
	case len(a.Inputs) == 0:
		return Usage("no input; name files, folders or patterns, or use --inputs-from")
	case r.Workers < 0:
		return Usage("--workers %d: must be at least 1, or 0 for the default", r.Workers)
	case r.Workers > mostWorkers:
		return Usage("--workers %d: must be at most %d", r.Workers, mostWorkers)
	case r.Memory != 0 && elsewhere != "":
		return Usage("--memory is for the local runner; %s", elsewhere)
	case r.Memory != 0 && r.Memory < memory.Least:
		return Usage("--memory %v: must be at least 256MB", r.Memory)
	case kept == 0:
		return CheckPath("--temp-dir", r.TempDir)
	}
	if one := documentMemory(a.Texts.Shingle, vector.Weights(a.Weights), int64(a.MaxDocBytes)); one > kept+documentRoom {
		return Usage("--max-doc-bytes %v: a document of this size may take %s bytes of memory, but the limit is %s (%s); "+
			"use at least --memory %dMB, or a smaller --max-doc-bytes",
			a.MaxDocBytes, records.Count(one), records.Count(kept), budget.From, (one-documentRoom)/1_000_000+1)
	}
	if window := int64(a.MaxWindow); window > kept-flowing+documentRoom {
		return Usage("--max-window %v: a file with such a window takes that much memory, besides intermediate data, but "+
			"the limit is %s bytes (%s); use at least --memory %dMB, or a smaller --max-window",
			a.MaxWindow, records.Count(kept), budget.From, 2*(window-documentRoom)/1_000_000+1)
	}
	return CheckPath("--temp-dir", r.TempDir)
}
