"""Builds `_core` with the double's Metal in it: `python tests/metal_double/build.py` prints where.

CMake and Ninja build into build/metal_double of the checkout, and only what has changed; whoever
comes second waits. ziglang compiles, so that the double needs no compiler of the machine's.
"""

from __future__ import annotations

import fcntl
import importlib.machinery
import os
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / "build" / "metal_double" / (sys.implementation.cache_tag or "python")
TOOLS = {"CC": "cc", "CXX": "c++", "OBJCXX": "c++", "AR": "ar", "RANLIB": "ranlib"}


class BuildFailed(Exception):
    """The double could not be built; the text is the tool's own."""


def extension() -> Path:
    """Where the built extension is."""
    return FOLDER / f"_core{importlib.machinery.EXTENSION_SUFFIXES[0]}"


def build() -> Path:
    """Bring the double's `_core` up to date and tell where it is.

    Raises BuildFailed.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    with _alone():
        _run("cmake", "-G", "Ninja", "-S", str(CHECKOUT), "-B", str(FOLDER), *_settings())
        _run("cmake", "--build", str(FOLDER), "--target", "_core", "-j", str(os.cpu_count() or 1))
    return extension()


def _settings() -> list[str]:
    return [
        "-DMETALBENCH_METAL_DOUBLE=ON",
        f"-DPython_EXECUTABLE={sys.executable}",
        *(f"-DCMAKE_{_variable(name)}={_script(tool)}" for name, tool in TOOLS.items()),
    ]


def _variable(name: str) -> str:
    return {"CC": "C_COMPILER", "CXX": "CXX_COMPILER", "OBJCXX": "OBJCXX_COMPILER"}.get(name, name)


def _script(tool: str) -> Path:
    """A program of one name, which CMake wants, for one of ziglang's tools."""
    import ziglang

    path = FOLDER / f"zig-{tool}"
    text = f'#!/bin/sh\nexec "{Path(ziglang.__file__).parent / "zig"}" {tool} "$@"\n'
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def _run(*command: str) -> None:
    # Where pip puts the programs of the packages cmake and ninja.
    scripts = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    answer = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "PATH": scripts},
    )
    if answer.returncode != 0:
        raise BuildFailed(f"{' '.join(command)}\n{answer.stdout}")


@contextmanager
def _alone() -> Iterator[None]:
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        print(build())
    except BuildFailed as problem:
        sys.exit(str(problem))
