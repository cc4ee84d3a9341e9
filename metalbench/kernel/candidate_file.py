"""Read candidate files. The path may hold anything."""

from __future__ import annotations

from pathlib import Path

from metalbench.errors import DeclarationError
from metalbench.plain_file import read_plain_file

# A hundred times the longest kernel that people write.
MOST_BYTES = 8 << 20


def read_candidate(path: Path) -> bytes:
    """Return the bytes of a candidate file.

    Raise DeclarationError for what is not a plain file (a folder, a pipe, a device), for a file of
    more than `MOST_BYTES`, and for one that cannot be read.
    """
    return read_plain_file(path, MOST_BYTES, "source")


def read_candidate_text(path: Path) -> str:
    """Return the text of a candidate's file; raise DeclarationError as above, or if not UTF-8."""
    try:
        text = read_candidate(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DeclarationError(f"{path} cannot be read: expected UTF-8 text: {error}") from error
    # As Python reads text files.
    return text.replace("\r\n", "\n").replace("\r", "\n")
