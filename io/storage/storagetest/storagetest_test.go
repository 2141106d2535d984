package storagetest

import (
	"testing"

	"github.com/neardup/neardup/io/storage"
)

func TestLocal(t *testing.T) { Run(t, t.TempDir(), Lacks{}) }

func TestMemory(t *testing.T) {
	storage.Register("mem://", &Memory{})
	Run(t, "mem://bucket/folder", Lacks{})
}

func TestMemoryWithoutConditionalRemove(t *testing.T) {
	storage.Register("mem-keep://", &Memory{NoConditionalRemove: true})
	Run(t, "mem-keep://bucket", Lacks{ConditionalRemove: true})
}
