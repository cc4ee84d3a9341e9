"""Make single elements of the inputs very large: the output must change as the oracle's does.

An element that a kernel omits from a sum of a million is lost in rounding. An element as large as a
part of the sum is not.
"""

from __future__ import annotations

import hashlib
import math
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from metalbench.errors import TaskError
from metalbench.kind import Kind
from metalbench.task.dtypes import DType
from metalbench.task.workload import Workload
from metalbench.verify import error_rule
from metalbench.verify.examine import Examiner
from metalbench.verify.explanation import find_explanation
from metalbench.verify.verdict import Finding, Report

Array = np.ndarray[Any, Any]

# Height of a spike in root mean squares of the input: LEAST to MOST, which fits half precision. It
# grows with the inputs per output.
LEAST, MOST, ELEMENTS_A_UNIT = 32.0, 2.0**13, 64
# If the oracle overflows, spikes shrink by this factor, at most SHRINKS times.
SHRINK, SHRINKS = 16.0, 3
# Numbers of very different magnitude may round by SLACK times more. A spike contributes more than
# HIDDEN of a result.
SLACK, HIDDEN = 4.0, 1e-3
TILES = (16, 32, 64, 128, 256, 512, 1024)
OF_EACH_KIND = 6
# Spikes that are tried as the cause of a fault.
EXPLAINED = 24


def add_spikes(plain: Workload) -> Workload | None:
    """Return the workload with spikes in its float inputs; None if the oracle bears none.

    Inputs whose elements depend on each other, such as ascending ones, do not change. The largest
    spike is the last element at even seeds, and anywhere at odd ones.
    """
    places = find_spike_places(plain)
    outputs = sum(math.prod(shape) for shape in plain.output_shapes.values())
    for shrunk in range(SHRINKS + 1 if places else 0):
        inputs = dict(plain.inputs)
        for name, where in places.items():
            inputs[name] = _place_spikes(inputs[name], where, outputs, SHRINK**shrunk)
        work = replace(plain, inputs=inputs)
        # An oracle may raise TaskError for spikes that are too high.
        with suppress(TaskError), np.errstate(all="ignore"):
            if _stays_finite(work):
                return work
    return None


def find_spike_places(work: Workload) -> dict[str, Array]:
    """Return the flat indices of the spikes by input, the largest spike first."""
    return {
        name: _choose_places(each, _create_generator(work, name), work.seed % 2)
        for name, each in work.inputs.items()
        if work.task.inputs[name].type_in(work.dtype).is_float
        and not work.task.inputs[name].together
    }


def examine_spikes(examiner: Examiner) -> Report:
    """Run on inputs with spikes and compare the outputs with the oracle's."""
    examiner.run()
    return Report(tuple(examiner.judge_memory() or _compare_outputs(examiner)))


def _create_generator(work: Workload, name: str) -> np.random.Generator:
    key = f"{work.task.name}/{name}/{work.size}/{work.seed}/spikes".encode()
    entropy = int.from_bytes(hashlib.sha256(key).digest(), "little")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))


def _choose_places(values: Array, random: np.random.Generator, anywhere_first: int) -> Array:
    """Return flat indices: last and first element, ends of rows, edges of tiles, random ones."""
    last, cols = values.size - 1, values.shape[-1] if values.ndim else 1
    rows = values.size // cols
    ends = random.integers(rows, size=OF_EACH_KIND) * cols
    tiles = random.choice(np.array(TILES), size=OF_EACH_KIND)
    edges = tiles * random.integers(1 + values.size // tiles) - random.integers(2)
    anywhere = random.integers(values.size, size=OF_EACH_KIND)
    several = [[last, 0], ends, ends + cols - 1, edges, anywhere]
    if anywhere_first:
        several.insert(0, random.permutation(np.concatenate([edges, anywhere])))
    found = np.clip(np.concatenate(several), 0, last).astype(np.int64)
    _, first = np.unique(found, return_index=True)
    # Only a few elements of a short input, so that others remain small.
    return np.asarray(found[np.sort(first)][: max(1, values.size // 8)])


def _place_spikes(values: Array, places: Array, outputs: int, shrink: float) -> Array:
    """Set spikes with the signs of the elements; the first is the largest, others at most half."""
    flat = values.reshape(-1).astype(np.float64)
    finite = flat[np.isfinite(flat)]
    root = float(np.sqrt(np.square(finite).mean())) if finite.size else 1.0
    height = float(np.clip(values.size / outputs / ELEMENTS_A_UNIT, LEAST, MOST)) * root / shrink
    height = min(height, _most(values.dtype))
    heights = height * np.linspace(0.5, 0.25, places.size)
    heights[0] = height
    spiked = values.reshape(-1).copy()
    spiked[places] = np.copysign(heights, np.nan_to_num(flat[places], nan=1.0))
    spiked.flags.writeable = False
    return spiked.reshape(values.shape)


def _stays_finite(work: Workload) -> bool:
    """Return whether every output is finite, with a margin for intermediate sums of a kernel.

    Outputs may be infinite if inputs are.
    """
    finite = all(np.isfinite(each.astype(np.float32)).all() for each in work.inputs.values())
    for name, expected in work.expected.items():
        kind = work.task.outputs[name].type_in(work.dtype)
        if not kind.is_float:
            continue
        most = _most(kind.numpy)
        for values in (expected, work.scale[name]):
            known = np.isfinite(values)
            if (finite and not known.all()) or not (np.abs(values[known]) < most).all():
                return False
    return True


def _most(kind: np.dtype[Any]) -> float:
    """Return the largest number with a margin for intermediate sums of a kernel."""
    import ml_dtypes  # listing kernels does without

    return float(ml_dtypes.finfo(kind).max) / SHRINK  # type: ignore[no-untyped-call]


def _compare_outputs(examiner: Examiner) -> list[Finding]:
    work = examiner.workload
    for name, expected in work.expected.items():
        kind = work.task.outputs[name].type_in(work.dtype)
        got = examiner.bound.read(name)
        if kind.is_float:
            bad = _find_far_off(got, expected, work.scale[name], kind)
        else:
            bad = np.asarray(got != expected)
        if bad.any():
            return [_finding(examiner, name, bad)]
    return []


def _find_far_off(got: Array, expected: Array, scale: Array, kind: DType) -> Array:
    rule = error_rule.derive_tolerance(expected, error_rule.largest_counted_norms(scale), kind)
    allowed = replace(rule, fixed=SLACK * rule.fixed, relative=SLACK * rule.relative)
    bad = error_rule.find_wrong(got, expected, tolerance=allowed, scale=scale)
    if bad.any():
        error = error_rule.absolute_errors(got.astype(np.float64), expected)
        bad &= ~(error <= HIDDEN * np.abs(expected))
    return bad


def _finding(examiner: Examiner, name: str, bad: Array) -> Finding:
    work = examiner.workload
    index = tuple(int(each) for each in np.argwhere(bad)[0])
    values = examiner.bound.read(name).copy()
    expected, got = work.expected[name][index], float(values[index])
    came = (
        f"{name}: expected {float(expected):.9g} at {index[0] if len(index) == 1 else index}, "
        f"got {got:.9g}"
    )
    explained = find_explanation(work, name, values, bad)
    if explained or not math.isfinite(got):
        # The spikes are then not the cause.
        message = f"{came}; {explained}" if explained else came
        return examiner.make_finding(Kind.WRONG_RESULT, message, name)
    inputs = " and ".join(
        f"{each.size} elements of {other}" for other, each in find_spike_places(work).items()
    )
    left_out = _find_omitted_spike(work, name, index, got)
    message = f"{came}, where {inputs} are far larger than the others" + (
        f"; {left_out}" if left_out else ""
    )
    return examiner.make_finding(Kind.WRONG_RESULT, message, name)


def _find_omitted_spike(work: Workload, output: str, index: tuple[int, ...], got: float) -> str:
    """Return the spike whose omission gives the actual result; an empty string if there is none."""
    off = abs(got - float(work.expected[output][index]))
    spiked = find_spike_places(work)
    for name, places in spiked.items():
        for place in places[: EXPLAINED // len(spiked)]:
            values = work.inputs[name].copy()
            values.reshape(-1)[place] = 0
            without = replace(work, inputs={**work.inputs, name: values})
            with np.errstate(all="ignore"):
                _ = without.expected
            if abs(got - float(without.expected[output][index])) < off / 100:
                where = np.unravel_index(place, values.shape)
                return f"it is as if {name}[{', '.join(map(str, where))}] were left out"
    return ""
