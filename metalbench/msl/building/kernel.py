"""Compile one kernel of a source: as vectors if possible, or else thread by thread."""

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
    """Compile a kernel; return the fields of `CompiledKernel`, and `object`, the file's digest.

    Raise CompileError.
    """
    lowered = lower(source, function, constants)
    diagnostics = Diagnostics(source, lowered.code)
    translate = MessageTranslator(
        diagnostics.translate,
        lambda said: undefined(said, source),
        lambda ir: refuse_host_calls(ir, source, lowered.code),
        diagnostics.map_columns,
        _digest_source(source),
    )
    try:
        record = _compile_lowered(lowered, translate, options)
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


def _digest_source(source: Source) -> str:
    """Return a digest of a source and of the files that it includes."""
    folder = Path(source.filename).resolve().parent
    included = (str(folder / name) for name in source.tokens.files)
    return cache.digest(source.text, *(str(cache.digest_file(path)) for path in included))


def _compile_lowered(
    lowered: LoweredKernel, translate: MessageTranslator, options: BuildOptions
) -> cache.Record:
    """Return the compiled files, and the reason if the kernel is not vectorised."""
    fast_math = options.fast_math
    if options.mode == GPU:
        return _compile_ptx(lowered, translate, options) | {"reason": ""}
    record, reason = None, _explain_no_vectors(lowered, options)
    if options.counted:
        record = _compile_counted(lowered, translate, fast_math=fast_math)
    elif not reason:
        record, reason = _compile_vectors(lowered, translate, fast_math=fast_math)
    if record is None:
        reasons = [reason]
        record = _compile_threads(lowered, translate, options, reasons)
        reason = "; ".join(dict.fromkeys(reasons))
    return record | {"reason": reason}


def _explain_no_vectors(lowered: LoweredKernel, options: BuildOptions) -> str:
    """Return why a kernel is not vectorised, except for its code; empty if it may be."""
    if options.instrumentation:
        return f"a {options.instrumentation} build instruments every thread"
    if not lowered.needs_fibers:
        return "its threads do not synchronise"
    return "" if options.mode == "vectors" else "METALBENCH_ENGINE is fibers"


def _compile_vectors(
    lowered: LoweredKernel, translate: MessageTranslator, *, fast_math: bool
) -> tuple[cache.Record | None, str]:
    """Compile SIMD-groups as vectors. Return None with the reason if that is not possible."""
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
    """Compile a kernel that counts its operations: as fibers, whether it synchronises or not."""
    kind = {"fast_math": fast_math, "spaces": lowered.spaces}
    target = counted_threads_of(lowered.code, lowered.kernel.name, translate, **kind)
    return {"path": str(target), "engine": "fibers", "widths": (), "lane": ""}


def _compile_threads(
    lowered: LoweredKernel, translate: MessageTranslator, options: BuildOptions, reasons: list[str]
) -> cache.Record:
    """Compile a kernel whose threads run one by one: in loops, or as fibers.

    If optimisations are reduced, the reason is appended to `reasons`.
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
