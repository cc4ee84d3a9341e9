"""Reading a candidate's file, whatever lies at its path."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from metalbench.errors import DeclarationError

# A hundred times the longest kernel that people write.
MOST_BYTES = 8 << 20


def read_candidate(path: Path) -> bytes:
    """Return what a candidate's file holds.

    Raise DeclarationError for what is not a plain file (a folder, a pipe, a device), for a file of
    more than `MOST_BYTES`, and for one that cannot be read.
    """
    try:
        # A pipe without a writer would block forever.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(number, "rb") as file:
            status = os.fstat(number)
            if not stat.S_ISREG(status.st_mode):
                raise DeclarationError(f"{path}: expected a plain file, got {_kind(status)}")
            # A file may grow, and files of /proc have no size: the read is bounded as well.
            data = file.read(MOST_BYTES + 1) if status.st_size <= MOST_BYTES else b""
    except IsADirectoryError:
        raise DeclarationError(f"{path}: expected a plain file, got a folder") from None
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DeclarationError(f"{path} cannot be read: {said}") from error
    size = max(status.st_size, len(data))
    if size > MOST_BYTES:
        raise DeclarationError(
            f"{path}: expected at most {MOST_BYTES >> 20} MiB of source, got {size} bytes"
        )
    return data


def read_candidate_text(path: Path) -> str:
    """Return the text of a candidate's file; raise DeclarationError as above, or if not UTF-8."""
    try:
        text = read_candidate(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DeclarationError(f"{path} cannot be read: expected UTF-8 text: {error}") from error
    # As Python reads text files.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _kind(status: os.stat_result) -> str:
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(status.st_mode), "something else")
