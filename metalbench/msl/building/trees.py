"""Digest the files of folders. Unchanged files are not read again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from metalbench._core import Error
from metalbench.msl.building import cache


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
        state = os.stat(folder / name)
        numbers = (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev)
        states.append(f"{folder}/{name} {numbers}")
    key = cache.digest("tree", *states)
    record = cache.load(key)
    if record is not None:
        return str(record["digest"])
    parts = [part for folder, name in found for part in (name, (folder / name).read_bytes())]
    made = cache.digest(*parts)
    # Without the record only time is lost; other uses of the cache report the error.
    with suppress(Error):
        cache.store(key, {"digest": made})
    return made


def _list_files(folder: Path, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield paths relative to a folder, with slashes."""
    for here, _, names in os.walk(folder):
        inside = os.path.relpath(here, folder).replace(os.sep, "/")
        for name in names:
            if name.endswith(suffixes):
                yield name if inside == "." else f"{inside}/{name}"
