package job

import (
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/vector"
)

// documentRoom is what a document or a file may take of what the process takes beyond its budget: the program takes the rest.
const documentRoom = memory.Beyond - 20_000_000

// documentMemory is how much memory one text of so many bytes may take: its record, itself, the block that it
// travels in, and 8 bytes for each token, which its shingles take the place of. A character or a byte is a
// token; of words it is one in four bytes, which prose of any script has hardly more of. Weights take up to 36 bytes for each token.
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

// Check returns a *UsageError if a job cannot be run as it is to be. It only refuses: nothing that is read depends on the memory, but a
// limit must not let one document or one file alone take more.
func (r *Running) Check(a *Asked) error {
	budget := r.Budget()
	kept, flowing := budget.Bytes, budget.Exchange()
	switch elsewhere := r.Runner.Traits().WorkerMemory; {
	case len(a.Inputs) == 0:
		return Usage("no input: give files, folders or patterns, or --inputs-from")
	case r.Workers < 0:
		return Usage("--workers %d: must be at least 1, or 0 for the default", r.Workers)
	case r.Memory != 0 && elsewhere != "":
		return Usage("--memory is for the local runner; %s", elsewhere)
	case r.Memory != 0 && r.Memory < memory.Least:
		return Usage("--memory %v: must be at least 256MB", r.Memory)
	case kept == 0:
		return CheckPath("--temp-dir", r.TempDir)
	}
	if one := documentMemory(a.Texts.Shingle, vector.Weights(a.Weights), int64(a.MaxDocBytes)); one > kept+documentRoom {
		return Usage("--max-doc-bytes %v: one such document may take %d bytes of memory, but the limit is %d (%s); give at least --memory %dMB, or a smaller --max-doc-bytes",
			a.MaxDocBytes, one, kept, budget.From, (one-documentRoom)/1_000_000+1)
	}
	if window := int64(a.MaxWindow); window > kept-flowing+documentRoom {
		return Usage("--max-window %v: one such file takes that much memory, besides intermediate data, but the limit is %d (%s); give at least --memory %dMB, or a smaller --max-window",
			a.MaxWindow, kept, budget.From, 2*(window-documentRoom)/1_000_000+1)
	}
	return CheckPath("--temp-dir", r.TempDir)
}
