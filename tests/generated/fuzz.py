"""Generated kernels on both ways of the engine, against a model in Python.

    python tests/generated/fuzz.py --count 1000 --seed 0 --jobs 2 --ways vectors,fibers

Each seed is a kernel and its launch. One that goes wrong is made as small as it gets, and printed
with its seed and the first thread that differs; the exit status tells whether there was one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from generated.random_programs import random_program
from generated.running import WAYS, Difference, compare
from generated.shrinking import shrunk
from generated.syntax import Program
from generated.text import source

_AT_ONCE = 40  # seeds of one process, which leaves nothing in the cache


@dataclass
class Found:
    """The outcomes of a number of seeds."""

    seeds: int = 0
    engines: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: dict[int, str] = field(default_factory=dict)


def _run_seeds(given: tuple[range, tuple[str, ...], bool, bool]) -> Found:
    seeds, ways, shrinks, richer = given
    found = Found()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["METALBENCH_CACHE"] = folder
        for seed in seeds:
            report = report_of(seed, ways, found, shrinks=shrinks, richer=richer)
            if report:
                found.wrong[seed] = report
    return found


def report_of(
    seed: int, ways: tuple[str, ...], found: Found, *, shrinks: bool, richer: bool = False
) -> str:
    """Run a seed's program; what to print where it goes wrong, else nothing."""
    program = random_program(seed, richer=richer)
    found.seeds += 1
    outcome = compare(program, ways)
    found.engines.update(f"{way}: {each}" for way, each in outcome.engines.items())
    found.reasons.update(each for each in outcome.reasons.values() if each)
    if not outcome.differences:
        return ""
    first = outcome.differences[0]
    if shrinks:
        program = shrunk(program, lambda each: _goes_wrong(each, first))
        first = compare(program, (first.asked,)).differences[0]
    launch = f"grid {program.grid}, threads {program.threads}"
    return f"seed {seed}, {launch}, {first.way}: {first.what}\n{source(program)}"


def _goes_wrong(program: Program, as_in: Difference) -> bool:
    try:
        outcome = compare(program, (as_in.asked,))
    except (KeyError, IndexError, RecursionError):
        return False  # something that it uses was taken away, or what ends a loop
    return any(each.kind == as_in.kind for each in outcome.differences)


def _chunks(first: int, count: int) -> Iterator[range]:
    for begin in range(first, first + count, _AT_ONCE):
        yield range(begin, min(begin + _AT_ONCE, first + count))


def main() -> int:
    """Run the seeds that are asked for."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--ways", default=",".join(WAYS))
    options.add_argument("--richer", action="store_true", help="programs of more shapes")
    options.add_argument("--as-they-are", action="store_true", help="do not shrink")
    given = options.parse_args()
    ways = tuple(given.ways.split(","))
    total, begun = Found(), time.monotonic()
    chunks = [
        (each, ways, not given.as_they_are, given.richer)
        for each in _chunks(given.seed, given.count)
    ]
    context = multiprocessing.get_context("spawn")
    with context.Pool(given.jobs, maxtasksperchild=1) as pool:
        for found in pool.imap_unordered(_run_seeds, chunks):
            total.seeds += found.seeds
            total.engines += found.engines
            total.reasons += found.reasons
            total.wrong |= found.wrong
            for report in found.wrong.values():
                print(report, flush=True)
            print(
                f"{total.seeds} of {given.count}, {len(total.wrong)} wrong, "
                f"{time.monotonic() - begun:.0f} s",
                flush=True,
            )
    for what, count in [*total.engines.most_common(), *total.reasons.most_common()]:
        print(f"{count:8} {what}")
    if total.wrong:
        print("wrong seeds:", *sorted(total.wrong))
    return int(bool(total.wrong))


if __name__ == "__main__":
    sys.exit(main())
