//go:build prism

package main

import _ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism" // a third runner to compare with

// prismLinked reports whether the binary has Beam's prism runner: 45 packages, a container client among
// them, that nobody needs who does not compare runners.
const prismLinked = true
