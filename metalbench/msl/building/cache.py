"""Compiled kernels on disk, found by content; safe while many processes compile at once.

Every file is written under a name of its own and then moved into place, so a reader sees all of it
or none; the digest in a record proves that the object it names is the one that was compiled.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from metalbench._core import MachineError

Record = dict[str, Any]
# What systems, compilers and linkers say of a disk or a quota without room.
FULL = ("No space left", "Disk quota exceeded", "File too large")


def digest(*parts: str | bytes) -> str:
    """A name for these contents in this order."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def find_cache_folder() -> Path:
    """Where the cache is: $METALBENCH_CACHE, else the user's cache folder."""
    named = os.environ.get("METALBENCH_CACHE")
    return Path(named) if named else _of_user()


@functools.cache
def _of_user() -> Path:
    """Asked once: of a process without an environment the system has to say who the user is."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("metalbench"))


def locate_file(key: str, suffix: str) -> Path:
    """The file of a key."""
    return find_cache_folder() / key[:2] / f"{key[2:]}{suffix}"


def load(key: str) -> Record | None:
    """The record of a key; None when there is none or it is damaged."""
    try:
        seal, _, text = locate_file(key, ".json").read_bytes().partition(b"\n")
    except OSError:
        return None
    if seal.decode("latin1") != digest(text):
        return None
    record: Record = json.loads(text)
    return record


def store(key: str, record: Record) -> None:
    """Keep a record, in place of an older one.

    Raises MachineError when the cache cannot be written.
    """
    with write_atomically(locate_file(key, ".json")) as path:
        text = json.dumps(record)
        path.write_text(f"{digest(text)}\n{text}")


def artifact(contents: Sequence[str | bytes], suffix: str) -> str:
    """The file for what was compiled from `contents`, in a folder that exists.

    Raises MachineError when the cache cannot be written.
    """
    path = locate_file(digest("artifact", *contents), suffix)
    with _writable():
        path.parent.mkdir(parents=True, exist_ok=True)
    return str(path)


@contextmanager
def _writable() -> Iterator[None]:
    """Say what to do when the cache cannot be written."""
    try:
        yield
    except OSError as problem:
        raise MachineError(format_write_error(problem.strerror or str(problem))) from problem


def format_write_error(reason: str) -> str:
    """That the cache cannot be written for `reason`, and what to do: a full disk is told as one."""
    where = find_cache_folder()
    if any(word in reason for word in FULL):
        return (
            f"the cache of compiled kernels {where} cannot be written: {reason}{_left(where)}; "
            "free some space there, empty the cache (it fills again), or set METALBENCH_CACHE to a "
            "folder elsewhere"
        )
    return (
        f"the cache of compiled kernels {where} cannot be written: {reason}; set METALBENCH_CACHE "
        "to a folder that can"
    )


def _left(where: Path) -> str:
    """How much room there still is, of the nearest folder that exists."""
    existing = next((each for each in (where, *where.parents) if each.exists()), None)
    if existing is None:
        return ""
    return f" ({shutil.disk_usage(existing).free / 2**20:.1f} MiB free)"


@contextmanager
def write_atomically(target: Path) -> Iterator[Path]:
    """A path to write to, which becomes `target` at the end, at once, unless an error is raised.

    An OSError within is one of writing there: raises MachineError that says what to do.
    """
    with _writable():
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=target.suffix)
        os.close(handle)
        path = Path(name)
        try:
            yield path
            path.replace(target)
        finally:
            path.unlink(missing_ok=True)


def digest_file(path: str | Path) -> str | None:
    """Digest of a file's contents; None when it cannot be read."""
    try:
        return digest(Path(path).read_bytes())
    except OSError:
        return None
