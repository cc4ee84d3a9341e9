"""Read and write files in untrusted folders.

Such a folder may hold links to files of the user, pipes, devices, and files of any size.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from metalbench.errors import DeclarationError


def read_plain_file(path: Path, most_bytes: int, what: str) -> bytes:
    """Return the bytes of a regular file of at most `most_bytes`; `what` names its contents.

    Raise DeclarationError for a folder, a pipe or a device, for a file that is too long, and for
    one that cannot be read.
    """
    try:
        # A pipe without a writer would block forever.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(number, "rb") as file:
            status = os.fstat(number)
            if not stat.S_ISREG(status.st_mode):
                raise DeclarationError(f"{path}: expected a plain file, got {_kind(status)}")
            # A file may grow, and files of /proc have no size: the read is bounded as well.
            data = file.read(most_bytes + 1) if status.st_size <= most_bytes else b""
    except IsADirectoryError:
        raise DeclarationError(f"{path}: expected a plain file, got a folder") from None
    except DeclarationError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DeclarationError(f"{path} cannot be read: {reason}") from error
    size = max(status.st_size, len(data))
    if size > most_bytes:
        raise DeclarationError(
            f"{path}: expected at most {most_bytes >> 20} MiB of {what}, got {size} bytes"
        )
    return data


def replace_file(path: Path, text: str, *, inside: Path | None = None) -> None:
    """Write `text` to `path`, all of it or nothing. Create the folders that are missing.

    The text goes to a new file of a random name in the same folder, which then replaces `path`. A
    link at `path` is replaced; its target stays as it is. With `inside`, folders on the way must
    lie in that folder, once links are followed.

    Raise DeclarationError for a link that leads out of `inside`, OSError for what cannot be
    written.
    """
    if inside is not None:
        check_inside(path, inside)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.parent / f".{secrets.token_hex(8)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    number = os.open(unfinished, flags, 0o666)
    try:
        # Text of a model may hold lone surrogates, which UTF-8 cannot encode.
        with os.fdopen(number, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def check_inside(path: Path, folder: Path) -> None:
    """Raise DeclarationError if `path` or a folder above it is a link that leads out of `folder`.

    A path that does not exist yet is accepted. `folder` itself may be a link.
    """
    try:
        real, root = path.resolve(), folder.resolve()
    except (OSError, RuntimeError):  # links in a circle
        real, root = Path("/"), folder
    if not real.is_relative_to(root):
        raise DeclarationError(
            f"{path}: expected a file in {folder}, got a link that leads out of it; remove the link"
        )


def _kind(status: os.stat_result) -> str:
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(status.st_mode), "something else")
