package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestAllocations: they are sampled for --memprofile, and for nothing else.
func TestAllocations(t *testing.T) {
	if status := run([]string{"version"}, nil, io.Discard, io.Discard); status != 0 || runtime.MemProfileRate != 0 {
		t.Fatalf("status %d; allocations are sampled at rate %d", status, runtime.MemProfileRate)
	}
	t.Cleanup(func() { runtime.MemProfileRate = sampling })
	file := filepath.Join(t.TempDir(), "mem")
	if err := (profiles{Memory: file}).record(allocate); err != nil {
		t.Fatal(err)
	}
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	profile, err := io.ReadAll(unpacked)
	if err != nil || !bytes.Contains(profile, []byte("neardup.allocate")) {
		t.Fatalf("the profile does not have what is allocated; %v", err)
	}
}

func allocate() error {
	var allocated [][]byte
	for range 64 {
		allocated = append(allocated, make([]byte, 1<<20))
	}
	runtime.KeepAlive(allocated)
	return nil
}
