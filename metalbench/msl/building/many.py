"""Several kernels of a source at once, on all processors: clang parses what they share once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush

from metalbench._core import CompileError
from metalbench.cores import usable_cores
from metalbench.msl.building import cache
from metalbench.msl.building.kernel import compile_kernel
from metalbench.msl.building.options import BuildOptions
from metalbench.msl.building.together import BatchedTranslationUnit, parse_batch
from metalbench.msl.ir.text import IrError
from metalbench.msl.reading.program import Source
from metalbench.msl.rewriting.lower_many import find_batch_kind

# Fewer are compiled as fast by themselves; more might be too much for one run of clang.
_FEWEST, _MOST = 2, 64


@dataclass(order=True)
class _Task:
    """What is to be done, those of a lower rank first: what others follow from, then the long."""

    rank: int
    do: Callable[[], _Step] = field(compare=False)


@dataclass
class _Step:
    """What kernels were compiled to, and what else can be done now."""

    records: dict[str, cache.Record] = field(default_factory=dict)
    then: list[_Task] = field(default_factory=list)


def compile_many(
    source: Source, names: Sequence[str], options: BuildOptions
) -> dict[str, cache.Record]:
    """What `compile_kernel` gives, of kernels without constants.

    Those that are not in the answer do not compile, and are to be compiled one by one, which tells
    why. Raises CompileError if there is no such kernel.
    """
    cores = usable_cores()
    kinds = {name: find_batch_kind(source, name) for name in names}
    lanes = [name for name in names if kinds[name]] if options.mode == "vectors" else []
    loops = [name for name in names if kinds[name] is False]
    if len(lanes) < _FEWEST:
        lanes = []
    tasks = []
    for synchronise, parts in (
        (True, _parts(lanes, cores // 2)),
        (False, _parts(loops, cores - bool(lanes))),
    ):
        for part in parts:
            kind = {"synchronise": synchronise, "make_head": part is parts[0]}
            pieces = -(-cores // len(parts))
            tasks.append(_Task(0, partial(_front, source, part, options, pieces, **kind)))
    rest = [name for name in names if name not in {*lanes, *loops}]
    tasks += [_Task(1, partial(_alone, source, each, options)) for each in rest]
    return _done(tasks, cores)


def _parts(names: Sequence[str], count: int) -> list[Sequence[str]]:
    """What is parsed together: so many parts, if there are names enough."""
    count = max(min(count, len(names) // _FEWEST), -(-len(names) // _MOST))
    # The long ones lie beside each other in a source as often as not.
    return [names[number::count] for number in range(count)]


def _done(tasks: Iterable[_Task], cores: int) -> dict[str, cache.Record]:
    """What these tasks and those that follow from them find."""
    found: dict[str, cache.Record] = {}
    ready = sorted(tasks)
    running: set[Future[_Step]] = set()
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


def _alone(source: Source, name: str, options: BuildOptions) -> _Step:
    try:
        return _Step({name: compile_kernel(source, name, {}, options)})
    except CompileError:
        return _Step()


def _front(
    source: Source, names: Sequence[str], options: BuildOptions, pieces: int, **kind: bool
) -> _Step:
    """One run of clang over some kernels, and then one for each of so many pieces of them.

    `kind` is what `parse_batch` has to know besides: of those that run beside each other, the first
    one alone may precompile the headers.
    """
    try:
        parsed = parse_batch(source, names, fast_math=options.fast_math, **kind)
    except CompileError:
        return _Step()
    if parsed is None:
        return _Step()
    # Those that synchronise are short, and fill what time there is behind the others.
    rank = 3 if kind["synchronise"] else 2
    found = parsed.partition(pieces)
    return _Step(then=[_Task(rank, partial(_back, parsed, each)) for each in found])


def _back(parsed: BatchedTranslationUnit, piece: Sequence[str]) -> _Step:
    try:
        return _Step(parsed.compile_part(piece))
    except (CompileError, IrError):
        return _Step()
