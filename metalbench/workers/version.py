"""Compare two installations of metalbench, by a hash of all Python and MSL sources."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

# Raised when the messages, or what they mean, change.
PROTOCOL = 2
MARK = "metalbench-serves"
DIGITS = 16


@dataclass(frozen=True)
class InstalledVersion:
    """A version, as its number alone does not tell: `sources` is a hash of what is installed."""

    number: str
    sources: str
    protocol: int = PROTOCOL

    def __str__(self) -> str:
        return f"{self.number} (sources {self.sources}, protocol {self.protocol})"

    @property
    def greeting(self) -> str:
        """The line that the server sends before any message."""
        return f"{MARK} {self.protocol} {self.number} {self.sources}"

    @classmethod
    def parse(cls, line: str) -> InstalledVersion | None:
        """The version that such a line tells, None of any other line."""
        words = line.split()
        if len(words) != 4 or words[0] != MARK or not words[1].isdecimal():
            return None
        return cls(words[2], words[3], int(words[1]))


def get_local_version() -> InstalledVersion:
    """The version that is installed here."""
    package = Path(__file__).parents[1]
    return InstalledVersion(
        metadata.version("metalbench"), hash_sources(package, _headers(package))
    )


@cache
def hash_sources(package: Path, headers: Path) -> str:
    """Hash of a package's Python files and of the headers of MSL, wherever they lie."""
    found = hashlib.sha256()
    for folder, files in ((package, _python_files(package)), (headers, headers.rglob("*"))):
        for path in sorted(each for each in files if each.is_file()):
            name = path.relative_to(folder).as_posix()
            found.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()[:DIGITS]


def _python_files(package: Path) -> Iterator[Path]:
    for path in package.rglob("*.py"):
        # The library's tasks are sent along; an installed package has them inside, and puzzles.
        if path.relative_to(package).parts[0] not in ("kernels", "puzzles"):
            yield path


def _headers(package: Path) -> Path:
    """The folder of our MSL headers: in the installed package, else in the checkout."""
    installed = package / "include" / "msl"
    return installed if installed.is_dir() else package.parent / "csrc" / "msl"
