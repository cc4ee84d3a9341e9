"""Compile the kernels of programs once: programs share kernels whose texts are equal.

JAX runs each operation outside of `jit` as a program, and most of these have a kernel of another
one. So a process keeps the compiled kernels by their texts. The build cache records which source
has a kernel with some text, so that later processes find it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from metalbench import _core, build_cache
from metalbench.devices import find_kind
from metalbench.errors import CompileError, MetalBenchError
from metalbench.hlo.codegen import DOUBLE_TYPE, MATRIX_CALL, GeneratedKernel, format_library
from metalbench.kernel.source_files import include_folders
from metalbench.msl.frontend.standards import DOUBLE_MACRO, QUICK_MACRO
from metalbench.msl.toolchain.compiler_pool import open_compiler_pool
from metalbench.process import usable_cores

# Compiled kernels that a process keeps; the oldest are dropped.
MAX_KERNELS = 4096
# Threads and lines of kernels that are compiled with few passes, if all of a program's new kernels
# are so small. LLVM still vectorises the loop over threads, but it neither unrolls loops nor
# combines the statements of a thread to vectors.
QUICK_THREADS, QUICK_LINES = 1 << 15, 100


class _KernelSource(NamedTuple):
    """The text of a source, and whether its kernels are compiled with few passes."""

    text: str
    is_quick: bool


class _CompiledKernel(NamedTuple):
    """A pipeline, and whether it was compiled with few passes."""

    pipeline: _core.Pipeline
    is_quick: bool


class KernelCache:
    """The compiled kernels of a device. Any thread may call the methods."""

    def __init__(self, device: _core.Device, *, checked: bool) -> None:
        self._device, self._checked = device, checked
        self._pipelines: dict[str, _CompiledKernel] = {}
        # Such a driver would compile all kernels of a source that has one of them.
        self._is_stored = not find_kind(device.kind).compiles_whole_sources
        self._may_be_quick = find_kind(device.kind).is_simulated and not checked

    def build(self, programs: Sequence[Sequence[GeneratedKernel]]) -> None:
        """Build the new kernels of several programs together. `compile` raises the errors."""
        # Sources with few and with all passes; those with doubles have other functions.
        groups: dict[tuple[bool, bool], dict[str, GeneratedKernel]] = {}
        for kernels in programs:
            new = {each.nameless_text: each for each in kernels}
            new = {text: each for text, each in new.items() if text not in self._pipelines}
            is_quick = all(map(self._is_small, new.values()))
            for text, each in new.items():
                if self._find_stored(each)[0] is None:
                    kind = is_quick, DOUBLE_TYPE in each.text
                    groups.setdefault(kind, {}).setdefault(text, each)
        for group in groups.values():
            # Names are those of a program.
            renamed = [each.rename(f"{each.name}_{n}") for n, each in enumerate(group.values())]
            with suppress(CompileError):
                self.compile(renamed)

    def compile(self, kernels: Iterable[GeneratedKernel]) -> dict[str, _core.Pipeline]:
        """Return the pipelines of kernels by name. Raise CompileError."""
        given = {each.name: each for each in kernels}
        texts = {name: each.nameless_text for name, each in given.items()}
        large = {texts[name] for name, each in given.items() if not self._is_small(each)}
        found: dict[str, _CompiledKernel] = {}
        unknown: dict[str, GeneratedKernel] = {}
        # Names by text of the kernels of each source.
        sources: dict[_KernelSource, dict[str, str]] = {}
        for name, text in texts.items():
            known = self._pipelines.get(text)
            if known is not None and not (known.is_quick and text in large):
                found[text] = known
                continue
            source, its_name = self._find_stored(given[name])
            if source is None or (source.is_quick and text in large):
                unknown[text] = given[name]
            else:
                sources.setdefault(source, {})[text] = its_name
        if unknown:
            text = format_library(each.text for each in unknown.values())
            new = _KernelSource(text, self._may_be_quick and large.isdisjoint(unknown))
            names = {text: each.name for text, each in unknown.items()}
            sources[new] = sources.get(new, {}) | names
        for source, names in sources.items():
            found |= self._compile_source(source, names)
        if unknown and self._is_stored:
            _store_source(new, unknown.values())
        self._keep(found)
        return {name: found[text].pipeline for name, text in texts.items()}

    def _is_small(self, kernel: GeneratedKernel) -> bool:
        return self._may_be_quick and is_small(kernel)

    def _compile_source(
        self, source: _KernelSource, names: Mapping[str, str]
    ) -> dict[str, _CompiledKernel]:
        """Return the kernels of a source by text; `names` are those of the kernels by text."""
        macros = {DOUBLE_MACRO: "1"} if DOUBLE_TYPE in source.text else {}
        library = self._device.compile(
            source.text,
            filename="<hlo>",
            macros=macros | ({QUICK_MACRO: "1"} if source.is_quick else {}),
            include_dirs=include_folders(),
            fast_math=False,
            checked=self._checked,
        )
        listed = list(names.values())
        library.prepare(listed)
        if len(listed) == 1:
            pipelines = [library.pipeline(listed[0])]
        else:
            # On devices where `prepare` does nothing, the pipelines are compiled here.
            with open_compiler_pool(usable_cores()) as pool:
                pipelines = list(pool.map(library.pipeline, listed))
        return {
            text: _CompiledKernel(each, source.is_quick)
            for text, each in zip(names, pipelines, strict=True)
        }

    def _keep(self, compiled: Mapping[str, _CompiledKernel]) -> None:
        self._pipelines.update(compiled)
        for text in list(self._pipelines)[: max(len(self._pipelines) - MAX_KERNELS, 0)]:
            self._pipelines.pop(text, None)

    def _find_stored(self, kernel: GeneratedKernel) -> tuple[_KernelSource | None, str]:
        """Return a source that has a kernel, or None, and the kernel's name in it."""
        record = build_cache.load(_compute_key(kernel)) if self._is_stored else None
        if record is None:
            return None, ""
        try:
            text = _locate_source(record["source"]).read_text()
        except OSError:
            return None, ""
        if build_cache.digest(text) != record["source"]:
            return None, ""
        return _KernelSource(text, record["is_quick"]), record["name"]


def is_small(kernel: GeneratedKernel) -> bool:
    """Return whether a kernel runs so shortly that the time to compile it matters more."""
    is_loop_free = not any(each in kernel.text for each in ("for (", "while (", MATRIX_CALL))
    is_short = kernel.text.count("\n") <= QUICK_LINES
    return kernel.threads <= QUICK_THREADS and is_loop_free and is_short


@cache
def find_kernels(device: _core.Device, *, checked: bool) -> KernelCache:
    """Return the kernels of a device that all programs share."""
    return KernelCache(device, checked=checked)


def _compute_key(kernel: GeneratedKernel) -> str:
    """Return the key of the record of a kernel, which depends on the functions that it calls."""
    functions = format_library([kernel.text]).removesuffix(kernel.text)
    return build_cache.digest("hlo kernel 2", functions, kernel.nameless_text)


def _locate_source(digest: str) -> Path:
    return build_cache.locate_file(digest, ".metal")


def _store_source(source: _KernelSource, kernels: Iterable[GeneratedKernel]) -> None:
    """Record a source for each of its kernels."""
    digest = build_cache.digest(source.text)
    record = {"source": digest, "is_quick": source.is_quick}
    try:
        with build_cache.write_atomically(_locate_source(digest)) as path:
            path.write_text(source.text)
        for each in kernels:
            build_cache.store(_compute_key(each), record | {"name": each.name})
    except MetalBenchError:
        return  # The kernels' builds need the same cache, and report why it fails.
