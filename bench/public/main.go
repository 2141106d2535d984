// Command public installs other tools from their registries and measures them and neardup:
//
//	go run ./bench/public >table.md
//
// Run it at the top of the repository. docs/public-bench.md has the results, and says how to read them.
package main

import "github.com/neardup/neardup/bench/internal/peers"

func main() { peers.Public() }
