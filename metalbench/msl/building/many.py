"""Several kernels of a source at once, on all processors: those that can in one shared object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from metalbench._core import CompileError
from metalbench.cores import usable_cores
from metalbench.msl.building import cache
from metalbench.msl.building.compiler import Translate
from metalbench.msl.building.diagnostics import Diagnostics
from metalbench.msl.building.host_calls import refuse_host_calls
from metalbench.msl.building.kernel import compile_kernel
from metalbench.msl.building.options import BuildOptions
from metalbench.msl.building.threads import threads_of
from metalbench.msl.building.undefined import undefined
from metalbench.msl.reading.program import Source
from metalbench.msl.rewriting.edits import Code
from metalbench.msl.rewriting.lower_many import lower_many, may_be_one_of_many

# Fewer are compiled as fast by themselves; more might be too much for one run of clang.
_FEWEST, _MOST = 2, 64


def compile_many(
    source: Source, names: Sequence[str], options: BuildOptions
) -> dict[str, cache.Record]:
    """What `compile_kernel` gives, of kernels without constants.

    Those that are not in the answer do not compile, and are to be compiled one by one, which tells
    why. Raises CompileError if there is no such kernel.
    """
    fit = [name for name in names if may_be_one_of_many(source, name)]
    count = max(min(usable_cores(), len(fit) // _FEWEST), -(-len(fit) // _MOST))
    # The long ones lie beside each other in a source as often as not.
    parts = [fit[number::count] for number in range(count)]
    together = {name for part in parts for name in part}
    tasks: list[Callable[[], dict[str, cache.Record]]] = [
        *(partial(_together, source, part, fast_math=options.fast_math) for part in parts),
        *(partial(_alone, source, each, options) for each in names if each not in together),
    ]
    with ThreadPoolExecutor(usable_cores()) as pool:
        made = [pool.submit(task) for task in tasks]
        return {name: record for one in made for name, record in one.result().items()}


def _alone(source: Source, name: str, options: BuildOptions) -> dict[str, cache.Record]:
    try:
        return {name: compile_kernel(source, name, {}, options)}
    except CompileError:
        return {}


def _together(source: Source, names: Sequence[str], *, fast_math: bool) -> dict[str, cache.Record]:
    try:
        many = lower_many(source, names)
        path = _object_of(source, names, many.code, fast_math=fast_math) if many else None
    except CompileError:
        return {}
    if many is None or path is None:
        return {}
    common = {
        "path": str(path),
        "object": cache.file_digest(path),
        "engine": "loops",
        "reason": "its threads do not synchronise",
        "widths": (),
        "lane": "",
        "needs_fibers": False,
        "fast_math": fast_math,
        "spaces": False,
    }
    return {
        one.kernel.name: common
        | {
            "name": one.kernel.name,
            "entry_name": one.entry_name,
            "arguments": one.bindings.arguments,
            "attributes": one.bindings.attributes,
            "max_threads": one.max_threads,
            "any_order": one.any_order,
        }
        for one in many.kernels
    }


def _object_of(source: Source, names: Sequence[str], code: Code, *, fast_math: bool) -> Path:
    translate = Translate(
        Diagnostics(source, code).translate,
        lambda said: undefined(said, source),
        lambda ir: refuse_host_calls(ir, source),
    )
    return threads_of(
        code,
        " ".join(names),
        translate,
        fibers=False,
        checked=False,
        fast_math=fast_math,
        spaces=False,
    )
