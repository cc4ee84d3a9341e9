"""Builds `_core` with the double's Metal in it.

`python -m metal_double.build`, run from tests/, prints where. CMake and Ninja build into
build/metal_double of the checkout, and only what has changed; a second process waits.
ziglang compiles, so that the double needs no compiler of the machine's.
"""

from __future__ import annotations

import fcntl
import importlib.machinery
import json
import os
import shlex
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from metal_double.compiler import with_gcc, zig

CHECKOUT = Path(__file__).resolve().parents[2]
COMPILERS = {"CMAKE_C_COMPILER": "cc", "CMAKE_CXX_COMPILER": "c++", "CMAKE_OBJCXX_COMPILER": "c++"}
# Headers are read once for many files, as in pyproject.toml: an eighth of the time.
UNITY = ("-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=64")
# What CMake is asked for, and where it answers.
QUERY = Path(".cmake/api/v1/query/codemodel-v2")
REPLY = Path(".cmake/api/v1/reply")
LINKED = {"EXECUTABLE", "MODULE_LIBRARY", "SHARED_LIBRARY"}
SYMBOL_LIST = "-Wl,@"
ARCHIVERS = {"CMAKE_AR": "ar", "CMAKE_RANLIB": "ranlib"}
# The double is built for a few minutes of tests: more would take longer than it saves. Calls of
# Metal stay fast, which tests of times need; C++ without optimisation compiles in half the time.
FOR_TESTS = {"CXX": "-O0 -DNDEBUG", "OBJCXX": "-O1 -DNDEBUG"}

# For macOS zig reads no list of the symbols that Python will provide, and makes no bundles. With
# dynamic lookup it lets every symbol be undefined: cross_compile.py compares them with the lists.
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


@dataclass(frozen=True)
class Target:
    """A library or program that CMake links; `options` are the words of its link line."""

    name: str
    path: Path
    options: tuple[str, ...]

    @property
    def symbol_lists(self) -> list[Path]:
        """The files that tell macOS's linker which symbols may be undefined."""
        lists = [word for word in self.options if word.startswith(SYMBOL_LIST)]
        return [Path(word.removeprefix(SYMBOL_LIST)) for word in lists]


def read_targets(folder: Path) -> list[Target]:
    """Return what is linked in a build folder, from CMake's answer to QUERY.

    manual/cmake-file-api.7 of CMake describes the format.
    """
    replies = folder / REPLY
    index = json.loads(max(replies.glob("index-*.json")).read_text())
    model = json.loads((replies / index["reply"][QUERY.name]["jsonFile"]).read_text())
    targets = []
    for each in model["configurations"][0]["targets"]:
        target = json.loads((replies / each["jsonFile"]).read_text())
        if target["type"] in LINKED:
            fragments = [part["fragment"] for part in target["link"]["commandFragments"]]
            options = tuple(word for fragment in fragments for word in shlex.split(fragment))
            path = folder / target["artifacts"][0]["path"]
            targets.append(Target(target["name"], path, options))
    return targets


class Tree:
    """A folder that CMake builds in with ziglang's compiler and given flags.

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
        """Build what has changed of `_core`; gives what the tools said.

        Raises BuildError.
        """
        with self._locked():
            self._configure(settings)
            return self._build(["_core"])

    def build_all(self, *settings: str) -> list[Target]:
        """Build what has changed of all that CMake links.

        Raises BuildError.
        """
        with self._locked():
            query = self._folder / QUERY
            query.parent.mkdir(parents=True, exist_ok=True)
            query.touch()
            self._configure(settings)
            targets = read_targets(self._folder)
            self._build([target.name for target in targets])
            return targets

    def _configure(self, settings: Sequence[str]) -> None:
        command = ["cmake", "-G", "Ninja", "-S", str(CHECKOUT), "-B", str(self._folder)]
        command += [f"-DPython_EXECUTABLE={sys.executable}", *UNITY, *self._tools()]
        _run(*command, *settings)

    def _build(self, names: Sequence[str]) -> str:
        jobs = str(os.cpu_count() or 1)
        return _run("cmake", "--build", str(self._folder), "--target", *names, "-j", jobs)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with open(self._folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

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
    flags = [f"-DCMAKE_{name}_FLAGS_RELEASE={value}" for name, value in FOR_TESTS.items()]
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


if __name__ == "__main__":
    try:
        print(build())
    except BuildError as problem:
        sys.exit(str(problem))
