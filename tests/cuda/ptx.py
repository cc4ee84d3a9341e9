"""Read facts from the text of PTX."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_PARAMETER_BYTES = re.compile(
    r"\.visible \.entry mb_entry\(\s*\.param \.align 8 \.b8 mb_entry_param_0\[(\d+)\]\s*\)"
)
_SHARED = re.compile(r"^\s*\.shared \.align (\d+) \.b8 \S*mb_storage_\w+\[(\d+)\];", re.M)
_INFO = re.compile(r"\.visible \.global \.align 4 \.b8 mb_info\[\d+\] = \{([\d, ]*)\}")


@dataclass(frozen=True)
class Ptx:
    """The text of one kernel."""

    text: str

    @property
    def target(self) -> tuple[str, str]:
        """PTX's own version, and the architecture that it is for."""
        version = re.search(r"^\.version (\S+)", self.text, re.M)
        target = re.search(r"^\.target (.*)", self.text, re.M)
        assert version is not None
        assert target is not None
        return version[1], target[1]

    @property
    def parameter_bytes(self) -> int:
        """Return the size of the parameter of the single entry."""
        assert self.text.count(".entry") == 1
        found = _PARAMETER_BYTES.search(self.text)
        assert found is not None
        return int(found[1])

    @property
    def static_bytes(self) -> list[int]:
        """The sizes of threadgroup variables."""
        return [int(size) for _, size in _SHARED.findall(self.text)]

    @property
    def missing(self) -> list[str]:
        """Return the undefined functions and variables, except dynamic memory."""
        return [
            line
            for line in self.text.splitlines()
            if ".extern" in line and "mb_arena" not in line and not line.startswith("//")
        ]

    @property
    def info(self) -> list[int]:
        """The words that the kernel tells of itself, but for those of textures."""
        found = _INFO.search(self.text)
        assert found is not None
        given = bytes(map(int, found[1].split(",")))
        padded = given + bytes(-len(given) % 4)
        return [int.from_bytes(padded[i : i + 4], "little") for i in range(0, len(padded), 4)]

    def code(self) -> list[str]:
        """Instructions without their operands."""
        lines = (line.strip() for line in self.text.splitlines() if line.startswith("\t"))
        words = (line.split() for line in lines if line and line[0] not in ".{}/")
        return [each[1] if each[0].startswith("@") else each[0] for each in words]


# Bytes of mb::gpu::Launch (csrc/msl/mb/gpu/abi.h).
LAUNCH_BYTES = 10 * 4 + 2 * 8 + 31 * 8 + 31 * 4 + 4


def check_sound(ptx: Ptx, *, assemble: bool = False, threads: int = 0) -> None:
    """One entry of the right form, for the given GPUs and drivers, and nothing to link.

    With `assemble`, NVIDIA's assembler must take it where this machine has one, for blocks of so
    many threads if that is said.
    """
    assert ptx.target == ("7.8", "sm_80")
    assert ptx.parameter_bytes == LAUNCH_BYTES
    assert ptx.missing == []
    assembler = shutil.which("ptxas")
    if assemble and assembler:
        entry, end, body = ptx.text.partition(")\n{")
        text = f"{entry})\n.maxntid {threads}, 1, 1\n{{{body}" if threads and end else ptx.text
        command = [assembler, "-arch=sm_90", "-o", "/dev/null", "-"]
        answer = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr


def read(path: str | Path) -> Ptx:
    """The PTX in a file."""
    return Ptx(Path(path).read_text())
