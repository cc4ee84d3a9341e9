"""Content-addressed cache of compiled kernels on disk; safe with many concurrent processes.

Every file is written under a temporary name and then renamed, so a reader sees either the whole
file or none. The digest in a record verifies the object file that it names.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from metalbench._core import Error, MachineError

Record = dict[str, Any]
# Messages of systems, compilers and linkers about a full disk or quota.
FULL = ("No space left", "Disk quota exceeded", "File too large")


def digest(*parts: str | bytes) -> str:
    """Return a hexadecimal digest of these parts in this order."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def find_cache_folder() -> Path:
    """Return the cache's folder: $METALBENCH_CACHE, or else the user's cache folder."""
    named = os.environ.get("METALBENCH_CACHE")
    return Path(named) if named else _find_user_cache()


@functools.cache
def _find_user_cache() -> Path:
    """Return the user's cache folder; cached, because it may query the system."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("metalbench"))


def locate_file(key: str, suffix: str) -> Path:
    """Return the path of a key's file."""
    return find_cache_folder() / key[:2] / f"{key[2:]}{suffix}"


def load(key: str) -> Record | None:
    """Return the record of a key; None if there is none or it is damaged."""
    try:
        seal, _, text = locate_file(key, ".json").read_bytes().partition(b"\n")
    except OSError:
        return None
    if seal.decode("latin1") != digest(text):
        return None
    record: Record = json.loads(text)
    return record


def store(key: str, record: Record) -> None:
    """Store a record, replacing an older one. Raise MachineError if the cache cannot be written."""
    with write_atomically(locate_file(key, ".json")) as path:
        text = json.dumps(record)
        path.write_text(f"{digest(text)}\n{text}")


def artifact(contents: Sequence[str | bytes], suffix: str) -> str:
    """Return the path for a file compiled from `contents`; its folder exists.

    Raise MachineError if the cache cannot be written.
    """
    path = locate_file(digest("artifact", *contents), suffix)
    with _explain_write_errors():
        path.parent.mkdir(parents=True, exist_ok=True)
    return str(path)


@contextmanager
def _explain_write_errors() -> Iterator[None]:
    """Convert an OSError to a MachineError that says how to fix it."""
    try:
        yield
    except OSError as problem:
        raise MachineError(format_write_error(problem.strerror or str(problem))) from problem


def format_write_error(reason: str) -> str:
    """Return the message for a cache that cannot be written, and how to fix it."""
    where = find_cache_folder()
    if any(word in reason for word in FULL):
        return (
            f"the cache of compiled kernels {where} cannot be written: "
            f"{reason}{_format_free_space(where)}; free some space there, empty the cache (it "
            "fills again), or set METALBENCH_CACHE to another folder"
        )
    return (
        f"the cache of compiled kernels {where} cannot be written: {reason}; set METALBENCH_CACHE "
        "to a folder that can"
    )


def _format_free_space(where: Path) -> str:
    """Return the free space of the nearest folder that exists, as text."""
    existing = next((each for each in (where, *where.parents) if each.exists()), None)
    if existing is None:
        return ""
    return f" ({shutil.disk_usage(existing).free / 2**20:.1f} MiB free)"


@contextmanager
def write_atomically(target: Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed to `target` at the end, unless an error is raised.

    Raise MachineError for an OSError inside.
    """
    with _explain_write_errors():
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
    """Return the digest of a file's contents; None if it cannot be read."""
    try:
        return digest(Path(path).read_bytes())
    except OSError:
        return None


def read_file_state(path: str | Path) -> list[int] | None:
    """Return size, times, inode and device of a file, which change with it; None without it."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev]


# Digest the files of folders. Unchanged files are not read again.


def digest_trees(folders: Sequence[tuple[Path, tuple[str, ...]]]) -> str:
    """Return a digest of names and contents of the files in each folder, recursively.

    Only names that end in one of a folder's suffixes count; an empty suffix includes all. The
    digest is cached by the files' size, times, inode and device.
    """
    found = [
        (folder, name)
        for folder, suffixes in folders
        for name in sorted(_list_files(folder, suffixes))
    ]
    states = []
    for folder, name in found:
        states.append(f"{folder}/{name} {read_file_state(folder / name)}")
    key = digest("tree", *states)
    record = load(key)
    if record is not None:
        return str(record["digest"])
    parts = [part for folder, name in found for part in (name, (folder / name).read_bytes())]
    made = digest(*parts)
    # Without the record only time is lost; other uses of the cache report the error.
    with suppress(Error):
        store(key, {"digest": made})
    return made


def _list_files(folder: Path, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield paths relative to a folder, with slashes."""
    for here, _, names in os.walk(folder):
        inside = os.path.relpath(here, folder).replace(os.sep, "/")
        for name in names:
            if name.endswith(suffixes):
                yield name if inside == "." else f"{inside}/{name}"
