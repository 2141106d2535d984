//go:build !(amd64 || arm64) || purego

package hash

func valuesFast(values []uint64) Sum128 { return valuesPlain(values) }
