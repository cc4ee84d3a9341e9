"""One kernel of a source, compiled: as vectors where that can be done, else thread by thread."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from metalbench._core import CompileError
from metalbench.msl.building import cache
from metalbench.msl.building.answer import CrashedError
from metalbench.msl.building.compiler import MessageTranslator
from metalbench.msl.building.counted import counted_threads_of
from metalbench.msl.building.diagnostics import Diagnostics
from metalbench.msl.building.host_calls import refuse_host_calls
from metalbench.msl.building.options import GPU, BuildOptions
from metalbench.msl.building.ptx import ptx_of
from metalbench.msl.building.threads import compile_threads
from metalbench.msl.building.toolchain import find_toolchain
from metalbench.msl.building.undefined import undefined
from metalbench.msl.building.vectors import check_size, entry_of, lane_of, widths_of
from metalbench.msl.emission.body import LaunchShape
from metalbench.msl.ir.text import IrError
from metalbench.msl.reading.constants import Value
from metalbench.msl.reading.program import Source
from metalbench.msl.rewriting.lower import LoweredKernel, lower


def compile_kernel(
    source: Source, function: str, constants: Mapping[str | int, Value], options: BuildOptions
) -> cache.Record:
    """The fields of `engine.Built`, and `object`, the digest of what was compiled.

    Raises CompileError.
    """
    lowered = lower(source, function, constants)
    diagnostics = Diagnostics(source, lowered.code)
    translate = MessageTranslator(
        diagnostics.translate,
        lambda said: undefined(said, source),
        lambda ir: refuse_host_calls(ir, source, lowered.code),
        diagnostics.map_columns,
        _written(source),
    )
    try:
        record = _compile(lowered, translate, options)
    except CrashedError as error:
        raise CompileError(f"{source.filename}: {error}") from None
    return record | {
        "name": lowered.kernel.name,
        "object": cache.digest_file(record["path"]),
        "arguments": lowered.bindings.arguments,
        "attributes": lowered.bindings.attributes,
        "max_threads": lowered.max_threads,
        "needs_fibers": lowered.needs_fibers,
        "fast_math": options.fast_math,
        "spaces": lowered.spaces,
        "any_order": lowered.any_order,
    }


def _written(source: Source) -> str:
    """Return what identifies the text of a source and of the files that it includes."""
    folder = Path(source.filename).resolve().parent
    included = (str(folder / name) for name in source.tokens.files)
    return cache.digest(source.text, *(str(cache.digest_file(path)) for path in included))


def _compile(
    lowered: LoweredKernel, translate: MessageTranslator, options: BuildOptions
) -> cache.Record:
    """What it was compiled to, and why not as vectors."""
    fast_math = options.fast_math
    if options.mode == GPU:
        return _compile_ptx(lowered, translate, options) | {"reason": ""}
    record, reason = None, _why_no_vectors(lowered, options)
    if options.counted:
        record = _compile_counted(lowered, translate, fast_math=fast_math)
    elif not reason:
        record, reason = _compile_vectors(lowered, translate, fast_math=fast_math)
    if record is None:
        reasons = [reason]
        record = _compile_threads(lowered, translate, options, reasons)
        reason = "; ".join(dict.fromkeys(reasons))
    return record | {"reason": reason}


def _why_no_vectors(lowered: LoweredKernel, options: BuildOptions) -> str:
    """What keeps a kernel from vectors whatever its instructions are; empty if nothing does."""
    if options.instrumentation:
        return f"a {options.instrumentation} build watches every thread by itself"
    if not lowered.needs_fibers:
        return "its threads do not synchronise"
    return "" if options.mode == "vectors" else "METALBENCH_ENGINE is fibers"


def _compile_vectors(
    lowered: LoweredKernel, translate: MessageTranslator, *, fast_math: bool
) -> tuple[cache.Record | None, str]:
    """A kernel whose SIMD-groups are vectors; None with the reason where it cannot be one."""
    kind = {"fast_math": fast_math, "spaces": lowered.spaces}
    try:
        lane = lane_of(lowered.code, find_toolchain(), translate, **kind)
        check_size(lane)
        widths = widths_of(lane)
        path = entry_of(
            lane, LaunchShape(widths[0], rows=True), lowered.kernel.name, fast_math=fast_math
        )
    except IrError as error:
        return None, str(error)
    with cache.write_atomically(lane.with_suffix(".cpp")) as text:
        text.write_text(lowered.code.text)
    return {"path": str(path), "engine": "vectors", "widths": widths, "lane": str(lane)}, ""


def _compile_ptx(
    lowered: LoweredKernel, translate: MessageTranslator, options: BuildOptions
) -> cache.Record:
    """Compile a kernel for NVIDIA GPUs."""
    path = ptx_of(
        lowered.code,
        translate,
        fast_math=options.fast_math,
        spaces=lowered.spaces,
        buffer_alignment=options.buffer_alignment,
    )
    return {"path": str(path), "engine": "cuda", "widths": (), "lane": ""}


def _compile_counted(
    lowered: LoweredKernel, translate: MessageTranslator, *, fast_math: bool
) -> cache.Record:
    """A kernel whose threads are counted: fibers, whether they synchronise or not."""
    kind = {"fast_math": fast_math, "spaces": lowered.spaces}
    target = counted_threads_of(lowered.code, lowered.kernel.name, translate, **kind)
    return {"path": str(target), "engine": "fibers", "widths": (), "lane": ""}


def _compile_threads(
    lowered: LoweredKernel, translate: MessageTranslator, options: BuildOptions, reasons: list[str]
) -> cache.Record:
    """A kernel whose threads are run one by one: in loops, or as fibers.

    Why it is compiled with fewer optimisations, if it is, is added to `reasons`.
    """
    fibers = lowered.needs_fibers or options.checked
    target = compile_threads(
        lowered.code,
        lowered.kernel.name,
        translate,
        fibers=fibers,
        checked=options.checked,
        fast_math=options.fast_math,
        spaces=lowered.spaces,
        tools=options.tools,
        reasons=reasons,
    )
    return {
        "path": str(target),
        "engine": "fibers" if fibers else "loops",
        "widths": (),
        "lane": "",
    }
