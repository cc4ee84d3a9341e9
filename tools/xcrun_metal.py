"""Compile every kernel of the library with Apple's offline compiler, `xcrun metal`.

    python tools/xcrun_metal.py

In every element type, and with every value of every tunable, one at a time. It needs a Mac with the
full Xcode 16 or newer; the command line tools have no `metal`. Ends with 1 if a kernel does not
compile.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from metalbench.kernel.header import Kernel
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import source_options
from metalbench.task.dtypes import dtype

# Of macOS 14, the oldest that the Metal device is for.
COMPILE = ("xcrun", "-sdk", "macosx", "metal", "-c", "-std=metal3.1", "-Wall")
# As csrc/metal/library.mm on macOS 15: relaxed math keeps NaN and infinity. These are options of
# Xcode 16.
MATH = {
    "fast": ("-fmetal-math-mode=relaxed", "-fmetal-math-fp32-functions=fast"),
    "safe": ("-fmetal-math-mode=safe", "-fmetal-math-fp32-functions=precise"),
}


def tunings(kernel: Kernel) -> Iterator[dict[str, int]]:
    """Yield the defaults, then every other value of every tunable, one at a time."""
    yield {}
    for name, values in kernel.tunables.items():
        yield from ({name: value} for value in values[1:])


def command(kernel: Kernel, dtype_name: str, tuning: Mapping[str, int], made: Path) -> list[str]:
    """Return the command that compiles a kernel to the file `made`."""
    options = source_options(kernel, dtype(dtype_name), kernel.resolve_tunables(tuning))
    macros = [f"-D{name}={value}" for name, value in options["macros"].items()]
    folders = [f"-I{folder}" for folder in options["include_dirs"]]
    return [*COMPILE, *MATH[kernel.math], *macros, *folders, str(kernel.path), "-o", str(made)]


def main() -> int:
    """Compile all; returns the exit code."""
    failed = compiled = 0
    with tempfile.TemporaryDirectory() as folder:
        for entry in Library():
            kernel = entry.kernel()
            for name in kernel.dtypes:
                for tuning in tunings(kernel):
                    given = command(kernel, name, tuning, Path(folder) / "kernel.air")
                    answer = subprocess.run(given, capture_output=True, text=True, check=False)
                    compiled += 1
                    failed += answer.returncode != 0
                    if answer.returncode or answer.stderr:
                        words = "does not compile" if answer.returncode else "compiles"
                        print(f"{entry.name} ({name}, {tuning or 'as it is'}) {words}:")
                        print(answer.stderr)
    print(f"{compiled - failed} of {compiled} builds of {len(Library())} kernels compile.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
