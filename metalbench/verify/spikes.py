"""Single elements of the inputs made very large: the output must move as the oracle's does.

An element that a kernel leaves out of a sum of a million is lost in rounding. Made as large as a
good part of the sum, it is not.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metalbench.task.workload import Workload, workload
from metalbench.verify import error_rule
from metalbench.verify.examine import Examiner
from metalbench.verify.verdict import Finding, Kind, Report

Array = np.ndarray[Any, Any]

RUNS = 2
# In roots of the mean square of the input: at least this, more for each element of an output, and
# no more than fits into half precision.
LEAST, MOST, ELEMENTS_A_UNIT = 32.0, 2.0**13, 64
# Where the oracle overflows, spikes shrink so much, a few times; then the input has none.
SHRINK, SHRINKS = 16.0, 3
# Rounding of numbers this far apart may be a few times what it else is, and hides so little of a
# move. One of the spikes is worth more than that.
SLACK, HIDDEN = 4.0, 1e-3
TILES = (16, 32, 64, 128, 256, 512, 1024)
OF_EACH_KIND = 6
# Of these the likely place of a fault is looked for.
EXPLAINED = 24


@dataclass(frozen=True)
class Spiked:
    """A workload with spikes; `places` are where, flat and by input."""

    work: Workload
    places: dict[str, Array]


def examine_spikes(examiner: Examiner, seed: int) -> Report:
    """Run on inputs with spikes, and compare with what the oracle makes of them.

    They are those of `seed`, whose oracle has been asked already.
    """
    now = examiner.workload
    plain = workload(now.task, now.size, dtype_name=now.dtype.name, seed=seed)
    for run in range(RUNS):
        spiked = spiked_workload(plain, run)
        if spiked is None:
            return Report(skipped=(f"no inputs at size {plain.size} could have spikes",))
        here = replace(examiner, bound=examiner.bound.load(spiked.work))
        here.run()
        findings = here.memory() or _misses(here, plain, spiked)
        if findings:
            return Report(tuple(findings))
    return Report()


def spiked_workload(plain: Workload, run: int) -> Spiked | None:
    """The inputs of `plain`, floats with spikes; None where the oracle bears none.

    The largest is the very last element in the first run, and anywhere in the others.
    """
    places = {
        name: _places(each, _random(plain, name, run), run)
        for name, each in plain.inputs.items()
        if plain.task.inputs[name].type_in(plain.dtype).is_float
    }
    if not places:
        return None
    outputs = sum(each.size for each in plain.expected.values())
    for shrunk in range(SHRINKS + 1):
        inputs = dict(plain.inputs)
        for name, where in places.items():
            inputs[name] = _with_spikes(inputs[name], where, outputs, SHRINK**shrunk)
        work = replace(plain, inputs=inputs)
        if _stays_finite(work, plain):
            return Spiked(work, places)
    return None


def _random(plain: Workload, name: str, run: int) -> np.random.Generator:
    key = f"{plain.task.name}/{name}/{plain.size}/{plain.seed}/spikes/{run}".encode()
    entropy = int.from_bytes(hashlib.sha256(key).digest(), "little")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))


def _places(values: Array, random: np.random.Generator, run: int) -> Array:
    """The last and the first element, ends of rows, edges of tiles, and any; the largest first."""
    last, cols = values.size - 1, values.shape[-1] if values.ndim else 1
    rows = values.size // cols
    ends = random.integers(rows, size=OF_EACH_KIND) * cols
    tiles = random.choice(np.array(TILES), size=OF_EACH_KIND)
    edges = tiles * random.integers(1 + values.size // tiles) - random.integers(2)
    anywhere = random.integers(values.size, size=OF_EACH_KIND)
    several = [[last, 0], ends, ends + cols - 1, edges, anywhere]
    if run:
        several.insert(0, random.permutation(np.concatenate([edges, anywhere])))
    found = np.clip(np.concatenate(several), 0, last).astype(np.int64)
    _, first = np.unique(found, return_index=True)
    # A few elements of a short input, so that others are left for them to be large beside.
    return np.asarray(found[np.sort(first)][: max(1, values.size // 8)])


def _with_spikes(values: Array, places: Array, outputs: int, shrink: float) -> Array:
    """Keep the signs; the first place gets the largest, the others half of it and less."""
    flat = values.reshape(-1).astype(np.float64)
    finite = flat[np.isfinite(flat)]
    root = float(np.sqrt(np.square(finite).mean())) if finite.size else 1.0
    height = float(np.clip(values.size / outputs / ELEMENTS_A_UNIT, LEAST, MOST)) * root / shrink
    heights = height * np.linspace(0.5, 0.25, places.size)
    heights[0] = height
    spiked = values.reshape(-1).copy()
    spiked[places] = np.copysign(heights, np.nan_to_num(flat[places], nan=1.0))
    spiked.flags.writeable = False
    return spiked.reshape(values.shape)


def _stays_finite(work: Workload, plain: Workload) -> bool:
    """Whether every output is finite where it was, with room for what a kernel adds up."""
    for name, before in plain.expected.items():
        kind = work.task.outputs[name].type_in(work.dtype)
        after = work.expected[name]
        if not kind.is_float:
            continue
        import ml_dtypes

        most = float(ml_dtypes.finfo(kind.numpy).max) / SHRINK
        if not (np.abs(after[np.isfinite(before)]) < most).all():
            return False
        if not np.isfinite(work.scale[name][np.isfinite(plain.scale[name])]).all():
            return False
    return True


def _misses(examiner: Examiner, plain: Workload, spiked: Spiked) -> list[Finding]:
    work = spiked.work
    for name, expected in work.expected.items():
        kind = work.task.outputs[name].type_in(work.dtype)
        got = examiner.bound.read(name)
        if kind.is_float:
            bad = _far_off(got, expected, plain.expected[name], work.scale[name], kind)
        else:
            bad = np.asarray(got != expected)
        if bad.any():
            return [_finding(examiner, name, bad, spiked)]
    return []


def _far_off(got: Array, expected: Array, before: Array, scale: Array, kind: Any) -> Array:
    """Where an output is further off than rounding, and than a small part of its own move."""
    rule = error_rule.allowance_for(expected, error_rule.widest(scale), kind)
    allowed = replace(rule, fixed=SLACK * rule.fixed, relative=SLACK * rule.relative)
    bad = error_rule.wrong(got, expected, allowance=allowed, scale=scale)
    if bad.any():
        error = error_rule.errors(got.astype(np.float64), expected)
        bad &= error > HIDDEN * error_rule.errors(before, expected)
    return bad


def _finding(examiner: Examiner, name: str, bad: Array, spiked: Spiked) -> Finding:
    index = tuple(int(each) for each in np.argwhere(bad)[0])
    expected, got = spiked.work.expected[name][index], examiner.bound.read(name)[index]
    place = index[0] if len(index) == 1 else index
    inputs = " and ".join(
        f"{each} has {where.size} elements" for each, where in spiked.places.items()
    )
    message = (
        f"{name}: expected {float(expected):.9g} at {place}, got {float(got):.9g}, where {inputs} "
        f"far larger than the others; {_left_out(name, index, float(got), spiked)}"
    )
    return examiner.finding(Kind.WRONG_RESULT, message, name)


def _left_out(output: str, index: tuple[int, ...], got: float, spiked: Spiked) -> str:
    """Which spike the kernel has not seen, if taking that one away explains what came."""
    work = spiked.work
    off = abs(got - float(work.expected[output][index]))
    for name, places in spiked.places.items():
        for place in places[: EXPLAINED // len(spiked.places)]:
            values = work.inputs[name].reshape(-1).copy()
            values[place] = 0
            without = replace(work, inputs={**work.inputs, name: values.reshape(work.inputs[name].shape)})
            if abs(got - float(without.expected[output][index])) < off / 100:
                where = tuple(int(i) for i in np.unravel_index(place, work.inputs[name].shape))
                return f"it is as if {name}[{', '.join(map(str, where))}] were left out"
    return "all elements of the inputs must be used"
