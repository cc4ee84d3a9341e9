"""Write the ABI version of kernels and runtimes into csrc/msl/mb/info.h.

python tools/abi_version.py

It is a digest of the shared headers without their comments, so that it changes automatically. An
extension refuses kernels that were compiled with other headers, because struct layouts could
differ. `--check` only reports whether the number is current.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADERS = "msl/"
HOLDER = "msl/mb/info.h"

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_VERSION = re.compile(r"(?<=abi_version = )\w+(?=;)")


def find_shared_headers(sources: Path) -> list[Path]:
    """Return the MSL headers that the runtimes' own code includes, and those that these include."""
    outside = [
        path
        for path in sources.rglob("*")
        if path.suffix in {".h", ".cpp", ".mm"} and (sources / HEADERS) not in path.parents
    ]
    waiting = [
        sources / name
        for path in outside
        for name in _INCLUDE.findall(path.read_text())
        if name.startswith(HEADERS)
    ]
    found: set[Path] = set()
    while waiting:
        path = waiting.pop().resolve()
        if path not in found:
            found.add(path)
            waiting += [path.parent / name for name in _INCLUDE.findall(path.read_text())]
    return sorted(found)


def abi_version(sources: Path) -> str:
    """Return the number, as C++ has it, of the headers below a folder `csrc`."""
    made = hashlib.sha256()
    for part in _parts(sources):
        made.update(f"{part}\0".encode())
    return f"0x{made.hexdigest()[:8]}"


def _parts(sources: Path) -> Iterator[str]:
    """Yield each header's name, and its words without the number itself."""
    for path in find_shared_headers(sources):
        yield path.relative_to(sources.resolve()).as_posix()
        text = _VERSION.sub("", path.read_text())
        yield " ".join(_COMMENT.sub(" ", text).split())


def main(arguments: Sequence[str]) -> int:
    """Write the number, or with --check say whether it is current."""
    holder = ROOT / "csrc" / HOLDER
    text = holder.read_text()
    number = abi_version(ROOT / "csrc")
    current = _VERSION.sub(number, text)
    if list(arguments) != ["--check"]:
        holder.write_text(current)
        return 0
    if text == current:
        return 0
    print(
        f"csrc/{HOLDER}: expected abi_version = {number}, since headers that kernels share with "
        "the runtimes have changed; run `python tools/abi_version.py`, then install again",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
