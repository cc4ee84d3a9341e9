"""One kernel of a source, compiled: as vectors where that can be done, else thread by thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalbench.msl.building import cache
from metalbench.msl.building.compiler import Translate
from metalbench.msl.building.counted import counted_threads_of
from metalbench.msl.building.diagnostics import Diagnostics
from metalbench.msl.building.host_calls import refuse_host_calls
from metalbench.msl.building.ptx import ptx_of
from metalbench.msl.building.threads import threads_of
from metalbench.msl.building.toolchain import toolchain
from metalbench.msl.building.undefined import undefined
from metalbench.msl.building.vectors import entry_of, lane_of, widths_of
from metalbench.msl.emission.body import Launch
from metalbench.msl.ir.text import IrError
from metalbench.msl.reading.constants import Value
from metalbench.msl.reading.program import Source
from metalbench.msl.rewriting.lower import Lowered, lower


def compile_kernel(
    source: Source,
    function: str,
    constants: Mapping[str | int, Value],
    *,
    checked: bool,
    fast_math: bool,
    vectors: bool,
    gpu: bool = False,
    tools: Sequence[str] = (),
    counted: bool = False,
) -> cache.Record:
    """The fields of `engine.Built`, and `object`, the digest of what was compiled.

    Without `vectors` all kernels are built thread by thread; with `gpu`, as PTX. `tools` are what a
    checked build is for; one that is `counted` counts what threads do. Raises CompileError.
    """
    lowered = lower(source, function, constants)
    translate = Translate(
        Diagnostics(source, lowered.code).translate,
        lambda said: undefined(said, source),
        lambda ir: refuse_host_calls(ir, source),
    )
    watched = _watched(checked=checked, counted=counted)
    reason = "" if gpu else _why_no_vectors(lowered, watched=watched, vectors=vectors)
    record = None
    if gpu:
        record = _compile_ptx(lowered, translate, fast_math=fast_math)
    elif counted:
        record = _compile_counted(lowered, translate, fast_math=fast_math)
    elif not reason:
        record, reason = _compile_vectors(lowered, translate, fast_math=fast_math)
    if record is None:
        kind = {"checked": checked, "fast_math": fast_math}
        record = _compile_threads(lowered, translate, **kind, tools=tools)
    return record | {
        "name": lowered.kernel.name,
        "object": cache.file_digest(record["path"]),
        "arguments": lowered.bindings.arguments,
        "attributes": lowered.bindings.attributes,
        "max_threads": lowered.max_threads,
        "needs_fibers": lowered.needs_fibers,
        "reason": reason,
        "fast_math": fast_math,
        "spaces": lowered.spaces,
        "any_order": lowered.any_order,
    }


def _watched(*, checked: bool, counted: bool) -> str:
    return "checked" if checked else "counted" if counted else ""


def _why_no_vectors(lowered: Lowered, *, watched: str, vectors: bool) -> str:
    """What keeps a kernel from vectors whatever its instructions are; empty if nothing does."""
    if watched:
        return f"a {watched} build watches every thread by itself"
    if not lowered.needs_fibers:
        return "its threads do not synchronise"
    return "" if vectors else "METALBENCH_ENGINE is fibers"


def _compile_vectors(
    lowered: Lowered, translate: Translate, *, fast_math: bool
) -> tuple[cache.Record | None, str]:
    """A kernel whose SIMD-groups are vectors; None with the reason where it cannot be one."""
    lane = lane_of(lowered.code, toolchain(), translate, fast_math=fast_math, spaces=lowered.spaces)
    try:
        widths = widths_of(lane)
        path = entry_of(
            lane, Launch(widths[0], rows=True), lowered.kernel.name, fast_math=fast_math
        )
    except IrError as error:
        return None, str(error)
    with cache.replacing(lane.with_suffix(".cpp")) as text:
        text.write_text(lowered.code.text)
    return {"path": str(path), "engine": "vectors", "widths": widths, "lane": str(lane)}, ""


def _compile_ptx(lowered: Lowered, translate: Translate, *, fast_math: bool) -> cache.Record:
    """A kernel for NVIDIA GPUs."""
    path = ptx_of(lowered.code, translate, fast_math=fast_math, spaces=lowered.spaces)
    return {"path": str(path), "engine": "cuda", "widths": (), "lane": ""}


def _compile_counted(lowered: Lowered, translate: Translate, *, fast_math: bool) -> cache.Record:
    """A kernel whose threads are counted: fibers, whether they synchronise or not."""
    kind = {"fast_math": fast_math, "spaces": lowered.spaces}
    target = counted_threads_of(lowered.code, lowered.kernel.name, translate, **kind)
    return {"path": str(target), "engine": "fibers", "widths": (), "lane": ""}


def _compile_threads(
    lowered: Lowered,
    translate: Translate,
    *,
    checked: bool,
    fast_math: bool,
    tools: Sequence[str],
) -> cache.Record:
    """A kernel whose threads are run one by one: in loops, or as fibers."""
    fibers = lowered.needs_fibers or checked
    target = threads_of(
        lowered.code,
        lowered.kernel.name,
        translate,
        fibers=fibers,
        checked=checked,
        fast_math=fast_math,
        spaces=lowered.spaces,
        tools=tools,
    )
    return {
        "path": str(target),
        "engine": "fibers" if fibers else "loops",
        "widths": (),
        "lane": "",
    }
