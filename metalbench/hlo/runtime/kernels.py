"""Compile the kernels of programs once: programs share kernels whose texts are equal.

JAX runs each operation outside of `jit` as a program, and most of these have a kernel of another
one. So a process keeps the compiled kernels by their texts. The build cache records which source
has a kernel with some text, so that later processes find it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from metalbench import _core, build_cache
from metalbench.devices import find_kind
from metalbench.errors import MetalBenchError
from metalbench.hlo.codegen import DOUBLE_TYPE, GeneratedKernel, format_library
from metalbench.kernel.source_files import include_folders
from metalbench.msl.frontend.standards import DOUBLE_MACRO
from metalbench.process import usable_cores

# Compiled kernels that a process keeps; the oldest are dropped.
MAX_KERNELS = 4096


class KernelCache:
    """The compiled kernels of a device. Any thread may call the methods."""

    def __init__(self, device: _core.Device, *, checked: bool) -> None:
        self._device, self._checked = device, checked
        self._pipelines: dict[str, _core.Pipeline] = {}
        # Such a driver would compile all kernels of a source that has one of them.
        self._is_stored = not find_kind(device.kind).compiles_whole_sources

    def compile(self, kernels: Iterable[GeneratedKernel]) -> dict[str, _core.Pipeline]:
        """Return the pipelines of kernels by name. Raise CompileError."""
        given = {each.name: each for each in kernels}
        texts = {name: each.nameless_text for name, each in given.items()}
        found = {text: self._pipelines.get(text) for text in texts.values()}
        missing = {text: name for name, text in texts.items() if found[text] is None}
        names: dict[str, dict[str, str]] = {}
        unknown: dict[str, GeneratedKernel] = {}
        for text, name in missing.items():
            place = self._find_stored(given[name])
            if place is None:
                unknown[text] = given[name]
            else:
                names.setdefault(place[0], {})[text] = place[1]
        if unknown:
            new = format_library(each.text for each in unknown.values())
            names.setdefault(new, {}).update({text: each.name for text, each in unknown.items()})
        for source, of_text in names.items():
            found |= self._compile_source(source, of_text)
        if unknown and self._is_stored:
            _store_source(new, unknown.values())
        compiled = {text: each for text, each in found.items() if each is not None}
        self._keep(compiled)
        return {name: compiled[text] for name, text in texts.items()}

    def _compile_source(
        self, source: str, names: Mapping[str, str]
    ) -> dict[str, _core.Pipeline | None]:
        """Return the pipelines of a source by text; `names` are those of the kernels by text."""
        library = self._device.compile(
            source,
            filename="<hlo>",
            macros={DOUBLE_MACRO: "1"} if DOUBLE_TYPE in source else {},
            include_dirs=include_folders(),
            fast_math=False,
            checked=self._checked,
        )
        listed: Sequence[str] = list(names.values())
        library.prepare(listed)
        if len(listed) == 1:
            return {text: library.pipeline(name) for text, name in names.items()}
        # On devices where `prepare` does nothing, the pipelines are compiled here.
        with ThreadPoolExecutor(usable_cores()) as pool:
            return dict(zip(names, pool.map(library.pipeline, listed), strict=True))

    def _keep(self, compiled: Mapping[str, _core.Pipeline]) -> None:
        self._pipelines.update(compiled)
        for text in list(self._pipelines)[: max(len(self._pipelines) - MAX_KERNELS, 0)]:
            self._pipelines.pop(text, None)

    def _find_stored(self, kernel: GeneratedKernel) -> tuple[str, str] | None:
        """Return a source that has a kernel, and the kernel's name in it; None if unknown."""
        record = build_cache.load(_compute_key(kernel)) if self._is_stored else None
        if record is None:
            return None
        try:
            source = _locate_source(record["source"]).read_text()
        except OSError:
            return None
        is_intact = build_cache.digest(source) == record["source"]
        return (source, record["name"]) if is_intact else None


@cache
def find_kernels(device: _core.Device, *, checked: bool) -> KernelCache:
    """Return the kernels of a device that all programs share."""
    return KernelCache(device, checked=checked)


def _compute_key(kernel: GeneratedKernel) -> str:
    """Return the key of the record of a kernel, which depends on the functions that it calls."""
    functions = format_library([kernel.text]).removesuffix(kernel.text)
    return build_cache.digest("hlo kernel", functions, kernel.nameless_text)


def _locate_source(digest: str) -> Path:
    return build_cache.locate_file(digest, ".metal")


def _store_source(source: str, kernels: Iterable[GeneratedKernel]) -> None:
    """Record a source for each of its kernels."""
    digest = build_cache.digest(source)
    try:
        with build_cache.write_atomically(_locate_source(digest)) as path:
            path.write_text(source)
        for each in kernels:
            build_cache.store(_compute_key(each), {"source": digest, "name": each.name})
    except MetalBenchError:
        return  # The kernels' builds need the same cache, and report why it fails.
