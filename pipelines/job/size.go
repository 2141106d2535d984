package job

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// Bytes is a size that is written with a unit: 512, 64KB, 1.5GB, 16MiB.
type Bytes int64

// size is a number, with decimals or without, and a unit.
var size = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) *([A-Z]*)$`)

// units are K, M, G and T for powers of 1024, KB for powers of 1000 and KiB for powers of 1024.
var units = map[string]int64{
	"": 1, "B": 1,
	"K": 1 << 10, "KB": 1e3, "KIB": 1 << 10,
	"M": 1 << 20, "MB": 1e6, "MIB": 1 << 20,
	"G": 1 << 30, "GB": 1e9, "GIB": 1 << 30,
	"T": 1 << 40, "TB": 1e12, "TIB": 1 << 40,
}

// UnmarshalText reads a size exactly; a part of a byte is dropped.
func (b *Bytes) UnmarshalText(text []byte) error {
	mistake := fmt.Errorf("%q is not a size such as 512KB, 1.5GB or 16MiB", text)
	parts := size.FindStringSubmatch(strings.ToUpper(strings.TrimSpace(string(text))))
	if parts == nil {
		return mistake
	}
	number, read := new(big.Rat).SetString(parts[1])
	factor, known := units[parts[2]]
	if !read || !known {
		return mistake
	}
	number.Mul(number, new(big.Rat).SetInt64(factor))
	whole := new(big.Int).Quo(number.Num(), number.Denom())
	if !whole.IsInt64() {
		return mistake
	}
	*b = Bytes(whole.Int64())
	return nil
}
