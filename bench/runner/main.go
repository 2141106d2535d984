// Command runner measures the local runner and Beam's own runners in one run:
//
//	go run ./bench/runner
//
// It prints a table; docs/local-runner.md has the goals. Each cell is a process of its own, to measure its peak memory.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	one := flag.String("cell", "", "run only this cell, and print what it took (what the program calls itself with)")
	quick := flag.Bool("quick", false, "a tenth of the elements: to see that it works")
	neardup := flag.String("neardup", "", "the neardup binary to measure, too; built with -tags prism")
	corpus := flag.String("corpus", "", "what it is to deduplicate")
	flag.Parse()
	var err error
	if *one != "" {
		err = runCell(*one)
	} else {
		err = table(os.Stdout, *quick, *neardup, *corpus)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
		os.Exit(1)
	}
}
