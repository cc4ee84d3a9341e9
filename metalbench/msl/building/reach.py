"""Which files a compiler needs to open, so that it opens no others whatever it compiles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.isolation.confinement import Files

# The shell that limits it, and what programs are linked with.
_PROGRAMS = ("/bin/sh", "/lib", "/lib64", "/usr/lib", "/usr/lib64")
# Which processor it is, and what comes of nothing.
_FACTS = ("/etc/ld.so.cache", "/proc/self", "/proc/cpuinfo", "/sys/devices/system/cpu", "/dev/null")


def list_tool_files(
    program: str, reads: Sequence[str | Path] = (), writes: Sequence[str | Path] = ()
) -> Files | None:
    """All that a compiler may open: its own installation, `reads`, and the folders it `writes` to.

    None for a script, which starts whatever its author likes: METALBENCH_CLANG may name one.
    """
    from metalbench.isolation.confinement import Files

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
        executable=(*_PROGRAMS, *_installation(real), *_installation(Path(program).absolute())),
    )


def _installation(program: Path) -> list[Path]:
    """The folder of a program, and what it belongs to: PREFIX/lib of PREFIX/bin/clang."""
    prefix = program.parent.parent
    # Of /bin/clang that would be everything.
    belongs = program.parent.name == "bin" and prefix != Path(prefix.anchor)
    return [prefix if belongs else program.parent]
