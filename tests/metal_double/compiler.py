"""Compile the double with ziglang's clang and the C++ library of the machine's GCC.

Where there is none, `zig c++` compiles a library of its own first, which takes minutes.
"""

from __future__ import annotations

import platform
import subprocess
import tempfile
from functools import cache
from pathlib import Path

# Needs headers of clang's own, of the C library and of the C++ library, and a linker.
_PROBE = "#include <cstddef>\n#include <string>\nstd::string f() { throw std::string(); }\n"


def zig() -> Path:
    """The program of the ziglang package."""
    import ziglang

    return Path(ziglang.__file__).parent / "zig"


@cache
def with_gcc() -> tuple[str, ...] | None:
    """The command that compiles C++ with GCC's library; None where it cannot."""
    headers = f"-resource-dir={zig().parent / 'lib'}"
    target = f"--target={platform.machine()}-unknown-linux-gnu"
    command = (str(zig()), "clang", "--driver-mode=g++", target, headers)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "probe.so"
        answer = subprocess.run(
            [*command, "-shared", "-fPIC", "-o", str(made), "-x", "c++", "-"],
            input=_PROBE,
            capture_output=True,
            text=True,
            check=False,
        )
    return command if answer.returncode == 0 else None


def compiler() -> tuple[str, ...]:
    """The command that compiles and links C++ and Objective-C++."""
    return with_gcc() or (str(zig()), "c++")
