"""Kernels built for macOS on another system, and executed from their Mach-O form in an emulator."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from arm64.emulated import Size, driver, emulate, order
from elftools.elf.elffile import ELFFile
from mac.image import loaded

from metalbench.msl import engine
from metalbench.msl.toolchain import clang
from metalbench.msl.toolchain.clang import MACH_O
from metalbench.msl.toolchain.symbolize import symbolize

BASE = 0x10_0000_0000
# What the driver has of what kernels call. What dyld binds lazily, this loader binds at once.
CALLED = ("memcpy", "memmove", "memset", "bzero")
UNUSED = ("dyld_stub_binder", "snprintf", "write")


@contextmanager
def building_for_macos(cache: Path) -> Iterator[None]:
    """Let the front end build as it does on a Mac, with a separate cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clang, "find_host_target", lambda: MACH_O)
        patch.setenv("METALBENCH_CACHE", str(cache))
        clang._find_by_name.cache_clear()
        try:
            yield
        finally:
            clang._find_by_name.cache_clear()


def execute(
    built: engine.CompiledKernel,
    arrays: Mapping[str, np.ndarray],
    threads: Size,
    grid: Size,
    folder: Path,
    threadgroup_bytes: Mapping[str, int] | None = None,
) -> tuple[dict[str, np.ndarray], list[tuple[str, int]]]:
    """The arrays after a launch of a build, and findings with their lines in the source."""
    path, width = Path(built.path), 1
    if built.engine == "vectors":
        fitting = [each for each in built.widths if threads[0] % each == grid[0] % each == 0]
        width = fitting[0] if fitting else 32
        path = Path(built.entry(width, bool(fitting)))
    program = driver(folder)
    with program.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        own = {each.name: each["st_value"] for each in table.iter_symbols()}
    imports = {name: own[name] for name in CALLED} | dict.fromkeys(UNUSED, 0)
    image = loaded(path, BASE, imports)
    entries = [image.symbols.get(f"mb_{name}", 0) for name in ("span", "thread", "lanes")]
    if entries[2]:
        entries[1] = 0  # as the runtime does: threads one by one are for what does not fit
    first = image.initialisers[0] if image.initialisers else 0
    assert len(image.initialisers) <= 1
    head = struct.pack("<7Q", BASE, len(image.memory), *entries, image.symbols["mb_info"], first)
    arguments = {str(each["name"]): each for each in built.arguments}
    given = order(threads, grid, width, arguments, arrays, threadgroup_bytes)
    found, said = emulate(program, head + image.memory, given, arrays)
    findings = []
    for line in said:
        what, pc = line.split()
        place = symbolize(str(path), int(pc, 16) - BASE - 1)
        findings.append((what, place[1] if place else 0))
    return found, findings
