"""Lanes that are not there, or do not take part, bring zero to what others take from them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from metalbench import _core
from metalbench.msl.engine import ENGINE_VARIABLE

THREADS = 70  # the third SIMD-group has six lanes
# How a lane takes a value, and from which lane: as the function does, and again.
MOVES = {
    "simd_shuffle_down({}, ushort(5))": lambda lane: lane + 5 if lane + 5 < 32 else lane,
    "simd_shuffle_rotate_down({}, ushort(5))": lambda lane: (lane + 5) % 32,
    "simd_shuffle({}, ushort((lane & 28) + 1))": lambda lane: (lane & 28) + 1,
    "simd_shuffle_xor({}, ushort(5))": lambda lane: lane ^ 5,
    "simd_shuffle({}, ushort(lane * 7 & 31))": lambda lane: lane * 7 % 32,
}
# Each chain of two has a value that no other has, lest LLVM sees them together.
VALUES = {
    "{}": lambda lane, at: lane * 0 + at,
    "lane % 5 + {}": lambda lane, at: lane % 5 + at,
    "one + {}": lambda lane, at: lane * 0 + 1 + at,
}
CHAINS = list(enumerate(product(VALUES, MOVES, MOVES)))


def kernel(type_):
    lines = [
        f"y[{at} * {THREADS} + i] = {second.format(first.format(f'T({value.format(at)})'))};"
        for at, (value, first, second) in CHAINS
    ]
    return f"""
#include <metal_stdlib>
using namespace metal;
using T = {type_};
kernel void k(device T* y, constant uint& one, uint i [[thread_position_in_grid]],
              uint lane [[thread_index_in_simdgroup]]) {{
  {chr(10).join(lines)}
}}
"""


def moved(values, take):
    """Return the expected values of SIMD-groups of 32 lanes, of which the last has six."""
    found = np.zeros_like(values)
    for i in range(len(values)):
        source = i // 32 * 32 + take(i % 32)
        found[i] = values[source] if source < len(values) else 0
    return found


@pytest.mark.parametrize("type_", ["char", "ushort", "uint", "float"])
def test_missing_lanes_contribute_zero(type_, monkeypatch):
    """LLVM 22 forgets it of what is known beforehand, where processors have masks."""
    monkeypatch.setenv(ENGINE_VARIABLE, "vectors")
    device = _core.open("cpu")
    pipeline = device.compile(kernel(type_)).pipeline()
    assert pipeline.engine == "vectors"
    numbers = {"char": np.int8, "ushort": np.uint16, "uint": np.uint32, "float": np.float32}
    lane = np.arange(THREADS) % 32
    want = [
        moved(moved(VALUES[value](lane, at), MOVES[first]), MOVES[second])
        for at, (value, first, second) in CHAINS
    ]
    y = np.full((len(want), THREADS), 9, numbers[type_])
    arguments = {"y": y.reshape(-1), "one": np.array([1], np.uint32)}
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=THREADS, threads=THREADS)])
    np.testing.assert_array_equal(y, np.array(want))
