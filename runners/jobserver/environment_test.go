package jobserver

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core"
)

func TestParseEnvironment(t *testing.T) {
	for text, want := range map[string]Environment{
		"loopback":                 {Loopback, ""},
		`process:/opt/a "b"/boot`:  {"process", `{"command":"/opt/a \"b\"/boot"}`},
		`process:{"command":"/b"}`: {"process", `{"command":"/b"}`},
		"external:localhost:50000": {"external", "localhost:50000"},
		"docker":                   {"docker", core.DefaultDockerImage},
		"docker:repo/image:1.2":    {"docker", "repo/image:1.2"},
	} {
		got, err := ParseEnvironment(text)
		if err != nil || got != want {
			t.Errorf("%s is %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                   "use loopback",
		"vm:x":               "use loopback",
		"loopback:x":         "use loopback",
		"process":            "absolute path",
		"process:./boot":     "absolute path",
		`process:{"x":"/b"}`: "or as JSON",
		"external":           "external:localhost:50000",
		"external:localhost": "external:localhost:50000",
	} {
		if _, err := ParseEnvironment(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q", text, err, want)
		}
	}
}

// binary64 returns the header of a Linux binary, with or without an interpreter. An interpreter loads the libraries of
// a dynamically linked binary.
func binary64(machine elf.Machine, system elf.OSABI, segments ...elf.ProgType) []byte {
	const headerSize, segmentSize = 64, 56
	var b bytes.Buffer
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: headerSize, Ehsize: headerSize, Phentsize: segmentSize, Phnum: uint16(len(segments)),
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)
	h.Ident[elf.EI_VERSION], h.Ident[elf.EI_OSABI] = byte(elf.EV_CURRENT), byte(system)
	binary.Write(&b, binary.LittleEndian, h)
	for _, s := range segments {
		binary.Write(&b, binary.LittleEndian, elf.Prog64{Type: uint32(s)})
	}
	return b.Bytes()
}

func TestCheckWorker(t *testing.T) {
	for name, c := range map[string]struct {
		content []byte
		arch    string
		want    string // of the error; "" for none
	}{
		"static":           {binary64(elf.EM_X86_64, elf.ELFOSABI_NONE, elf.PT_LOAD), "amd64", ""},
		"static, any":      {binary64(elf.EM_AARCH64, elf.ELFOSABI_NONE, elf.PT_LOAD), "", ""},
		"another machine":  {binary64(elf.EM_AARCH64, elf.ELFOSABI_NONE, elf.PT_LOAD), "amd64", "not for amd64"},
		"another system":   {binary64(elf.EM_X86_64, elf.ELFOSABI_FREEBSD, elf.PT_LOAD), "amd64", "not for Linux"},
		"dynamic":          {binary64(elf.EM_X86_64, elf.ELFOSABI_NONE, elf.PT_LOAD, elf.PT_INTERP), "amd64", "linked dynamically"},
		"of macOS":         {[]byte("\xcf\xfa\xed\xfe\x07\x00\x00\x01"), "amd64", "not a Linux binary"},
		"a script":         {[]byte("#!/bin/sh\n"), "", "not a Linux binary"},
		"not even a start": {nil, "", "not a Linux binary"},
	} {
		path := filepath.Join(t.TempDir(), "worker")
		if err := os.WriteFile(path, c.content, 0o777); err != nil {
			t.Fatal(err)
		}
		err := CheckWorker(path, c.arch)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: the error is %v, want %q", name, err, c.want)
		}
	}
	if err := CheckWorker(filepath.Join(t.TempDir(), "missing"), ""); err == nil {
		t.Error("no error for a missing file")
	}
}
