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

// CheckMemory refuses limits on what is read that one document or one file alone could take beyond the
// memory. It only refuses: nothing that is read depends on the memory.
func (c *Config) CheckMemory(w vector.Weights) error {
	budget := c.Budget()
	kept := budget.Bytes
	if kept == 0 {
		return nil
	}
	if one := documentMemory(c.Shingle.Config, w, int64(c.MaxDocBytes)); one > kept+documentRoom {
		return Usage("--max-doc-bytes %d: one such document may take %d bytes of memory, and the limit is %d (%s); give at least --memory %dMB, or a smaller --max-doc-bytes",
			c.MaxDocBytes, one, kept, budget.From, (one-documentRoom)/1_000_000+1)
	}
	flowing := budget.Exchange() // beside it
	if window := int64(c.MaxWindow); window > kept-flowing+documentRoom {
		return Usage("--max-window %d: one such file takes as much memory, beside what flows, and the limit is %d (%s); give at least --memory %dMB, or a smaller --max-window",
			window, kept, budget.From, 2*(window-documentRoom)/1_000_000+1)
	}
	return nil
}
