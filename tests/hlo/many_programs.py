"""Compare hundreds of random programs with the reference; the kernels of a batch are built at once.

Usage: python tests/hlo/many_programs.py FIRST LAST [RECORD]

It draws twenty programs for each seed of a range, runs them at every level, and prints the
differences. RECORD is a file that receives a line of JSON for each seed; seeds in it are skipped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from oracle import evaluate
from random_programs import Example, programs

from metalbench import _core
from metalbench.hlo.codegen import format_library
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable, open_device
from metalbench.hlo.runtime.plan import ExecutionPlan, build_plan
from metalbench.kernel.source_files import include_folders

LEVELS = (0, 2, 3)
DRAWN = 20


def draw_examples(number: int) -> list[Example]:
    """Return the programs of a seed."""
    found: list[Example] = []

    @settings(
        max_examples=DRAWN,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @seed(number)
    @given(programs())
    def draw(example):
        found.append(example)

    draw()
    return found


class FromLibrary(Executable):
    """A plan whose kernels are in a library together with those of other plans."""

    def __init__(self, made: ExecutionPlan, library: _core.Library) -> None:
        self._library = library
        super().__init__(made, device="cpu")

    def _compile(self):
        return {
            each.name: self._library.pipeline(each.name) for each in self.plan.iterate_kernels()
        }


def wrong(examples: Sequence[Example]) -> Iterator[tuple[int, str, str]]:
    """Return level, program and failure of the programs that differ from the reference."""
    expected = evaluate([(each.text, each.arguments) for each in examples])
    made = [
        [build_plan(import_program(each.text), level, device="cpu") for level in LEVELS]
        for each in examples
    ]
    everything = [one for plans in made for one in plans]
    for number, each in enumerate(everything):
        rename(each, f"p{number}_")
    texts = {each.name: each.text for one in everything for each in one.iterate_kernels()}
    library = open_device("cpu").compile(
        format_library(texts.values()), include_dirs=include_folders(), fast_math=False
    )
    library.prepare(sorted(texts))
    for example, plans, wanted in zip(examples, made, expected, strict=True):
        for level, each in zip(LEVELS, plans, strict=True):
            got = FromLibrary(each, library)(*example.arguments)
            for one, other in zip(got, wanted, strict=True):
                is_float = one.dtype.kind == "f"
                if not np.array_equal(one, other.reshape(one.shape), equal_nan=is_float):
                    yield level, example.text, f"expected {other}, got {one}"


def rename(made: ExecutionPlan, prefix: str) -> None:
    """Give the kernels names that no other plan uses."""
    for step in made.steps:
        step.kernels = [
            replace(
                each,
                name=prefix + each.name,
                text=each.text.replace(each.name, prefix + each.name, 1),
            )
            for each in step.kernels
        ]
        for inner in step.plans:
            rename(inner, prefix)


if __name__ == "__main__":
    first, last = map(int, sys.argv[1:3])
    record = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    known = record.read_text().splitlines() if record and record.exists() else []
    done = {json.loads(line)[0] for line in known}
    for number in range(first, last):
        if number in done:
            continue
        examples = draw_examples(number)
        faults = list(wrong(examples))
        for each in faults:
            print(number, *each, sep="\n", flush=True)
        if record:
            with record.open("a") as file:
                file.write(json.dumps([number, len(examples), faults]) + "\n")
