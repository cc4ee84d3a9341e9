"""The Metal device and the double under AddressSanitizer, LeakSanitizer and UBSan.

`python -m metal_double.sanitize`, run from tests/, builds the double's `_core` once more with
these checks, and runs the tests of the Metal device on it. ziglang brings what UBSan needs; the
rest of the sanitizers' runtime is the library of the machine's GCC. Python and other libraries
leave memory behind when they end: only what was allocated below a function of the project's own
counts as a leak.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from metal_double.build import CHECKOUT, Tree
from metal_double.suite import TESTS, run

# The last is code that says no file: of the C++ library within the extension.
OWN = (f"{CHECKOUT}/csrc/", f"{CHECKOUT}/tests/metal_double/", "/_core.")
SETTINGS = {
    "detect_leaks": "1",
    # Reported below, of the project's own only.
    "exitcode": "0",
    "halt_on_error": "1",
    "malloc_context_size": "40",
}
# What AddressSanitizer keeps of freed memory, to find later uses, is more than this test allows.
MEASURES_MEMORY = "--ignore=tests/metal/test_memory.py"
LEAK = re.compile(r"(Direct|Indirect) leak of .*?(?=\n\n|\Z)", re.DOTALL)


def build() -> Path:
    """Build the checking extension; only what has changed."""
    tree = Tree(CHECKOUT / "build" / "metal_double" / "sanitize")
    tree.bring_up_to_date(
        "-DMETALBENCH_METAL_DOUBLE=ON",
        "-DMETALBENCH_SANITIZE=ON",
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
    )
    return tree.extension


def runtime() -> str:
    """Return the paths of the libraries that a process must load at its start.

    They are GCC's AddressSanitizer and the C++ library, whose exceptions it intercepts: it ends the
    process if a library that was loaded later throws one.
    """
    paths = []
    for library in ("libasan.so", "libstdc++.so.6"):
        command = ["gcc", f"-print-file-name={library}"]
        path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        if not Path(path).is_absolute():
            raise FileNotFoundError(f"{' '.join(command)}: GCC has no {library}; install it")
        paths.append(path)
    return ":".join(paths)


def environment(log: Path) -> dict[str, str]:
    """Return an environment in which Python checks and writes findings to such files."""
    settings = {**SETTINGS, "log_path": str(log)}
    return {
        "LD_PRELOAD": runtime(),
        "ASAN_OPTIONS": ":".join(f"{name}={value}" for name, value in settings.items()),
        # Python's own allocator hides from LeakSanitizer what its objects refer to.
        "PYTHONMALLOC": "malloc",
    }


def leaks(report: str) -> Iterator[str]:
    """The leaks of a report, each with where it was allocated."""
    for found in LEAK.finditer(report):
        yield found.group()


def is_own(leak: str) -> bool:
    """Return whether the project's own code allocated the block."""
    return any(folder in leak for folder in OWN)


def findings(folder: Path) -> Iterator[str]:
    """Return the defects that the reports of a folder list."""
    for path in sorted(folder.iterdir()):
        report = path.read_text(errors="replace")
        # The second is an error of the sanitizer itself, which has ended the process.
        if "ERROR: AddressSanitizer" in report or "AddressSanitizer: CHECK failed" in report:
            yield report
        yield from filter(is_own, leaks(report))


def main() -> int:
    """Build, run, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="an empty folder for the sanitizers' reports")
    parser.add_argument("tests", nargs="*", default=TESTS)
    arguments = parser.parse_args()
    extension = build()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        here = environment(folder.resolve() / "report")
        status = run(extension, ["-s", MEASURES_MEMORY, *arguments.tests], here)
        found = list(findings(folder))
    print("\n\n".join([*found, f"{len(found)} findings of the sanitizers"]))
    return 1 if status != 0 or found else 0


if __name__ == "__main__":
    sys.exit(main())
