//go:build !prism

package main

// prismLinked: see prism.go.
const prismLinked = false
