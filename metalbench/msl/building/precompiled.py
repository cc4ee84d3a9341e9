"""Precompile the preamble of kernels: the MSL headers are parsed once for all equal preambles.

The first kernel stores its preamble in the cache. The second one finds it there and lets clang
precompile it, so a preamble that only one kernel has costs nothing. This only saves time: a file
that cannot be written, is damaged or does not fit is ignored.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from metalbench._core import Error
from metalbench.msl.building import cache
from metalbench.msl.building.answer import has_crashed, run_tool
from metalbench.msl.building.toolchain import Toolchain

# Headers are compared by content, because an installation changes their times.
_BY_CONTENT = ["-Xclang", "-fvalidate-ast-input-files-content"]
# Parts of clang's messages about an unusable precompiled header.
_REJECTION_MESSAGES = ("precompiled file", "PCH file", "AST file")


@dataclass(frozen=True)
class PrecompiledPreamble:
    """A preamble in the cache (`.h`) and its precompiled header (`.pch`)."""

    key: str
    lines: Path
    path: Path

    @property
    def flags(self) -> list[str]:
        """The flags of clang that load the precompiled header."""
        return [*_BY_CONTENT, "-include-pch", str(self.path)]

    @property
    def files(self) -> tuple[Path, Path]:
        """The files that clang reads in addition to the headers."""
        return self.lines, self.path

    def is_rejected_in(self, answer: subprocess.CompletedProcess[str]) -> bool:
        """Return whether clang may have failed because of the precompiled header."""
        words = (*_REJECTION_MESSAGES, str(self.lines), str(self.path))
        failed = answer.returncode != 0
        return failed and (has_crashed(answer) or any(word in answer.stderr for word in words))


def find_precompiled_preamble(
    head: str, tools: Toolchain, options: Sequence[str], *, make: bool = True
) -> PrecompiledPreamble | None:
    """Return the precompiled form of the preamble `head`; None if there is none.

    With `make` it is created if another kernel had the same preamble. Concurrent processes should
    not wait for each other to create it.
    """
    folder = str(cache.find_cache_folder().absolute())
    key = cache.digest("head", tools.key, repr(options), folder, head)
    lines, path = (cache.locate_file(key, suffix).absolute() for suffix in (".h", ".pch"))
    found = PrecompiledPreamble(key, lines, path)
    try:
        if make and not _is_known(found, head):
            return None
        record = cache.load(key)
        if record is None or record["object"] not in (None, cache.digest_file(path)):
            record = _precompile(found, tools, options) if make else None
    except Error:
        return None
    return found if record and record["object"] else None


def _is_known(found: PrecompiledPreamble, head: str) -> bool:
    """Return whether another kernel had this preamble; store it otherwise."""
    if cache.digest_file(found.lines) == cache.digest(head):
        return True
    with cache.write_atomically(found.lines) as path:
        path.write_text(head)
    return False


def _precompile(
    found: PrecompiledPreamble, tools: Toolchain, options: Sequence[str]
) -> cache.Record:
    """Precompile the preamble. A result that clang rejects is recorded and not retried."""
    command = [*tools.clang, "-x", "c++-header", *options, *_BY_CONTENT]
    # The file contains the output folder's name, so all processes use the same one.
    folder = found.path.with_suffix(".new")
    folder.mkdir(exist_ok=True)
    with cache.write_atomically(folder / found.path.name) as path:
        command += ["-o", str(path), str(found.lines)]
        reads = [tools.headers, found.lines]
        run_tool(command, "", found.path.parent, reads=reads, writes=[folder])
    # Another process may have moved the same file already.
    with suppress(FileNotFoundError):
        (folder / found.path.name).replace(found.path)
    reading = [*tools.clang, "-x", "c++", *options, *found.flags, "-fsyntax-only", "-"]
    usable = run_tool(reading, "", reads=[tools.headers, *found.files]).returncode == 0
    record = {"object": cache.digest_file(found.path) if usable else None}
    cache.store(found.key, record)
    return record
