"""The MSL headers parsed once, for all kernels that begin with the same lines.

A first kernel leaves these lines in the cache, a second one finds them there and has clang
precompile them, so that lines which no other kernel begins with cost nothing. All of this only
saves time: what cannot be written, is damaged or does not fit is done without.
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

# Headers that were only touched, as by an installation, are the same.
_BY_CONTENT = ["-Xclang", "-fvalidate-ast-input-files-content"]
# How clang names what it cannot use.
_REFUSED = ("precompiled file", "PCH file", "AST file")


@dataclass(frozen=True)
class PrecompiledPreamble:
    """Lines in the cache (`.h`) and what clang made of them (`.pch`)."""

    key: str
    lines: Path
    path: Path

    @property
    def flags(self) -> list[str]:
        """What makes clang begin where the lines end."""
        return [*_BY_CONTENT, "-include-pch", str(self.path)]

    @property
    def files(self) -> tuple[Path, Path]:
        """What clang reads then, besides the headers."""
        return self.lines, self.path

    def is_rejected_in(self, answer: subprocess.CompletedProcess[str]) -> bool:
        """Whether clang failed for what may be no fault of the text's."""
        words = (*_REFUSED, str(self.lines), str(self.path))
        failed = answer.returncode != 0
        return failed and (has_crashed(answer) or any(word in answer.stderr for word in words))


def find_precompiled_preamble(
    head: str, tools: Toolchain, options: Sequence[str], *, make: bool = True
) -> PrecompiledPreamble | None:
    """What to begin with instead of the lines `head`; None where these must do.

    It is made if need be, unless others do at the same time: they would wait for it in vain.
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
            record = _made(found, tools, options) if make else None
    except Error:
        return None
    return found if record and record["object"] else None


def _is_known(found: PrecompiledPreamble, head: str) -> bool:
    """Whether another kernel came with these lines; if none has, the next one finds them."""
    if cache.digest_file(found.lines) == cache.digest(head):
        return True
    with cache.write_atomically(found.lines) as path:
        path.write_text(head)
    return False


def _made(found: PrecompiledPreamble, tools: Toolchain, options: Sequence[str]) -> cache.Record:
    """Have clang parse the lines; a file that it then refuses to read is not tried again."""
    command = [*tools.clang, "-x", "c++-header", *options, *_BY_CONTENT]
    # From one folder to one, which are kept in the file: all processes make the same bytes.
    folder = found.path.with_suffix(".new")
    folder.mkdir(exist_ok=True)
    with cache.write_atomically(folder / found.path.name) as path:
        command += ["-o", str(path), str(found.lines)]
        reads = [tools.headers, found.lines]
        run_tool(command, "", found.path.parent, reads=reads, writes=[folder])
    # Another process that makes the same may have moved this one already.
    with suppress(FileNotFoundError):
        (folder / found.path.name).replace(found.path)
    reading = [*tools.clang, "-x", "c++", *options, *found.flags, "-fsyntax-only", "-"]
    usable = run_tool(reading, "", reads=[tools.headers, *found.files]).returncode == 0
    record = {"object": cache.digest_file(found.path) if usable else None}
    cache.store(found.key, record)
    return record
