// Command peers measures neardup and other tools on the same files in the same run:
//
//	go run ./bench/peers >table.md
//
// Run it at the top of the repository. docs/bench.md says what can be compared, and what cannot.
package main

import "github.com/neardup/neardup/bench/internal/peers"

func main() { peers.Main() }
