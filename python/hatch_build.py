"""What a wheel takes from outside.

NEARDUP_WHEEL_BINARY names the binary (default: ../bin/neardup), NEARDUP_WHEEL_VERSION the version.
"""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Tags by how a binary begins: the machine of ELF, or the processor of Mach-O. Static binaries need no libc.
# macOS 12 is the oldest that Go supports.
PLATFORMS = {
    (b"\x7fELF", 18, b"\x3e\x00"): "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    (b"\x7fELF", 18, b"\xb7\x00"): "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    (b"\xcf\xfa\xed\xfe", 4, b"\x07\x00\x00\x01"): "macosx_12_0_x86_64",
    (b"\xcf\xfa\xed\xfe", 4, b"\x0c\x00\x00\x01"): "macosx_12_0_arm64",
}


def version() -> str:
    """The version of the wheel, as PEP 440 has it."""
    return os.environ.get("NEARDUP_WHEEL_VERSION") or "0.dev0"


class CustomBuildHook(BuildHookInterface[Any]):
    """Puts the binary beside Python's own programs, where it is called as it is, and sets the tag of its platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Does so."""
        binary = Path(os.environ.get("NEARDUP_WHEEL_BINARY") or Path(self.root).parent / "bin" / "neardup")
        with binary.open("rb") as file:
            head = file.read(32)
        found = [
            tag for (magic, at, kind), tag in PLATFORMS.items() if head.startswith(magic) and head[at:].startswith(kind)
        ]
        if not found:
            raise ValueError(f"{binary} is no binary for Linux or macOS on amd64 or arm64")
        build_data["tag"] = f"py3-none-{found[0]}"
        build_data["pure_python"] = False
        build_data["shared_scripts"][str(binary)] = "neardup"
