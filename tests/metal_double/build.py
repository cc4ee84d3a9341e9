"""Builds `_core` with the double's Metal in it.

`python -m metal_double.build`, run from tests/, prints where. CMake and Ninja build into
build/metal_double of the checkout, and only what has changed; whoever comes second waits.
ziglang compiles, so that the double needs no compiler of the machine's.
"""

from __future__ import annotations

import fcntl
import importlib.machinery
import os
import shlex
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from metal_double.compiler import with_gcc, zig

CHECKOUT = Path(__file__).resolve().parents[2]
COMPILERS = {"CMAKE_C_COMPILER": "cc", "CMAKE_CXX_COMPILER": "c++", "CMAKE_OBJCXX_COMPILER": "c++"}
# Headers are read once for many files: an eighth of the time.
UNITY = ("-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=16")
ARCHIVERS = {"CMAKE_AR": "ar", "CMAKE_RANLIB": "ranlib"}
# The double is built for a few minutes of tests: more would take longer than it saves.
FOR_TESTS = "-O1 -DNDEBUG"

# For macOS zig reads no list of the symbols that Python will provide, and makes no bundles.
PROGRAM = """#!/bin/sh
for argument do
  shift
  case "$argument" in
    -Wl,@*) set -- "$@" -Wl,-undefined,dynamic_lookup ;;
    -bundle) set -- "$@" -shared ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {command} "$@"
"""


class BuildError(Exception):
    """Something could not be built; the text is the tool's own."""


class Tree:
    """A folder that CMake builds `_core` in with ziglang's compiler and given flags.

    `compiler` is the whole command instead.
    """

    def __init__(
        self,
        folder: Path,
        compiler_flags: Sequence[str] = (),
        compiler: Sequence[str] | None = None,
    ) -> None:
        self._folder = folder
        self._compiler_flags = compiler_flags
        self._compiler = compiler
        self.extension = folder / f"_core{importlib.machinery.EXTENSION_SUFFIXES[0]}"

    def bring_up_to_date(self, *settings: str) -> str:
        """Build what has changed; gives what the tools said.

        Raises BuildError.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        with _alone(self._folder / "lock"):
            command = ["cmake", "-G", "Ninja", "-S", str(CHECKOUT), "-B", str(self._folder)]
            command += [f"-DPython_EXECUTABLE={sys.executable}", *UNITY, *self._tools()]
            _run(*command, *settings)
            jobs = str(os.cpu_count() or 1)
            return _run("cmake", "--build", str(self._folder), "--target", "_core", "-j", jobs)

    def _tools(self) -> Iterator[str]:
        for name, tool in COMPILERS.items():
            command = self._compiler or [str(zig()), tool, *self._compiler_flags]
            yield f"-D{name}={self._program(tool, command)}"
        for name, tool in ARCHIVERS.items():
            yield f"-D{name}={self._program(tool, [str(zig()), tool])}"

    def _program(self, tool: str, command: Sequence[str]) -> Path:
        """A file of one name, which CMake wants, for one of ziglang's tools."""
        path = self._folder / f"zig-{tool}"
        text = PROGRAM.format(command=shlex.join(command))
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path


def build() -> Path:
    """Bring the double's `_core` up to date and tell where it is.

    Raises BuildError.
    """
    name = sys.implementation.cache_tag or "python"
    gcc = with_gcc()
    # Objects with one C++ library do not go with those of the other.
    folder = f"{name}-gcc" if gcc else name
    tree = Tree(CHECKOUT / "build" / "metal_double" / folder, compiler=gcc)
    flags = [f"-DCMAKE_{language}_FLAGS_RELEASE={FOR_TESTS}" for language in ("CXX", "OBJCXX")]
    tree.bring_up_to_date("-DMETALBENCH_METAL_DOUBLE=ON", *flags)
    return tree.extension


def _run(*command: str) -> str:
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
        raise BuildError(f"{' '.join(command)}\n{answer.stdout}")
    return answer.stdout


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        print(build())
    except BuildError as problem:
        sys.exit(str(problem))
