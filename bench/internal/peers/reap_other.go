//go:build !linux

package peers

import "github.com/neardup/neardup/bench/internal/process"

func adopt() {}

func reap(t process.Taken) (cpu float64, peak int64) { return t.CPU, t.Peak }
