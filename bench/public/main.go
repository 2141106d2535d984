// Command public installs the other tools from their registries and measures neardup beside them:
//
//	go run ./bench/public >table.md
//
// at the top of the repository. docs/public-bench.md has what it found, and how to read it.
package main

import "github.com/neardup/neardup/bench/internal/peers"

func main() { peers.Public() }
