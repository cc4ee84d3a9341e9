"""`python -m metal_double.cross_compile --sdk DIR`, from tests/: build and check all for a Mac.

CMake takes its way for Darwin with ziglang's compiler and linker, for aarch64 and macOS 14, and
builds every library of the package; `DIR` has Apple's `Frameworks/`, `include/` and `lib/` with
linker stubs. Warnings are errors. The libraries are checked, not run: each undefined symbol is in a
list of the link line or exported by a linked library, and no load command names a folder of this
machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from mac.links import find_problems, read_symbol_lists
from mac.mach_o import read_library
from mac.stubs import StubError, Stubs
from metal_double.build import CHECKOUT, BuildError, Target, Tree
from metal_double.compiler import zig

MINIMUM_MACOS = (14, 0)
TARGET = "aarch64-macos.{}.{}".format(*MINIMUM_MACOS)


def compiler_flags(sdk: Path) -> list[str]:
    """Return flags that find Apple's headers and stubs; ziglang's own come first."""
    frameworks = str(sdk / "Frameworks")
    flags = ["-target", TARGET, "-iframework", frameworks, "-F", frameworks]
    return [*flags, "-idirafter", str(sdk / "include"), "-L", str(sdk / "lib")]


def cross_compile(sdk: Path) -> list[Target]:
    """Build everything that CMake links on a Mac.

    Raises BuildError.
    """
    tree = Tree(CHECKOUT / "build" / "metal_double" / "darwin", compiler_flags(sdk))
    return tree.build_all(
        "-DCMAKE_SYSTEM_NAME=Darwin",
        "-DCMAKE_SYSTEM_PROCESSOR=arm64",
        "-DCMAKE_INSTALL_NAME_TOOL=install_name_tool",
        "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON",
        # ziglang's float.h defines INFINITY only when it comes before Foundation.
        "-DCMAKE_OBJCXX_FLAGS=-include cmath",
    )


def report_problems(targets: Iterable[Target], sdk: Path) -> bool:
    """Print each target's path and its problems; tell whether there are any.

    Raises StubError for a stub that cannot be read.
    """
    # ziglang has libSystem's stub, which the SDK's folder need not have.
    stubs = Stubs([sdk, zig().parent / "lib" / "libc" / "darwin"])
    libraries = {target.path: read_library(target.path) for target in targets}
    named = {each.install_name: each for each in libraries.values()}
    others = {name: each for name, each in named.items() if name is not None}
    has_problems = False
    for target in targets:
        path, library = target.path, libraries[target.path]
        allowed = read_symbol_lists(target.symbol_lists)
        problems = find_problems(path, library, allowed, stubs, MINIMUM_MACOS, others)
        has_problems |= bool(problems)
        count = len(library.undefined)
        print(
            f"{path}:" + ("" if problems else f" all {count} undefined symbols are accounted for")
        )
        for problem in problems:
            print("  " + problem.replace("\n", "\n  "))
    return has_problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was built and what is wrong; gives the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sdk", type=Path, required=True, help="has Frameworks, include and lib")
    sdk = parser.parse_args(arguments).sdk.resolve()
    try:
        return int(report_problems(cross_compile(sdk), sdk))
    except (BuildError, StubError) as problem:
        print(problem, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
