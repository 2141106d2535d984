// Command peers measures neardup beside other tools, on the same files in the same run:
//
//	go run ./bench/peers >table.md
//
// at the top of the repository. docs/bench.md says what is compared, and what cannot be.
package main

import "github.com/neardup/neardup/bench/internal/peers"

func main() { peers.Main() }
