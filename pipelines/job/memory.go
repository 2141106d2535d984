package job

import (
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/vector"
)

// What a process may take beyond --memory, and what of that no document needs.
const (
	beyondMemory = 100_000_000
	usualMemory  = 20_000_000
)

// MostMemory is what a process may take if it is kept to so much.
func MostMemory(memory int64) int64 { return memory + beyondMemory }

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
	if c.Memory == 0 {
		return nil
	}
	most := int64(c.Memory) + beyondMemory - usualMemory
	if one := documentMemory(c.Shingle.Config, w, int64(c.MaxDocBytes)); one > most {
		return Usage("--max-doc-bytes %d: one such document may take %d bytes of memory, --memory is %d; give at least --memory %dMB, or a smaller --max-doc-bytes",
			c.MaxDocBytes, one, c.Memory, (one-beyondMemory+usualMemory)/1_000_000+1)
	}
	// Beside it stands what flows between the steps, which has half of the memory.
	if window := int64(c.MaxWindow); window > int64(c.Memory)/2+beyondMemory-usualMemory {
		return Usage("--max-window %d: one such file takes as much memory, beside what flows, and --memory is %d; give at least --memory %dMB, or a smaller --max-window",
			window, c.Memory, 2*(window-beyondMemory+usualMemory)/1_000_000+1)
	}
	return nil
}
