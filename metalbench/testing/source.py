"""MSL as it is given: its text, or the path of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metalbench.errors import DeclarationError


@dataclass(frozen=True)
class Source:
    """A text and what messages call it; `path` is its file, if it is in one."""

    text: str
    filename: str
    path: Path | None = None

    def line(self, number: int) -> str:
        """Return the text of a line, counted from 1; empty if there is no such line."""
        lines = self.text.split("\n")
        return lines[number - 1] if 0 < number <= len(lines) else ""


def read_source(given: str | Path) -> Source:
    """Read `given`: a path, or text, which unlike a path has several lines or a brace.

    Raise DeclarationError if there is no such file.
    """
    if isinstance(given, str) and any(mark in given for mark in "\n{"):
        return Source(given, "<source>")
    path = Path(given)
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise DeclarationError(
            f"{path}: expected MSL source, or the path of a file with it; {error.strerror}"
        ) from error
    return Source(text, str(path), path)
