"""Digests of the files in folders, which are read again only when one of them has changed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from metalbench._core import Error
from metalbench.msl.building import cache


def digest_trees(folders: Sequence[tuple[Path, tuple[str, ...]]]) -> str:
    """A digest of names and contents of the files in each folder, those below it too.

    Of a folder only names that end in one of its suffixes count; with an empty one all do. It is
    kept by what the system says of the files without reading them: size, times and place on disk.
    """
    found = [
        (folder, name) for folder, suffixes in folders for name in sorted(_files(folder, suffixes))
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
    # It costs time alone, and who needs the cache says what is wrong with it.
    with suppress(Error):
        cache.store(key, {"digest": made})
    return made


def _files(folder: Path, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Paths within a folder, by slashes."""
    for here, _, names in os.walk(folder):
        inside = os.path.relpath(here, folder).replace(os.sep, "/")
        for name in names:
            if name.endswith(suffixes):
                yield name if inside == "." else f"{inside}/{name}"
