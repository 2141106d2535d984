//go:build prism

package main

import (
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism" // 45 packages, a container client among them

	"github.com/neardup/neardup/pipelines/job"
)

func init() { beams[job.Prism] = true }
