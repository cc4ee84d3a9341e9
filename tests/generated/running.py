"""Programs on the cpu device, by either way of its engine, compared with the model."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from generated import syntax as s
from generated.agreement import suits_fibers
from generated.kinds import width_of
from generated.launch import Array, inputs_of, outputs_of, place_of
from generated.model import expected
from generated.text import source

from metalbench import _core
from metalbench.msl.engine import ENGINE_VARIABLE

WAYS = ("vectors", "fibers")
_GUARD = 64  # elements around every output that must not be written


@dataclass(frozen=True)
class Difference:
    """A difference between an engine's mode and the model.

    `asked` is the way that was asked for, `way` how it ran; `kind` an error's, or that of values,
    and `what` the first of those.
    """

    asked: str
    way: str
    kind: str
    what: str


@dataclass(frozen=True)
class Outcome:
    """The outcome of a program: the engine of every requested mode, and the differences."""

    engines: dict[str, str]
    reasons: dict[str, str]
    differences: list[Difference]


@contextmanager
def _engine(way: str) -> Iterator[None]:
    before = os.environ.get(ENGINE_VARIABLE)
    os.environ[ENGINE_VARIABLE] = way
    try:
        yield
    finally:
        if before is None:
            del os.environ[ENGINE_VARIABLE]
        else:
            os.environ[ENGINE_VARIABLE] = before


def run(program: s.Program, way: str) -> tuple[_core.Pipeline, dict[str, Array]]:
    """Run a program; what is in its outputs then, with the guards around them."""
    device = _core.open("cpu")
    with _engine(way):
        library = device.compile(source(program), filename="generated.metal", fast_math=False)
        pipeline = library.pipeline()
        guarded = {
            name: np.concatenate([_guard(values), values, _guard(values)])
            for name, values in outputs_of(program).items()
        }
        views = {name: values[_GUARD:-_GUARD] for name, values in guarded.items()}
        dispatch = _core.Dispatch(
            pipeline,
            inputs_of(program) | views,
            threads_in_grid=program.grid,
            threads=program.threads,
        )
        device.run([dispatch])
    return pipeline, guarded


def _guard(values: Array) -> Array:
    return np.full(_GUARD, 77).astype(values.dtype)


def compare(program: s.Program, ways: tuple[str, ...] = WAYS) -> Outcome:
    """Run a program by these ways, and hold each to the model where it has the same rules."""
    engines, reasons, differences = {}, {}, []
    wanted = expected(program)
    for way in ways:
        if way == "fibers" and not suits_fibers(program):
            engines[way] = "fibers, not compared"
            continue
        try:
            pipeline, guarded = run(program, way)
        except _core.Error as error:
            differences.append(Difference(way, way, _kind_of(error), str(error)))
            continue
        engines[way], reasons[way] = pipeline.engine, pipeline.engine_reason
        if pipeline.engine == "fibers" and not suits_fibers(program):
            engines[way] = "fibers, not compared"
            continue
        found = _difference(program, wanted, guarded)
        if found:
            differences.append(Difference(way, f"{way} ({pipeline.engine})", "values", found))
    return Outcome(engines, reasons, differences)


def _kind_of(error: _core.Error) -> str:
    """Return the kind of a difference, without names and numbers of this program."""
    said = str(error).partition("\n")[0].rpartition("error: ")[2]
    return f"{type(error).__name__}: {re.sub(r'[^ ]*[^a-zA-Z ][^ ]*', '', said)}"


def _difference(program: s.Program, wanted: dict[str, Array], guarded: dict[str, Array]) -> str:
    for name, whole in guarded.items():
        got, want = whole[_GUARD:-_GUARD], wanted[name]
        guard = _guard(whole)
        if (whole[:_GUARD] != guard).any() or (whole[-_GUARD:] != guard).any():
            return f"{name}: written beyond its ends"
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        if not same.all():
            place = int(np.argmin(same))
            who = _thread(program, name, place)
            return f"{name}[{place}]{who}: got {got[place]}, expected {want[place]}"
    return ""


def _thread(program: s.Program, name: str, place: int) -> str:
    """Whose element that is."""
    for output in program.outputs:
        if output.name != name:
            continue
        own, order = np.arange(program.total), inputs_of(program)["order"]
        for slot in range(output.slots):
            mine = place_of(output, slot, program, own, order) == place // width_of(output.type)
            if mine.any():
                thread = int(np.argmax(mine))
                x, y, _ = program.grid
                at = (thread % x, thread // x % y, thread // x // y)
                return f" of thread {at}, slot {slot}"
    return ""
