package jobserver

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
)

// machines are the ELF names of the architectures that clusters use, by Go's names.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// CheckWorker returns an error if a binary cannot run on every Linux machine of an architecture; "" is any that workers
// have. A dynamically linked binary needs the C library of the machine on which it was built.
func CheckWorker(path, arch string) error {
	f, err := elf.Open(path)
	if errors.As(err, new(*fs.PathError)) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s is not a Linux binary", path)
	}
	defer f.Close()
	if f.OSABI != elf.ELFOSABI_NONE && f.OSABI != elf.ELFOSABI_LINUX {
		return fmt.Errorf("%s is for %v, not for Linux", path, f.OSABI)
	}
	if want, ok := machines[arch]; ok && f.Machine != want {
		return fmt.Errorf("%s is for %v, not for %s", path, f.Machine, arch)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is linked dynamically", path)
		}
	}
	return nil
}
