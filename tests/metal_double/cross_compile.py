"""`python -m metal_double.cross_compile --sdk DIR`, from tests/: `_core` as a Mac would build it.

CMake takes its way for Darwin with ziglang's compiler and linker, for aarch64 and macOS 14; `DIR`
has Apple's `Frameworks/`, `include/` and `lib/` with linker stubs. Warnings are errors. What comes
out can be inspected, not run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from metal_double.build import CHECKOUT, BuildError, Tree

TARGET = "aarch64-macos.14.0"


def compiler_flags(sdk: Path) -> list[str]:
    """What finds Apple's headers and stubs; ziglang's own come first."""
    frameworks = str(sdk / "Frameworks")
    flags = ["-target", TARGET, "-iframework", frameworks, "-F", frameworks]
    return [*flags, "-idirafter", str(sdk / "include"), "-L", str(sdk / "lib")]


def cross_compile(sdk: Path) -> Path:
    """Build the extension and tell where it is.

    Raises BuildError.
    """
    tree = Tree(CHECKOUT / "build" / "metal_double" / "darwin", compiler_flags(sdk))
    tree.bring_up_to_date(
        "-DCMAKE_SYSTEM_NAME=Darwin",
        "-DCMAKE_SYSTEM_PROCESSOR=arm64",
        "-DCMAKE_INSTALL_NAME_TOOL=install_name_tool",
        "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON",
        # ziglang's float.h defines INFINITY only when it comes before Foundation.
        "-DCMAKE_OBJCXX_FLAGS=-include cmath",
    )
    return tree.extension


def main() -> int:
    """Print the extension's path, or what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sdk", type=Path, required=True, help="has Frameworks, include and lib")
    try:
        print(cross_compile(parser.parse_args().sdk.resolve()))
    except BuildError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
