"""Compile several kernels of a source on all processors; clang parses shared code once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush

from metalbench._core import CompileError
from metalbench.msl.building import cache
from metalbench.msl.building.kernel import compile_kernel
from metalbench.msl.building.options import BuildOptions
from metalbench.msl.building.together import BatchedTranslationUnit, parse_batch
from metalbench.msl.ir.text import IrError
from metalbench.msl.reading.program import Source
from metalbench.msl.rewriting.lower_many import find_batch_kind
from metalbench.process import usable_cores

# Fewer kernels compile as fast separately. More could exceed the limits of one run of clang.
_MIN_BATCH, _MAX_BATCH = 2, 64


@dataclass(order=True)
class _CompileTask:
    """One task; lower ranks run first: tasks that start others, then long ones."""

    rank: int
    do: Callable[[], _TaskResult] = field(compare=False)


@dataclass
class _TaskResult:
    """Records of compiled kernels, and the tasks that can run now."""

    records: dict[str, cache.Record] = field(default_factory=dict)
    then: list[_CompileTask] = field(default_factory=list)


def compile_many(
    source: Source, names: Sequence[str], options: BuildOptions
) -> dict[str, cache.Record]:
    """Compile kernels without function constants; return records as `compile_kernel` does.

    Kernels that do not compile are missing in the result; compile them with `compile_kernel` for
    the error. Raise CompileError for an unknown kernel.
    """
    cores = usable_cores()
    kinds = {name: find_batch_kind(source, name) for name in names}
    lanes = [name for name in names if kinds[name]] if options.mode == "vectors" else []
    loops = [name for name in names if kinds[name] is False]
    if len(lanes) < _MIN_BATCH:
        lanes = []
    tasks = []
    for synchronise, parts in (
        (True, _split_names(lanes, cores // 2)),
        (False, _split_names(loops, cores - bool(lanes))),
    ):
        for part in parts:
            kind = {"synchronise": synchronise, "make_head": part is parts[0]}
            pieces = -(-cores // len(parts))
            tasks.append(
                _CompileTask(0, partial(_parse_part, source, part, options, pieces, **kind))
            )
    rest = [name for name in names if name not in {*lanes, *loops}]
    tasks += [_CompileTask(1, partial(_compile_one, source, each, options)) for each in rest]
    return _run_tasks(tasks, cores)


def _split_names(names: Sequence[str], count: int) -> list[Sequence[str]]:
    """Split names into about `count` parts that are parsed together."""
    count = max(min(count, len(names) // _MIN_BATCH), -(-len(names) // _MAX_BATCH))
    # Long kernels are often adjacent in a source.
    return [names[number::count] for number in range(count)]


def _run_tasks(tasks: Iterable[_CompileTask], cores: int) -> dict[str, cache.Record]:
    """Run these tasks and their successors; return all records."""
    found: dict[str, cache.Record] = {}
    ready = sorted(tasks)
    running: set[Future[_TaskResult]] = set()
    with ThreadPoolExecutor(cores) as pool:
        while ready or running:
            while ready and len(running) < cores:
                running.add(pool.submit(heappop(ready).do))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for step in (each.result() for each in done):
                found |= step.records
                for each in step.then:
                    heappush(ready, each)
    return found


def _compile_one(source: Source, name: str, options: BuildOptions) -> _TaskResult:
    try:
        return _TaskResult({name: compile_kernel(source, name, {}, options)})
    except CompileError:
        return _TaskResult()


def _parse_part(
    source: Source, names: Sequence[str], options: BuildOptions, pieces: int, **kind: bool
) -> _TaskResult:
    """Run clang's front end for some kernels; return tasks for up to `pieces` parts.

    Of concurrent parts, only the first one precompiles the preamble (`kind`).
    """
    try:
        parsed = parse_batch(source, names, fast_math=options.fast_math, **kind)
    except CompileError:
        return _TaskResult()
    if parsed is None:
        return _TaskResult()
    # Kernels that synchronise compile in short tasks, which fill the time after the others.
    rank = 3 if kind["synchronise"] else 2
    found = parsed.partition(pieces)
    return _TaskResult(
        then=[_CompileTask(rank, partial(_compile_piece, parsed, each)) for each in found]
    )


def _compile_piece(parsed: BatchedTranslationUnit, piece: Sequence[str]) -> _TaskResult:
    try:
        return _TaskResult(parsed.compile_part(piece))
    except (CompileError, IrError):
        return _TaskResult()
