"""List the files that a compiler needs to open, for its sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.sandbox.landlock import Files

# The shell that sets limits, and shared libraries.
_PROGRAMS = ("/bin/sh", "/lib", "/lib64", "/usr/lib", "/usr/lib64")
# Facts about the processor, and /dev/null.
_FACTS = ("/etc/ld.so.cache", "/proc/self", "/proc/cpuinfo", "/sys/devices/system/cpu", "/dev/null")


def list_tool_files(
    program: str, reads: Sequence[str | Path] = (), writes: Sequence[str | Path] = ()
) -> Files | None:
    """Return the files that a compiler may open: its installation, `reads`, and folders `writes`.

    Return None for a script (METALBENCH_CLANG may name one), because it can start any program.
    """
    from metalbench.sandbox.landlock import Files

    real = Path(program).resolve()
    try:
        with real.open("rb") as file:
            if file.read(2) == b"#!":
                return None
    except OSError:
        return None
    return Files(
        readable=(*_FACTS, *reads),
        writable=("/dev/null", *writes),
        executable=(
            *_PROGRAMS,
            *_find_installation(real),
            *_find_installation(Path(program).absolute()),
        ),
    )


def _find_installation(program: Path) -> list[Path]:
    """Return the folder that a program is installed in: PREFIX of PREFIX/bin/clang."""
    prefix = program.parent.parent
    # For /bin/clang the prefix would be the root folder.
    belongs = program.parent.name == "bin" and prefix != Path(prefix.anchor)
    return [prefix if belongs else program.parent]
